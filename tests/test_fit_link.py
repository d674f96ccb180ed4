"""Links fitted to captures of simulated flows: the true parameters are found, and predictions for other
controls hold.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.comparison.predictions import predict
from crossfade.errors import TraceError
from tests.conftest import Cli, expect_one_line

# CUBIC uses a fifth of the link because of random losses, which is enough to find its rate.
TRUTH = """
schema = 2
link = { rate = "20 Mbit/s", packet_size = "1500 B", delay = "20 ms", queue = { limit = "100 packets" } }
reverse = { delay = "20 ms" }
channel = { model = "iid", p_e = 0.005 }
tcp = { variant = "sack", congestion = "cubic", w_max = 10000 }
run = { duration = "60 s", runs = 1 }
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("record") / "cubic.pcap"
    file.write_bytes(cf.runs.pcap(TRUTH))
    return file


@pytest.fixture(scope="module")
def fitted(record: Path) -> cf.fit.LinkFit:
    return cf.fit.link(record)


def test_what_made_the_record_comes_back(fitted: cf.fit.LinkFit) -> None:
    assert fitted.model == "M0"
    assert fitted.rate.verdict == "identified"
    assert fitted.rate.value == pytest.approx(20e6, rel=1e-3)
    assert fitted.delay.value == pytest.approx(40e-3, abs=1e-5)
    assert fitted.loss.low <= 0.005 <= fitted.loss.high
    # The flow used at most a third of the link, so the queue was full at most during slow start.
    assert fitted.queue.low <= 101
    assert fitted.found["arrived_bps"] < 10e6


def test_tcp_of_linux_predicts_tcp_of_linux(fitted: cf.fit.LinkFit, record: Path, tmp_path: Path) -> None:
    """Predictions use the recorded stack's profile, or a given one: Linux's CUBIC gets 15 % less of this link
    than that of the RFCs.
    """
    of_linux = tmp_path / "linux.pcap"
    of_linux.write_bytes(cf.runs.pcap(TRUTH, set={"tcp.rfc.profile": "linux", "run.duration": "5 s"}))
    by_record, by_word = cf.fit.link(of_linux), cf.fit.link(record, profile="linux")
    assert fitted.found["profile"] == "recommended"
    assert by_record.found["profile"] == by_word.found["profile"] == "linux"
    for number, fit in enumerate((fitted, by_record, by_word)):
        link, _ = fit.write(tmp_path / f"link-{number}.toml")
        assert ('rfc = { profile = "linux" }' in link.read_text()) == (number > 0)
    link, _ = by_word.write(tmp_path / "of-linux.toml")
    rows = {(row.control, row.metric): row for row in predict(link, ["cubic", "quic"], runs=4, cache=False)}
    truth = cf.run(TRUTH, set={"tcp.rfc.profile": "linux"}, runs=8, cache=False).points[0]
    assert rows["cubic", "goodput_bps"].value == pytest.approx(truth.value("goodput_bps"), rel=0.1)
    assert ("quic", "goodput_bps") in rows
    reacting = by_word.write_reacting(tmp_path / "reacting.toml")
    for row in predict(link, ["bbr-v1", "quic"], reacting=reacting, runs=1, cache=False):
        assert row.reacting is not None
        assert row.reacting > 0
    with pytest.raises(TraceError, match=r"^profile = reno: must be one of recommended, linux$"):
        cf.fit.link(record, profile="reno")


def test_predictions_hold_where_a_replay_does_not(fitted: cf.fit.LinkFit, tmp_path: Path) -> None:
    """Predictions for BBRv1 from a record of CUBIC err by at most 5 % in goodput and 10 % in RTT; the
    interval contains the true goodput, and a replay predicts less than 60 % of it.
    """
    link, draws = fitted.write(tmp_path / "link.toml")
    assert draws.read_text().startswith("link.rate,link.delay,reverse.delay,link.queue.limit,channel.p_e\n")
    replay = fitted.write_replay(tmp_path / "replay.toml")
    rows = {(row.control, row.metric): row for row in predict(link, ["bbr-v1"], replay, runs=6, cache=False)}
    truth = cf.run(TRUTH, set={"tcp.congestion": "bbr-v1"}, runs=4, cache=False).points[0]
    goodput, delay = rows["bbr-v1", "goodput_bps"], rows["bbr-v1", "rtt_p95_s"]
    assert goodput.value == pytest.approx(truth.value("goodput_bps"), rel=0.05)
    assert delay.value == pytest.approx(truth.value("rtt_p95_s"), rel=0.10)
    assert goodput.low <= truth.value("goodput_bps") <= goodput.high
    assert goodput.replay is not None
    assert goodput.replay < 0.6 * truth.value("goodput_bps")


def test_a_flow_that_fills_the_queue_shows_its_limit(tmp_path: Path) -> None:
    file = tmp_path / "full.pcap"
    lossless = {"channel.p_e": 0.0, "tcp.congestion": "reno", "run.duration": "30 s"}
    file.write_bytes(cf.runs.pcap(TRUTH, set=lossless))
    fit = cf.fit.link(file)
    assert fit.queue.verdict == "identified"
    assert fit.queue.value == pytest.approx(100, abs=1)
    assert fit.rate.value == pytest.approx(20e6, rel=1e-3)
    assert fit.found["random_losses"] == 0
    assert (fit.loss.verdict, fit.loss.value) == ("bounded", 0.0)


def test_a_flow_that_its_application_holds_back_gives_a_bound(tmp_path: Path) -> None:
    file = tmp_path / "held.pcap"
    offered = {"channel.p_e": 0.0, "flows": {"slow": {"traffic": "bulk", "rate": "2 Mbit/s"}}}
    file.write_bytes(cf.runs.pcap(TRUTH, set=offered))
    fit = cf.fit.link(file)
    assert (fit.rate.verdict, fit.queue.verdict) == ("bounded", "bounded")
    assert 1.9e6 < fit.rate.value <= 20e6
    assert any("lower bound" in warning for warning in fit.warnings)


def test_the_command_writes_a_scenario_and_predicts(record: Path, cli: Cli, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    done = cli("fit", str(record), "--to", str(link))
    assert done.code == 0, done.err
    assert "model M0" in done.out
    assert "identified" in done.out
    text = link.read_text()
    assert "# rate: " in text
    assert 'draws = "link.draws.csv"' in text
    assert cli("check", str(link)).code == 0
    shown = json.loads(cli("fit", str(record), "--json").out)
    assert shown["rate"]["verdict"] == "identified"
    assert "draws" in shown


@pytest.mark.parametrize("size", [0, 3, 23, 24, 5000])
def test_a_file_that_is_cut_off_is_one_line(size: int, record: Path, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cut.pcap"
    file.write_bytes(record.read_bytes()[:size])
    expect_one_line(cli("fit", str(file)))


def test_what_contradicts_itself_is_one_line(record: Path, cli: Cli, tmp_path: Path) -> None:
    losses = tmp_path / "losses.txt"
    losses.write_text("0001000100" * 20)
    for words in (
        ["fit", str(record), "--packets", "5"],
        ["fit", str(losses), "--to", str(tmp_path / "x.toml")],
        ["fit", str(record), "--to", str(tmp_path / "x.csv")],
        ["fit", str(record), "--predict", "nosuch"],
        ["fit", str(record), str(record), str(record)],
        ["fit", str(record), "--json", "--predict", "cubic"],
    ):
        expect_one_line(cli(*words))
    with pytest.raises(TraceError, match="needs the record of one end"):
        cf.fit.link()
