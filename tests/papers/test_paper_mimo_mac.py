"""The paper on TCP over nulling antenna arrays: its columns, axes, and claims that need no runs."""

from __future__ import annotations

import csv
import io

import pytest

from crossfade.comparison.knee import drawn
from crossfade.comparison.paired import Sample
from crossfade.figures.plot import plot
from crossfade.papers.mimo_mac import FIGURES
from crossfade.papers.mimo_mac.optima import Chain, Optimum, growth, mean_k
from crossfade.tables import Cell, Table
from tests.conftest import Cli

# Columns of the figures' CSV files, which users rely on.
COLUMNS = (
    "mac,rule,interference_class,hops,rthc,cwl,offered_bps,ip_goodput_bps,ci95,one_way_delay_mean_s,delay_ci95,"
    "rtt_mean_s,optimum,k_rule,optimal_cwl,k,optimal_cwl_low,optimal_cwl_high,packets"
)
SHORT = ["--set", "run.duration=3 s", "--set", "run.warmup=1 s", "--runs", "2"]


def rows(cli: Cli, figure: str, *over: str) -> list[dict[str, str]]:
    axes = [word for axis in over for word in ("--over", axis)]
    outcome = cli("paper", "mimo-mac", figure, *SHORT, *axes, "--csv", "-")
    assert outcome.code == 0, outcome.err
    found = list(csv.DictReader(io.StringIO(outcome.out)))
    if figure not in ("reuse", "k"):
        assert ",".join(found[0]) == COLUMNS
    return found


def text(cli: Cli, figure: str, *over: str) -> str:
    axes = [word for axis in over for word in ("--over", axis)]
    return cli("paper", "mimo-mac", figure, *SHORT, *axes, "--csv", "-").out


def test_figure_4_takes_ranges(cli: Cli) -> None:
    asked = ["mac=plain", "interference_class=equal,wider", "hops=2:4:1", "cwl=1:3:1"]
    found = rows(cli, "fig4", *asked)
    assert len(found) == 2 * 3 * 3
    assert {row["interference_class"] for row in found} == {"equal", "wider"}
    assert {(row["hops"], row["rthc"]) for row in found} == {("2", "4"), ("3", "6"), ("4", "8")}
    assert {row["cwl"] for row in found} == {"1", "2", "3"}
    assert {row["offered_bps"] for row in found} == {"3000000.0"}
    assert all(float(row["ip_goodput_bps"]) > 5e5 and row["optimum"] == row["k_rule"] == "" for row in found)


def test_the_figures_are_of_the_paper_s_rule(cli: Cli) -> None:
    """Figures use the paper's rule for nulls (section 3.2) and equal ranges, with a curve per chain; other
    rules on request.
    """
    short = ["hops=2,4", "cwl=1,2"]
    found = rows(cli, "fig4", *short)
    kinds = {(row["mac"], row["rule"], row["interference_class"]) for row in found}
    assert kinds == {("nulling-genie", "paper", "equal")}
    shown = FIGURES["fig4"].to_draw(Table.from_csv(text(cli, "fig4", *short)))
    assert shown.columns == ["hops", "cwl", "ip_goodput_bps", "ip_goodput_bps_ci95"]
    others = rows(cli, "fig4", *short, "mac=nulling,plain", "rule=paper,full")
    # A station with one antenna places no nulls, so the rule is empty.
    assert {(row["mac"], row["rule"]) for row in others} == {
        ("nulling", "paper"),
        ("nulling", "full"),
        ("plain", ""),
    }


def test_the_rule_decides(cli: Cli) -> None:
    """By the paper's rule, answers of neighbouring receivers collide, which costs goodput."""
    found = rows(cli, "fig4", "rule=paper,full", "hops=8", "cwl=6")
    paper, full = (float(row["ip_goodput_bps"]) for row in found)
    assert full > 1.1 * paper


def test_a_point_says_how_many_packets_it_rests_on(cli: Cli) -> None:
    (row,) = rows(cli, "fig4", "hops=4", "cwl=2")
    # Two runs with a measured time of 2 s each.
    assert int(row["packets"]) == round(float(row["ip_goodput_bps"]) * 2 * 2 / (8 * 2312))


def test_the_optimum_has_definitions(cli: Cli) -> None:
    grid = ["mac=plain,nulling", "hops=4", "cwl=1:6:1"]
    found = rows(cli, "fig6", *grid, "optimum=knee-2,knee-5")
    assert [row["optimum"] for row in found] == ["knee-2", "knee-5"] * 2
    for row in found:
        cwl = int(row["optimal_cwl"])
        assert row["cwl"] == row["optimal_cwl"]
        assert float(row["k"]) == cwl / 8
        assert float(row["optimal_cwl_low"]) <= cwl
        # An empty cell means that the end lies beyond the grid.
        assert row["optimal_cwl_high"] == "" or float(row["optimal_cwl_high"]) >= cwl
    assert [row["optimum"] for row in rows(cli, "fig6", *grid)] == ["knee-5"] * 2
    delays = rows(cli, "fig5", "mac=nulling", "hops=4", "cwl=2,3,4,unlimited", "optimum=knee-10")
    assert [row["cwl"] == "" for row in delays] == [False, True]


def test_an_optimum_at_the_end_of_the_grid_is_an_error(cli: Cli) -> None:
    short = [*SHORT, "--over", "hops=8", "--over", "cwl=1,2,3", "--over", "optimum=argmax"]
    outcome = cli("paper", "mimo-mac", "fig6", *short)
    assert outcome.code == 2
    assert outcome.err == (
        "error: over cwl = ...,3: the optimum of nulling-genie, rule paper, equal, 8 hops (argmax) lies at "
        "the end of the grid, which must reach further (--over cwl=1:6:1)\n"
    )


def test_k_over_what_is_saturated(cli: Cli) -> None:
    grid = ["mac=plain", "rule=paper", "interference_class=equal", "hops=4,6", "cwl=1:8:1"]
    found = rows(cli, "k", *grid, "optimum=knee-5,knee-20")
    assert list(found[0])[:6] == ["mac", "rule", "interference_class", "chains", "optimum", "share"]
    assert [(row["chains"], row["share"]) for row in found] == [("2", "0.05"), ("2", "0.2")]
    few, many = (float(row["k"]) for row in found)
    # A larger allowed loss gives a smaller window.
    assert many <= few
    table = Table.from_csv(text(cli, "k", *grid, "optimum=knee-5,knee-20"))
    shown = FIGURES["k"].to_draw(table)
    assert {"the paper's 1/2.8", "the paper's 1/3", "the paper's 1/5"} < set(shown.cells("curve"))
    axes = plot(shown, **FIGURES["k"].asked(table)).axes[0]
    assert axes.get_xlabel() == "Missing from the best throughput (%)"
    assert axes.get_ylabel() == "Mean of CWL / round-trip hop count"


def test_a_mean_k_has_an_interval_over_runs() -> None:
    points = {cwl: {run: float(min(cwl, 2 + run % 2)) for run in range(8)} for cwl in (1, 2, 3, 4)}
    curve = {float(cwl): Sample(values) for cwl, values in points.items()}
    draws = drawn(curve, 0.0)
    assert draws is not None
    # Half of the runs are best from 2 on, the others from 3 on, and so is their mean.
    assert set(draws) == {2.0, 3.0}
    chains = [Chain("plain", None, "equal", hops) for hops in (2, 4)]
    mean = mean_k([Optimum(chain, 3, 3.0, 3.0, draws) for chain in chains])
    assert mean.k == (3 / 4 + 3 / 8) / 2
    assert (mean.low, mean.high) == (mean.k, mean.k)
    beyond = Optimum(chains[0], 3, 3.0, None, draws)
    assert mean_k([beyond]).high is None
    assert growth(Optimum(chains[0], 1, 1.0, 1.0, draws - 2.0), beyond) == (2.0, 2.0, 2.0)


def test_curves_of_figure_5_run_along_the_hops_with_their_own_intervals() -> None:
    row: dict[str, Cell] = {
        "mac": "plain",
        "rule": None,
        "interference_class": "equal",
        "ip_goodput_bps": 1e6,
        "ci95": 2e3,
    }
    made: list[dict[str, Cell]] = [
        row
        | {"rthc": rthc, "cwl": cwl, "optimum": optimum, "one_way_delay_mean_s": delay, "delay_ci95": 0.001}
        for rthc, cwl, optimum, delay in [
            (4, 1, "knee-5", 0.006),
            (4, None, None, 0.1),
            (8, 2, "knee-5", 0.015),
            (8, None, None, 0.14),
        ]
    ]
    shown = FIGURES["fig5"].to_draw(Table.of(COLUMNS.split(","), made))
    assert shown.columns == ["limit", "rthc", "one_way_delay_mean_s", "one_way_delay_mean_s_ci95"]
    assert [tuple(line) for line in shown.rows] == [
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
    assert [row["k_rule"] for row in found] == ["1/2.8", ""]
    assert found[0]["cwl"] == "3"


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
        ("optimum=best", "over optimum = best: must be argmax, or knee- with the percentage"),
        ("optimum=knee-100", "over optimum = knee-100: must be argmax, or knee- with the percentage"),
        ("speed=1", "over speed: no axis of fig6"),
        ("hops=0", "mesh.hops = 0: must be between 1 and 1023"),
    ],
)
def test_wrong_axes_are_named(cli: Cli, over: str, expected: str) -> None:
    outcome = cli("paper", "mimo-mac", "fig6", "--over", over)
    assert outcome.code == 2
    assert expected in outcome.err
