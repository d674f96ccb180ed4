"""The paper on TCP over antenna arrays that null each other: its columns, axes, and claims without runs."""

from __future__ import annotations

import csv
import io

import pytest

from crossfade.papers.mimo_mac import FIGURES
from crossfade.tables import Cell, Table
from tests.conftest import Cli

# A promise to whoever reads these files.
COLUMNS = (
    "mac,interference_class,hops,rthc,cwl,offered_bps,ip_goodput_bps,ci95,one_way_delay_mean_s,delay_ci95,rtt_mean_s,"
    "optimum,k_rule,optimal_cwl,k,optimal_cwl_low,optimal_cwl_high"
)
SHORT = ["--set", "run.duration=3 s", "--set", "run.warmup=1 s", "--runs", "2"]


def rows(cli: Cli, figure: str, *over: str) -> list[dict[str, str]]:
    axes = [word for axis in over for word in ("--over", axis)]
    outcome = cli("paper", "mimo-mac", figure, *SHORT, *axes, "--csv", "-")
    assert outcome.code == 0, outcome.err
    found = list(csv.DictReader(io.StringIO(outcome.out)))
    if figure != "reuse":
        assert ",".join(found[0]) == COLUMNS
    return found


def test_figure_4_takes_ranges(cli: Cli) -> None:
    found = rows(cli, "fig4", "mac=plain", "hops=2:4:1", "cwl=1:3:1")
    assert len(found) == 2 * 3 * 3
    assert {row["interference_class"] for row in found} == {"equal", "wider"}
    assert {(row["hops"], row["rthc"]) for row in found} == {("2", "4"), ("3", "6"), ("4", "8")}
    assert {row["cwl"] for row in found} == {"1", "2", "3"}
    assert {row["offered_bps"] for row in found} == {"3000000.0"}
    assert all(float(row["ip_goodput_bps"]) > 5e5 and row["optimum"] == row["k_rule"] == "" for row in found)


def test_the_optimum_has_three_definitions(cli: Cli) -> None:
    grid = ["mac=plain,nulling", "hops=4", "cwl=1:6:1"]
    found = rows(cli, "fig6", *grid, "interference_class=equal")
    assert [row["optimum"] for row in found] == ["argmax", "knee-2", "knee-5"] * 2
    for row in found:
        cwl = int(row["optimal_cwl"])
        assert row["cwl"] == row["optimal_cwl"]
        assert float(row["k"]) == cwl / 8
        assert float(row["optimal_cwl_low"]) <= cwl <= float(row["optimal_cwl_high"])
    assert len(rows(cli, "fig6", *grid, "interference_class=equal", "optimum=knee-5")) == 2
    delays = rows(cli, "fig5", "mac=nulling", "hops=4", "cwl=2,3,unlimited", "optimum=argmax")
    assert [row["cwl"] == "" for row in delays] == [False, True]


def test_curves_of_figure_5_run_along_the_hops_with_their_own_intervals() -> None:
    row: dict[str, Cell] = {"mac": "plain", "interference_class": "equal", "ip_goodput_bps": 1e6, "ci95": 2e3}
    made = [
        row
        | {"rthc": rthc, "cwl": cwl, "optimum": optimum, "one_way_delay_mean_s": delay, "delay_ci95": 0.001}
        for rthc, cwl, optimum, delay in [
            (4, 1, "argmax", 0.006),
            (4, 2, "knee-2", 0.007),
            (4, None, None, 0.1),
            (8, 2, "argmax", 0.015),
            (8, None, None, 0.14),
        ]
    ]
    drawn = FIGURES["fig5"].to_draw(Table.of(COLUMNS.split(","), made))
    assert drawn.columns == ["mac", "limit", "rthc", "one_way_delay_mean_s", "one_way_delay_mean_s_ci95"]
    assert [tuple(line[1:]) for line in drawn.rows] == [
        ("optimal CWL", 4, 0.006, 0.001),
        ("no limit", 4, 0.1, 0.001),
        ("optimal CWL", 8, 0.015, 0.001),
        ("no limit", 8, 0.14, 0.001),
    ]


def test_rules_are_an_axis(cli: Cli) -> None:
    found = rows(cli, "fig7", "mac=nulling", "hops=4,8")
    assert {(row["hops"], row["k_rule"], row["cwl"]) for row in found} == {
        ("4", "1/5", "2"),
        ("4", "1/3", "3"),
        ("8", "1/5", "3"),
        ("8", "1/3", "5"),
    }
    found = rows(cli, "fig8", "mac=nulling", "hops=4", "cwl=1:6:1", "optimum=knee-2")
    assert [row["k_rule"] for row in found] == ["1/5", "1/2.8", ""]
    assert found[1]["cwl"] == "3"


def test_reuse_has_the_largest_sets(cli: Cli) -> None:
    found = rows(cli, "reuse", "hops=4,8")
    assert list(found[0])[:5] == ["mac", "antennas", "range_m", "interference_m", "hops"]
    sets = {
        (row["mac"], row["antennas"], row["range_m"], row["interference_m"]): row["exchanges"]
        for row in found
        if row["hops"] == "8"
    }
    assert sets["plain", "1", "250.0", "250.0"] == "3"
    assert sets["nulling", "2", "250.0", "250.0"] == "4"
    assert sets["nulling", "2", "250.0", "450.0"] == "2"
    assert sets["nulling", "3", "450.0", "450.0"] == "4"
    assert all(
        float(row["exchanges_mean"]) <= float(row["exchanges"]) for row in found if row["mac"] == "plain"
    )


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        ("interference_class=far", "over interference_class = far: must be one of equal, wider"),
        ("k_rule=1/0", "over k_rule = 1/0: must be a rule such as 1/5"),
        ("optimum=best", "over optimum = best: must be one of argmax, knee-2, knee-5"),
        ("speed=1", "over speed: no axis of fig6"),
        ("hops=0", "mesh.hops = 0: must be between 1 and 1023"),
    ],
)
def test_wrong_axes_are_named(cli: Cli, over: str, expected: str) -> None:
    outcome = cli("paper", "mimo-mac", "fig6", "--over", over)
    assert outcome.code == 2
    assert expected in outcome.err
