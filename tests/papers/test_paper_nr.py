"""Statements of sources on transports over 5G: the figures, and claims on NR cells."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from crossfade.papers import PAPERS, nr, verdicts
from crossfade.papers.nr import FIGURES
from crossfade.papers.options import Options
from crossfade.tables import Table
from tests.conftest import Cli

KEPT = Path(__file__).parents[2] / "docs" / "papers" / "nr-claims.csv"

# Axes of each figure, restricted to one or two values.
OVER = {
    "link-retransmissions": ["transmissions=1,4", "rlc=um,am"],
    "buffers": ["discipline=drop-tail,codel"],
    "marking": ["discipline=dualpi2", "congestion=cubic,prague"],
    "wired-queue": [],
    "window": ["w_max=44,256"],
    "blocked": ["congestion=prague"],
    "blockage-times": [],
    "target": ["user_snr_db=5,20", "target_bler=0.03,0.3"],
    "uplink-latency": ["sr_period_ms=10,20"],
    "reassembly": ["t_reassembly_ms=5,50"],
    "handover": ["congestion=cubic", "mode=lossless,seamless", "interruption_ms=50"],
    "ack-bursts": ["congestion=bbr-v1"],
}
# Number of points of each figure.
POINTS = {"wired-queue": 3, "blockage-times": 4, "ack-bursts": 2, "handover": 2}


@pytest.mark.parametrize("figure", list(FIGURES))
def test_figures_have_their_axes(cli: Cli, figure: str) -> None:
    over = [word for item in OVER[figure] for word in ("--over", item)]
    short = ["--set", "run.duration=2 s", "--set", "run.warmup=500 ms", "--runs", "2", "--csv", "-"]
    outcome = cli("paper", "nr", figure, *short, *over)
    assert outcome.code == 0, outcome.err
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    for column, values in (item.split("=") for item in OVER[figure]):
        assert {row[column].removesuffix(".0") for row in rows} == set(values.split(","))
    product = 1
    for item in OVER[figure]:
        product *= len(item.split(","))
    assert len(rows) == POINTS.get(figure, product)
    drawn = FIGURES[figure].y
    assert drawn is not None
    assert all(float(row[drawn]) >= 0.0 for row in rows)
    assert any(float(row[drawn]) > 0.0 for row in rows) or figure == "reassembly"


def test_wrong_axes_are_named(cli: Cli) -> None:
    for over, message in [
        ("interruption_ms=long", "over interruption_ms = long: must be a number of milliseconds"),
        ("speed=3", "over speed: no axis of handover (its axes are congestion, "),
    ]:
        outcome = cli("paper", "nr", "handover", "--over", over)
        assert outcome.code == 2
        assert message in outcome.err


def test_gaps_of_patterns_are_those_between_uplink_slots() -> None:
    for pattern, gap_ms in [("fdd", 0.5), ("DDDSU", 2.5), ("DDDDDDDSUU", 4.5), ("UDDS", 2.0)]:
        assert nr.AXES["gap_ms"].cell(pattern) == gap_ms


def test_verdicts_are_kept_and_the_layers_of_the_uplink_come_out_again() -> None:
    """Verdicts are stored, and the claim on the uplink's layers is confirmed by acknowledgements of an idle
    user.
    """
    rows = {str(row["claim"]): row for row in Table.read(KEPT).records()}
    figures = PAPERS["nr"].SET
    assert list(rows) == [claim["id"] for claim in figures.listed()]
    (claim,) = (claim for claim in figures.listed() if claim["id"] == "uplink-layers")
    assert rows["uplink-layers"]["verdict"] == "holds"
    # The mean of 600 acknowledgements has a standard error of 2 %; at the shortest period one slot is 5 %.
    found = figures.kinds["uplink-latency"](claim["checks"][0], Options(runs=2))
    assert [outcome.where.split()[1] for outcome in found] == ["10", "20", "40"]
    assert sum(outcome.value for outcome in found) / 3.0 == pytest.approx(0.0, abs=0.03)


def test_claims_follow_from_runs() -> None:
    figures = PAPERS["nr"].SET
    expected = {"receive-window": "holds", "shallow-queue": "holds", "link-retransmissions": "holds"}
    for claim in figures.listed():
        if claim["id"] in expected:
            found = verdicts.judge(claim, lambda check: figures._outcomes(check, Options(quick=True)))
            assert found.verdict == expected[claim["id"]], str(found)
