"""Stored tables of papers' figures: they belong to the current scenarios, and can be drawn."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.papers import PAPERS
from tests.conftest import long_form

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

kept_figures = import_module("kept_figures")


def test_what_is_kept_was_made_of_these_scenarios() -> None:
    stale = [f"{key} {name}" for key, name in kept_figures.stale()]
    assert not stale, f"python scripts/draw_papers.py: {', '.join(stale)}"
    assert kept_figures.VARIANTS.keys() <= kept_figures.made().keys()
    there = {f"{key}-{name}" for key, name in kept_figures.made()}
    assert there == {path.stem for path in kept_figures.FOLDER.glob("*.csv")} - {"made"}


MADE = list(kept_figures.made())
# One of each of two papers, of these a variant of a figure; the others in the long form. What figures of the
# other papers draw is in test_figures_of_papers_hold_nothing_back.
FIRSTS = {key: (key, name) for key, name in reversed(MADE) if key in ("tcp-markov", "wipemu")}


@pytest.mark.parametrize(
    ("key", "name"), [made if made in FIRSTS.values() else long_form(*made) for made in MADE]
)
def test_what_is_kept_is_drawn(key: str, name: str, tmp_path: Path) -> None:
    kept_figures.draw(key, name, tmp_path)
    assert (tmp_path / f"{key}-{name}.png").stat().st_size > 10_000
    table = cf.store.Table.read(tmp_path / f"{key}-{name}.csv")
    figure = PAPERS[key].FIGURES[kept_figures.variant(key, name).figure]
    assert figure.along is None or figure.along.column in table.columns
