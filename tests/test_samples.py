"""Samples over time agree with the counts of the run, and taking them changes nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import crossfade as cf
from crossfade import plans
from crossfade.plans.options import Options
from tests.conftest import Cli, events_text, points, samples_text

# A packet of 1000 B takes 1 ms; the queue holds 40 ms.
TWO_FLOWS = """
schema = 1
run = { duration = "6 s", runs = 1, sample = "500 ms" }
channel = { model = "iid", p_e = 0.005 }
link = { rate = "8 Mbit/s", packet_size = "1000 B", queue = { limit = "40 packets" } }
wired = { rtt = "40 ms" }
tcp = { flavour = "rfc", variant = "sack", w_max = 200 }
[flows]
first = { traffic = "bulk" }
second = { traffic = "bulk", start = "3 s" }
"""


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def two_flows(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(TWO_FLOWS, encoding="utf-8")
    return path


def of(found: list[dict[str, str]], column: str, **where: str) -> Iterator[float]:
    chosen = (row for row in found if all(row[name] == value for name, value in where.items()))
    return (float(row[column]) for row in chosen if row[column])


def test_samples_add_up_to_the_run(two_flows: Path) -> None:
    found = rows(samples_text(two_flows))
    whole = cf.run(two_flows, cache=False).points[0]
    assert [row["time_s"] for row in found if row["flow"] == "0"] == [
        "0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4", "4.5", "5", "5.5", "6",
    ]  # fmt: skip
    bits = 0.5 * (sum(of(found, "goodput_bps", flow="0")) + sum(of(found, "goodput_bps", flow="1")))
    assert bits == pytest.approx(6.0 * whole.value("goodput_bps"), rel=1e-12)
    again = sum(of(found, "retransmissions", flow="0")) + sum(of(found, "retransmissions", flow="1"))
    assert again == whole.value("retransmissions") > 0.0
    # The second flow starts at 3 s.
    assert list(of(found, "goodput_bps", flow="1"))[:6] == [0.0] * 6
    assert set(of(found, "capacity_bps", link="forward")) == {8e6}
    queue = list(of(found, "queue_packets", link="forward"))
    assert len(queue) == 12
    assert 0.0 < max(queue) <= 40.0
    # A packet and its acknowledgement take 41 ms, plus at most 40 packets of queueing.
    assert all(0.041 <= rtt <= 0.082 for rtt in of(found, "rtt_mean_s"))


def test_to_look_changes_nothing(two_flows: Path) -> None:
    """Events between samples equal those of a run without samples, except for empty cells at the end."""
    plain = events_text(two_flows, set={"run.sample": None}).splitlines()
    sampled = [line for line in events_text(two_flows).splitlines() if ",sample," not in line]
    assert [line + "," * 6 for line in plain[1:]] == sampled[1:]
    alone = [line for line in events_text(two_flows).splitlines() if ",sample," in line]
    assert alone == samples_text(two_flows).splitlines()[1:]
    keys = [plans.load(two_flows, Options({"run.sample": every})).core.keys() for every in ("1 s", None)]
    assert keys[0] == keys[1]


def test_the_capacity_of_a_trace_is_what_it_has_in_the_time(tmp_path: Path) -> None:
    """The capacity of a trace with 10 Mbit/s for a second, then 4, averages 7 Mbit/s between 0.5 and 1.5
    s.
    """
    (tmp_path / "rates.csv").write_text(
        "time_s,rate_bps,delay_s,loss\n0,10e6,0,0\n1,4e6,0,0\n", encoding="utf-8"
    )
    scenario = tmp_path / "trace.toml"
    scenario.write_text(
        """
schema = 1
run = { duration = "2 s" }
channel = { model = "none" }
link.packet_size = "1000 B"
link.trace = { rates = "rates.csv" }
link.queue = { limit = "200 ms", discipline = "codel" }
tcp = { flavour = "rfc", variant = "sack", w_max = 100 }
""",
        encoding="utf-8",
    )
    found = rows(samples_text(scenario, "500 ms"))
    assert list(of(found, "capacity_bps", link="forward")) == pytest.approx([10e6, 10e6, 4e6, 4e6])
    assert list(of(rows(samples_text(scenario, "2 s")), "capacity_bps", link="forward")) == pytest.approx(
        [7e6]
    )


def test_of_a_link_everything_counts_that_came_out_of_it() -> None:
    over = {"channel.p_e": [0.1], "link.arq.max_retransmissions": [7]}
    asked = {"run.warmup": "0 s", "run.runs": 1}
    found = rows(samples_text("wifi-like-arq", "1 s", set=asked, over=over))
    whole = cf.run("wifi-like-arq", set=asked, over=over, cache=False).points[0]
    bits = sum(of(found, "goodput_bps", link="forward"))
    assert bits == pytest.approx(20.0 * whole.value("link_goodput_bps"), rel=1e-12)
    # A tenth of 1000 frames per second is lost, and nearly all of these are retransmitted.
    again = list(of(found, "retransmissions", link="forward"))
    assert len(again) == 20
    assert 0.05 < sum(again) / 20_000 < 0.15


def test_lines_for_every_second(cli: Cli, two_flows: Path) -> None:
    out = cli("run", two_flows, "--interval", "2", "--csv", "-")
    lines = [line.split() for line in out.err.splitlines() if line.lstrip()[:1].isdigit()]
    assert [line[:4] for line in lines[:2]] == [["2.00", "s", "flow", "0"], ["2.00", "s", "flow", "1"]]
    forward = next(line for line in lines if line[2] == "forward")
    assert forward[4:8] == ["Mbit/s", "of", "8", "Mbit/s,"]
    assert {line[0] for line in lines} == {"2.00", "4.00", "6.00"}
    assert "time_s" not in out.out
    several = cli("run", "fading-queues", "--interval", "1")
    assert several.code == 2
    assert "--interval: shows one run of one point; the plan has 18 points" in several.err
    assert (
        '--interval 0: must be a time above 0 such as 1 or "100 ms"'
        in cli("run", two_flows, "--interval", "0").err
    )


def test_figures_of_samples(cli: Cli, two_flows: Path, tmp_path: Path, figures: list[Figure]) -> None:
    file, figure = tmp_path / "samples.csv", tmp_path / "samples.png"
    assert cli("run", two_flows, "--samples", file, "--quiet").code == 0
    drawn = cli(
        "plot", file, "--y", "goodput_bps,rtt_mean_s,queue_packets", "--where", "time_s<5", "--out", figure
    )
    assert drawn.code == 0
    goodput, rtt, queue = figures[-1].axes
    assert goodput.get_xlim() == (0.0, 5.0)
    samples = rows(file.read_text())
    for axes, name, factor in (
        (goodput, "goodput_bps", 1e-6),
        (rtt, "rtt_mean_s", 1e3),
        (queue, "queue_packets", 1.0),
    ):
        expected: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for row in samples:
            if row[name]:
                point = (float(row["time_s"]), factor * float(row[name]))
                expected.setdefault((row["flow"], row["link"]), []).append(point)
        shown = [points(line) for line in axes.lines]
        assert len(shown) == len(expected) >= 1
        for curve, values in zip(shown, expected.values(), strict=True):
            assert curve == [pytest.approx(point) for point in values]
    assert [axes.get_ylabel() for axes in figures[-1].axes] == [
        "Goodput (Mbit/s)", "Round trip (ms)", "Queue (packets)",
    ]  # fmt: skip
    assert cli("plot", file, "--out", figure).code == 0
    refused = cli("plot", file, "--y", "goodput", "--out", figure)
    assert refused.code == 2
    assert "column goodput: no curve over time" in refused.err
    assert "goodput_bps" in refused.err
    missing = cli("run", "wifi-like-arq", "--samples", file)
    assert 'run.sample: missing; the time between two samples, such as "100 ms"' in missing.err
