"""With fewer than five runs, tables show each run in place of an interval, with a warning."""

from __future__ import annotations

from pathlib import Path

import crossfade as cf
from tests.conftest import Cli

NOTE = "too few runs ({}) for intervals: each run is shown (--runs 10)"


def test_each_run_is_shown_and_no_interval(cli: Cli, small: Path) -> None:
    values = cf.run(small, runs=3).points[0].samples("goodput_bps")
    shown = ", ".join(f"{value / 1e6:.4g}" for value in values)
    table = cli("run", small, "--runs", "3").out
    line = next(line for line in table.splitlines() if line.strip().startswith("goodput_bps"))
    assert f"{sum(values) / 3e6:.4g} ({shown})" in line
    assert "±" not in table
    assert "mean (each run)" in table
    assert NOTE.format(3) in table.splitlines()
    # If all runs are equal, the value is shown once.
    assert any(line.split()[:3] == ["ecn_marks", "0", "each"] for line in table.splitlines()), table


def test_from_five_runs_on_there_are_intervals(cli: Cli, small: Path, sweep: Path) -> None:
    for runs, few in ((1, False), (2, True), (4, True), (5, False)):
        for scenario in (small, sweep):
            table = cli("run", scenario, "--runs", str(runs)).out
            assert (NOTE.format(runs) in table) is few, table
            assert ("(each run)" in table) is few, table


def test_one_run_is_no_runs(cli: Cli, small: Path) -> None:
    assert "(1 run, simulation)" in cli("run", small, "--runs", "1").out
