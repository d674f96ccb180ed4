"""Fits to QUIC, events of UDP, iperf3 and ping; links whose rate changes; the HTML report of a fit."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from crossfade.errors import TraceError
from tests.conftest import Cli, expect_one_line

LINK = """
schema = 2
link = { rate = "12 Mbit/s", packet_size = "1500 B", delay = "15 ms", queue = { limit = "40 packets" } }
reverse = { delay = "15 ms" }
channel = { model = "iid", p_e = 0.004 }
tcp = { variant = "sack", congestion = "cubic", w_max = 10000 }
run = { duration = "40 s", runs = 1 }
"""
QUIC = {"tcp.flavour": "quic", "tcp.variant": None}


def udp(rate: str) -> dict[str, object]:
    return {"tcp": None, "flows": {"probe": {"traffic": "udp", "rate": rate}}}


def test_quic_in_the_clear_shows_the_link(tmp_path: Path) -> None:
    file = tmp_path / "quic.pcap"
    file.write_bytes(cf.runs.pcap(LINK, set=QUIC, snaplen=100))
    fit = cf.fit.link(file)
    assert fit.rate.verdict == "identified"
    assert fit.rate.value == pytest.approx(12e6, rel=2e-3)
    assert fit.delay.value == pytest.approx(30e-3, rel=0.01)
    assert fit.loss.low <= 0.004 <= fit.loss.high


def test_a_rate_below_the_link_is_a_bound_alone(tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    cf.runs.write_events(file, LINK, set=udp("3 Mbit/s"))
    fit = cf.fit.link(file)
    assert (fit.rate.verdict, fit.queue.verdict) == ("bounded", "bounded")
    assert 2.9e6 < fit.rate.value < 12e6
    assert fit.rate.high > 3 * fit.rate.value
    assert any("lower bound" in warning for warning in fit.warnings)
    # The reverse path is assumed equally long, with a warning; a known RTT takes precedence.
    assert fit.delay.verdict == "not identified"
    assert any("reverse path" in warning for warning in fit.warnings)
    assert cf.fit.link(file, rtt="50 ms").delay.value == pytest.approx(50e-3)
    with pytest.raises(TraceError, match="rtt = soon"):
        cf.fit.link(file, rtt="soon")


def varying(folder: Path) -> str:
    """Scenario of a link with two alternating rates and an outage of 300 ms."""
    table = folder / "rates.csv"
    rows = [(0, 12e6), (6, 4e6), (13, 12e6), (20, 0), (20.3, 12e6), (27, 4e6), (33, 12e6)]
    table.write_text("".join(f"{at},{rate},0,0\n" for at, rate in rows))
    link = f'trace = {{ rates = "{table}", at_end = "loop", period = "40 s" }}'
    return LINK.replace('rate = "12 Mbit/s"', link).replace("p_e = 0.004", "p_e = 0.001")


def test_a_rate_that_changes_and_an_outage_are_found(tmp_path: Path) -> None:
    text = varying(tmp_path)
    file = tmp_path / "varying.pcap"
    file.write_bytes(cf.runs.pcap(text, snaplen=100))
    fit = cf.fit.link(file)
    assert fit.model == "M2"
    assert fit.queue.value == pytest.approx(40, abs=1)
    rows = fit.found["rates"]
    outage = next(at for at, rate in rows if rate == 0)
    after = next(at for at, _ in rows if at > outage)
    assert outage == pytest.approx(20, abs=0.02)
    assert after == pytest.approx(20.3, abs=0.02)
    for at, true in ((3, 12e6), (9, 4e6), (16, 12e6), (30, 4e6), (36, 12e6)):
        assert next(rate for from_s, rate in reversed(rows) if from_s <= at) == pytest.approx(true, rel=0.02)
    predicted = {of.metric: of for of in fit.predict(["bbr-v1"], runs=8, cache=False)}
    truth = cf.run(text, set={"tcp.congestion": "bbr-v1"}, runs=4, cache=False).points[0]
    for metric, error in (("goodput_bps", 0.05), ("rtt_p95_s", 0.10)):
        assert predicted[metric].value == pytest.approx(truth.value(metric), rel=error)
        assert predicted[metric].low <= truth.value(metric) <= predicted[metric].high
    # Each variant of the link is a valid scenario.
    (tmp_path / "ways").mkdir()
    links = fit.write_variants(tmp_path / "ways")
    # The whole rate was observed, so variants differ only in their starting time.
    assert len(links) == 8
    assert len({path.with_suffix(".rates.csv").read_text() for path in links}) == 3


def iperf(streams: list[dict[str, Any]], protocol: str = "TCP", end: dict[str, Any] | None = None) -> str:
    start = {"version": "iperf 3.16", "test_start": {"protocol": protocol, "num_streams": 1, "blksize": 1448}}
    intervals: list[dict[str, Any]] = [
        {"streams": [{"rtt": of.get("rtt", 0)}], "sum": {"start": at, "end": at + 1, "omitted": False, **of}}
        for at, of in enumerate(streams)
    ]
    return json.dumps({"start": start, "intervals": intervals, "end": end or {}})


def test_iperf_tells_what_it_can(tmp_path: Path) -> None:
    file = tmp_path / "iperf.json"
    full = {"bytes": 2_400_000, "retransmits": 3, "rtt": 75_000}
    file.write_text(iperf([{"bytes": 500_000, "retransmits": 0, "rtt": 30_500}, *[full] * 20]))
    fit = cf.fit.link(file)
    assert (fit.rate.verdict, fit.queue.verdict) == ("identified", "bounded")
    assert fit.rate.value == pytest.approx(2.4e6 * 8 * 1500 / 1448)
    assert fit.delay.value == pytest.approx(30.5e-3)
    replay = fit.write_replay(tmp_path / "replay.toml")
    assert cf.check(replay)
    low = {"bytes": 600_000, "retransmits": 2, "rtt": 30_600}
    file.write_text(iperf([low] * 20))
    assert cf.fit.link(file).rate.verdict == "bounded"
    udp_file = tmp_path / "udp.json"
    udp_file.write_text(
        iperf([{"bytes": 2_500_000, "packets": 1727}] * 9, "UDP", {"sum": {"lost_percent": 20.0}})
    )
    fit = cf.fit.link(udp_file, rtt=0.03)
    assert fit.rate.verdict == "identified"
    assert fit.rate.value == pytest.approx(2.5e6 * 8 * 0.8 * 1476 / 1448, rel=1e-6)


def test_probes_say_nothing_of_the_rate(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "ping.txt"
    lines = [
        f"64 bytes from 10.0.0.1: icmp_seq={n} ttl=57 time={20 + n % 3}.5 ms" for n in range(1, 40) if n != 7
    ]
    file.write_text("PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n" + "\n".join(lines) + "\n")
    fit = cf.fit.link(file)
    assert (fit.rate.verdict, fit.queue.verdict, fit.delay.verdict) == ("not identified",) * 2 + (
        "identified",
    )
    assert fit.delay.value == pytest.approx(20.5e-3, abs=1e-4)
    assert fit.loss.value == pytest.approx(1 / 39)
    expect_one_line(cli("fit", str(file), "--predict", "cubic"))
    assert cli("fit", str(file)).code == 0


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("ping", "PING a (a) 56(84) bytes of data.\n64 bytes from a: icmp_seq=1 ttl=1 time=soon\n", "line 2"),
        ("irtt", '{"version": {"irtt": "1"}, "round_trips": [\n{"seqno": 0}\n]}', "line 2"),
        ("iperf", '{"start": {"version": "iperf 3.1"}, "intervals": [\n{"sum": {"start": 0}}]}', "line 2"),
        ("qlog", '{"qlog_version": "0.3", "traces": [{"events": [\n{"name": "x"}]}]}', "line 2"),
        ("events", "time_s,event,flow,seq\n0,send,0,0\nlater,send,0,1\n", "line 3"),
        ("ss", "ESTAB 0 0 1.1.1.1:1 2.2.2.2:2\n cubic rtt:x/1 mss:1448 cwnd:10\n", "line 2"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(
    name: str, text: str, expected: str, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_text(text)
    outcome = cli("fit", str(file))
    expect_one_line(outcome)
    assert expected in outcome.err


def test_the_report_is_a_page_that_asks_for_nothing(tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "cubic.pcap"
    file.write_bytes(cf.runs.pcap(LINK, set={"run.duration": "12 s"}, snaplen=100))
    page = tmp_path / "fit.html"
    done = cli("fit", str(file), "--report", str(page))
    assert done.code == 0, done.err
    text = page.read_text()
    assert text.count("<svg") == 1
    assert "identified" in text
    assert "What other congestion controls" not in text
    assert "default-src 'none'" in text
    for fetched in ('src="http', "url(http", "<script"):
        assert fetched not in text
    expect_one_line(cli("fit", str(file), "--report", str(tmp_path / "fit.pdf")))
    fit = cf.fit.link(file)
    assert math.isclose(fit.found["lasts_s"], 12, abs_tol=0.2)
