"""Text about the worst run of a comparison, with the command that traces it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crossfade import api
from crossfade.cli.groups import Asked
from crossfade.comparison.best import Best, Decision
from crossfade.comparison.compare import Comparison, Pair
from crossfade.files.toml import inline
from crossfade.results import datasets
from crossfade.results.opening import is_results_file
from crossfade.results.points import Point
from crossfade.results.shown import shown_unit
from crossfade.tables import Cell, label


@dataclass(frozen=True)
class Traced:
    """Source of a comparison: a scenario with overrides, or a results file, which contains both."""

    source: str
    asked: Asked

    def command(self, axes: Mapping[str, Any], run: int) -> str:
        """Command that writes every event of a run at a point."""
        name, keys, seed = self.source, dict(self.asked.keys), self.asked.seed
        if is_results_file(self.source):
            stored = datasets.read_plan(self.source, None).plan.description
            name, keys, seed = stored["name"], dict(stored["overrides"]["set"]), stored["overrides"]["seed"]
        words = ["crossfade", "run", name]
        for key, value in {**keys, **axes}.items():
            words += ["--set", f"{key}={_written(value)}"]
        words += ["--seed", str(seed)] if seed is not None else []
        words += ["--run", str(run), "--events", f"run{run}.csv"]
        return shlex.join(words)


def _written(value: Any) -> str:
    """Value in the form of the command line."""
    is_plain = isinstance(value, str) and api.parse_value(value) == value
    return value if is_plain else inline(value)


def worst_pair(found: Comparison, pair: Pair, traced: Traced) -> str:
    """Text about the run in which the first of a pair is worst against the second, with its trace command."""
    assert pair.worst_run is not None
    assert pair.worst_difference is not None
    much = _in_words(pair.worst_difference, pair.reference, found.unit)
    trace = f"; traced by: {traced.command(pair.axes, pair.worst_run)}"
    return (
        f"worst run: {pair.first} less {pair.second} is {much} in run {pair.worst_run}"
        f"{_at(pair.condition)}{trace if pair.method == 'simulation' else ''}"
    )


def failed_pair(found: Comparison, pair: Pair, gate: str, traced: Traced) -> str:
    """Text about the condition that a pair meets, with its worst run."""
    much = _in_words(pair.difference, pair.reference, found.unit)
    what = (
        f"failed ({gate}): {found.metric} of {pair.first} less {pair.second} is {much}{_at(pair.condition)}"
    )
    return what if pair.worst_run is None else f"{what}; {worst_pair(found, pair, traced)}"


def failed_decision(found: Best, at: Decision, gate: str, traced: Traced) -> str:
    """Text about the condition that a decision meets, with its worst run."""
    choice = "none" if at.choice is None else ", ".join(map(str, at.choice.values()))
    what = f"failed ({gate}): the choice is {choice} ({at.verdict}){_at(at.condition)}"
    worst = _worst_of(found, at, traced)
    return f"{what}; {worst}" if worst else what


def worst_decision(found: Best, traced: Traced) -> str:
    """Text about the worst run of the closest decision; empty if no runs differ."""
    known = [at for at in found.decisions if at.worst_run is not None and at.margin is not None]
    least = min(known, key=lambda at: (at.margin or 0.0) / (abs(at.value or 0.0) or 1.0), default=None)
    return "" if least is None else _worst_of(found, least, traced)


def _worst_of(found: Best, at: Decision, traced: Traced) -> str:
    if at.worst_run is None or at.choice is None:
        return ""
    point = _point(found, {**at.condition, **at.choice})
    choice = ", ".join(map(str, at.choice.values()))
    what = f"worst run: {choice} against {at.runner_up} is worst in run {at.worst_run}{_at(at.condition)}"
    is_traced = point is not None and point.method == "simulation"
    return f"{what}; traced by: {traced.command(point.axes, at.worst_run)}" if point and is_traced else what


def _point(found: Best, cells: Mapping[str, Cell]) -> Point | None:
    def fits(point: Point) -> bool:
        return all(cells.get(axis) == label(value) for axis, value in point.axes.items())

    return next((point for point in found.results.points if fits(point)), None)


def _at(condition: Mapping[str, Cell]) -> str:
    named = ", ".join(f"{key} = {value}" for key, value in condition.items())
    return f" at {named}" if named else ""


def _in_words(difference: float, reference: float, unit: str) -> str:
    """Text of a difference in a suitable unit, and as a share."""
    short, factor = shown_unit([{"value": difference, "unit": unit}])
    share = f" ({100 * difference / abs(reference):.3g} %)" if reference else ""
    return f"{difference / factor:.4g} {short}".rstrip() + share
