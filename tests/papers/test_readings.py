"""Readings of a paper: the keys that they set, their precedence, and the matrix of claims by readings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from crossfade.papers import PAPERS
from crossfade.papers.figures import Figures
from crossfade.papers.options import Options
from crossfade.papers.reading import AS_DRAWN, Reading, read
from tests.conftest import Cli

FILE = """
tried = 12
how = "settings"

[[reading]]
name = "plain"
why = "as it stands"

[[reading]]
name = "small"
why = "the smaller of two"
set = { "tcp.w_max" = 2 }

[[reading]]
name = "both"
why = "small, and in one figure more"
with = ["small"]
methods = ["simulation"]
[[reading.only]]
figures = ["fig5"]
set = { "tcp.w_max" = 3 }
over = { n = [3] }
"""


def test_a_file_of_readings(tmp_path: Path) -> None:
    assert list(read(tmp_path / "none.toml").listed) == [AS_DRAWN]
    (tmp_path / "readings.toml").write_text(FILE)
    found = read(tmp_path / "readings.toml")
    assert ([one.name for one in found.listed], found.tried) == (["plain", "small", "both"], 12)
    plain, small, both = found.listed
    assert plain.of("fig4") == ({}, {})
    assert small.of("fig4") == both.of("fig4") == ({"tcp.w_max": 2}, {})
    assert both.of("fig5") == ({"tcp.w_max": 3}, {"n": [3]})
    assert (small.methods, both.methods) == (None, ("simulation",))
    with pytest.raises(
        cf.errors.ScenarioError, match=r"reading smal: no such reading of KEY \(did you mean small\?"
    ):
        found.find("KEY", "smal")


def test_what_is_asked_for_stands_above_what_a_reading_sets() -> None:
    tcp_rlp = PAPERS["tcp-rlp"].SET
    reading = tcp_rlp.readings().find("tcp-rlp", "h")
    asked = tcp_rlp.asked("fig4", Options(reading=reading, quick=True, set={"tcp.w_max": 3}))
    assert asked.set is not None
    assert (asked.set["tcp.w_max"], asked.set["link.arq.reading"]) == (3, "d")
    assert asked.set["run.duration"] == "2500 s"


def columns_of(part: Any) -> set[str]:
    """Columns by which a check selects its curves."""
    if isinstance(part, Mapping):
        return set(part)
    return {column for curve in part for column in curve} if isinstance(part, list) else set()


@pytest.mark.parametrize("key", list(PAPERS))
def test_no_claim_adds_readings_up(key: str) -> None:
    """No check selects values of a column that a reading sets, so a claim never mixes several readings."""
    there = PAPERS[key].SET
    readings = there.readings()
    # Names of readings are unique.
    names = [reading.name for reading in readings.listed]
    assert len(set(names)) == len(names)
    assert readings.tried >= len(names)
    assert all(len(reading.why.split()) > 3 for reading in readings.listed)
    for claim in there.listed():
        for check in claim.get("checks", []):
            decided = set().union(*(decided_in(there, one, check.get("figure")) for one in readings.listed))
            for part in ("over", "each", "plus", "minus"):
                assert not columns_of(check.get(part, {})) & decided, (claim["id"], part)


def decided_in(there: Figures, reading: Reading, figure: str | None) -> set[str]:
    """Columns that a reading sets in a figure (None: in any figure)."""
    overrides = [
        one for one in reading.overrides if not one.figures or figure is None or figure in one.figures
    ]
    keys = {key for one in overrides for key in one.set}
    by_key = {column for column, axis in there.axes.items() if axis.key in keys}
    return by_key | {column for one in overrides for column in one.over}


def test_every_reading_can_be_planned() -> None:
    """Every key and axis of a reading exists in its figures; an unknown one would be an error in the file of
    readings.
    """
    for paper in PAPERS.values():
        for reading in paper.SET.readings().listed:
            for override in reading.overrides:
                assert set(override.figures) <= set(paper.FIGURES), reading.name
                assert set(override.over) <= set(paper.SET.axes), reading.name


@pytest.mark.usefixtures("shared_cache")
def test_the_matrix_has_a_column_for_each_reading(cli: Cli) -> None:
    options = ["--quick", "--set", "run.duration=600 s", "--runs", "5"]
    only = ["--claim", "rlp-8000", "--claim", "tcp-4800"]
    outcome = cli("paper", "tcp-rlp", "--readings", *only, *options, "--csv", "-")
    assert outcome.code == 0, outcome.err
    table = cf.store.Table.from_csv(outcome.out)
    assert table.columns[:3] == ["claim", "figure", "f"]
    assert table.columns[2:] == [one.name for one in PAPERS["tcp-rlp"].SET.readings().listed]
    errorless, at_30_percent, score = table.records()
    assert set(errorless.values()) == {"rlp-8000", "fig3", "holds (3 of 3)"}
    assert at_30_percent["a"] == "holds partly (2 of 4)"
    assert str(score["a"]) == "1 hold, 1 partly, 0 not"
    printed = cli("paper", "tcp-rlp", "--readings", "--claim", "rlp-8000", *options).out
    assert "of 237 tried (settings of link.arq" in printed


@pytest.mark.usefixtures("shared_cache")
def test_the_best_reading_has_most_that_holds() -> None:
    short = {"run.duration": "600 s"}
    matrix = cf.papers.readings("tcp-rlp", quick=True, set=short, runs=5, only=["rlp-8000", "tcp-4800"])
    scores = {name: matrix.score(name)["holds"] for name in matrix.verdicts}
    assert scores[matrix.best.name] == max(scores.values())
    assert scores["a"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reading", "x"], "reading x: no such reading of tcp-rlp"),
        (["--claim", "x"], "claim x: no such claim of tcp-rlp (there are: bursts, "),
        (["fig4", "--claim", "bursts"], "--claim: is about claims, not a figure"),
        (["fig4", "--readings"], "--readings: is about claims, not a figure"),
        (["--readings", "--reading", "f"], "--reading f: --readings is about all of them"),
    ],
)
def test_wrong_questions_are_named(cli: Cli, arguments: list[str], message: str) -> None:
    outcome = cli("paper", "tcp-rlp", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_figure_under_a_reading(cli: Cli) -> None:
    short = [
        "--over",
        "n=3",
        "--over",
        "p_e=0.3",
        "--over",
        "channel=iid",
        "--set",
        "run.duration=200 s",
        "--runs",
        "2",
    ]
    cells = {}
    for reading in ("f", "d"):
        out = cli("paper", "tcp-rlp", "fig4", "--reading", reading, *short, "--csv", "-").out
        cells[reading] = cf.store.Table.from_csv(out).records()[0]
        assert cells[reading]["reading"] == reading
    assert cells["f"]["goodput_bps"] != cells["d"]["goodput_bps"]
