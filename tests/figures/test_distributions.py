"""Tables of single transfers and delays, and figures of their distributions."""

from __future__ import annotations

from pathlib import Path

import pytest

import crossfade as cf
from crossfade.figures.choice import number
from crossfade.figures.distributions import _curves, _mean
from crossfade.tables import Table
from tests.conftest import Cli, expect_one_line, svg_words

PAGES = """\
schema = 1
run = { duration = "40 s", runs = 3 }
channel = { model = "none" }
link = { rate = "2 Mbit/s", packet_size = "1500 B", queue = { limit = "20 packets" } }
wired = { rtt = "40 ms" }
tcp = { flavour = "rfc", variant = "sack", w_max = 64 }

[flows]
page = { traffic = "arrivals", arrivals_per_s = 1, size = "20 kB", sizes = "fixed" }
noise = { traffic = "udp", rate = "200 kbit/s" }
"""


@pytest.fixture(scope="module")
def transfers() -> Table:
    return Table.of_frame(cf.runs.transfers(PAGES))


def test_transfers_are_what_the_means_are_of(transfers: Table) -> None:
    results = cf.run(PAGES, cache=False)
    records = transfers.records()
    for run, mean in enumerate(results.points[0].samples("page.completion_time_s")):
        ended, left = (
            [number(record[name]) for record in records if record["run"] == run and record[name] is not None]
            for name in ("completion_time_s", "unfinished_s")
        )
        assert sum(ended + left) / len(ended + left) == pytest.approx(mean, rel=1e-9)
        for count, name in ((len(ended), "page.flows_completed"), (len(left), "page.flows_unfinished")):
            assert count == results.points[0].samples(name)[run]
    # A page of 20 kB has 14 segments of 1448 B.
    assert {record["segments"] for record in records if record["completion_time_s"] is not None} == {14}
    assert {record["flow"] for record in records} == {"page"}


def test_delays_are_those_of_the_quantiles() -> None:
    found = Table.of_frame(cf.runs.delays(PAGES, runs=2)).records()
    results = cf.run(PAGES, runs=2, cache=False)
    for run, p95 in enumerate(results.points[0].samples("page.rtt_p95_s")):
        [cell] = [
            record["value_s"]
            for record in found
            if (record["run"], record["flow"], record["delay"], record["share"])
            == (run, "page", "rtt_s", 0.95)
        ]
        assert cell == p95
    assert {record["delay"] for record in found if record["flow"] == "noise"} == {"one_way_delay_s"}


def test_the_band_is_students_over_runs() -> None:
    """The band of a CDF is Student's: runs with half and all values below 1 give 0.75 +- 12.706 sd /
    sqrt(2).
    """
    table = Table(
        ["run", "flow", "start_s", "completion_time_s"],
        [[0, "a", 0, 1.0], [0, "a", 0, 3.0], [1, "a", 0, 0.5], [1, "a", 0, 1.0]],
    )
    [curve] = _curves(table, "completion_time_s", None, {})
    places, mean, half = _mean(curve, False)
    at_one = int(abs(places - 1.001).argmin())
    assert mean[at_one] == pytest.approx(0.75)
    assert half[at_one] == pytest.approx(12.706 * (0.25 * 2**0.5) / 2**0.5, rel=1e-4)
    assert (mean[-1], half[-1]) == (1.0, 0.0)


def test_transfers_that_were_unfinished_count_as_the_longest() -> None:
    """An unfinished transfer counts as longest: of runs with 1 of 2 ended (1 s) and 1 of 1 (3 s), the CDF is
    1/4 at 2 s and 3/4 at 3 s.
    """
    table = Table(
        ["run", "flow", "start_s", "completion_time_s", "unfinished_s"],
        [[0, "a", 0, 1.0, None], [0, "a", 0, None, 2.0], [1, "a", 0, 3.0, None]],
    )
    [curve] = _curves(table, "completion_time_s", None, {})
    places, mean, _ = _mean(curve, False)
    assert (places[0], places[-1], mean[-1]) == (1.0, 3.0, 0.75)
    assert mean[int(abs(places - 2.0).argmin())] == 0.25
    none = Table(table.columns, [[0, "a", 0, None, 2.0]])
    with pytest.raises(cf.errors.ResultsError, match="nothing to draw"):
        _curves(none, "completion_time_s", None, {})


def test_the_command_draws_them(cli: Cli, tmp_path: Path) -> None:
    scenario = tmp_path / "pages.toml"
    scenario.write_text(PAGES)
    pages, delays = tmp_path / "pages.csv", tmp_path / "delays.csv"
    over = ["--over", "link.queue.limit=5 packets,50 packets"]
    outcome = cli("run", scenario, *over, "--quiet", "--transfers", pages, "--delays", delays)
    assert outcome.code == 0, outcome.err
    assert cli("plot", pages, "--out", tmp_path / "pages.svg").code == 0
    words = svg_words(tmp_path / "pages.svg")
    assert {"Share (cumulative)", "Completion time (s)"} <= set(words)
    assert sum("packets" in word for word in words) == 2
    assert "FillBetween" in (tmp_path / "pages.svg").read_text()
    choice = ["--cdf", "one_way_delay_s", "--where", "flow=page", "--log-y", "--out", tmp_path / "delays.svg"]
    assert cli("plot", delays, *choice).code == 0
    assert "Share above" in svg_words(tmp_path / "delays.svg")
    expect_one_line(cli("plot", delays, "--cdf", "jitter_s"), "jitter_s", "one_way_delay_s, rtt_s")
    expect_one_line(cli("plot", pages, "--cdf", "size"), "size")
    for option in ("x", "y", "panels"):
        expect_one_line(cli("plot", pages, f"--{option}", "size"), f"{option} = size", "one panel")
    expect_one_line(
        cli("plot", delays, "--by", "link.queue.limit", "--cdf", "one_way_delay_s"), "flow", "--where"
    )
