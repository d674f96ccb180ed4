"""Tables of an HTML report: results, metrics of a single point, comparisons of curves.

This module makes texts and numbers; ``templates/tables.html`` makes HTML of them, and escapes every text that
is not a :class:`markupsafe.Markup`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup, escape

from crossfade.comparison.choices import METHOD
from crossfade.comparison.compare import Comparison, Pair, compare
from crossfade.comparison.crossings import CurveCrossing
from crossfade.figures.choice import Choice, called
from crossfade.results.results import Results
from crossfade.tables import ENOUGH_RUNS, Cell, Table, format_estimate
from crossfade.wording import (
    axis_name,
    between,
    curve_word,
    html,
    method_words,
    metric_name,
    readable_unit,
    with_unit,
)

# Largest number of differences in a report; `crossfade compare` lists more.
MOST_PAIRS = 400
# Largest number of sentences about crossings; the table has all of them.
MOST_SENTENCES = 12


@dataclass(frozen=True)
class Head:
    """Head of a column; ``data`` are HTML data attributes, by which the script sorts it."""

    label: Markup
    number: bool = False
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Shown:
    """A cell: its text, whether it is a number, and as ``title`` the name that a metric has in results."""

    text: str
    number: bool = False
    title: str = ""


@dataclass(frozen=True)
class Grid:
    """A table: heads of columns, rows, and a caption."""

    heads: Sequence[Head]
    rows: Sequence[Sequence[Shown]]
    caption: str
    id: str = ""


@dataclass(frozen=True)
class Compared:
    """Comparison of curves: which of them cross within a group, and by how much they differ.

    ``by`` is the axis whose values are compared, ``within`` the axes that form groups (empty if there is one
    group).
    """

    title: Markup
    by: Markup
    within: Markup
    sentences: Sequence[Markup]
    crossings: Grid | None
    differences: Grid | None


def table_of_rows(table: Table, data: Mapping[str, Any]) -> Grid:
    """Table of results: one row per point and method; the last columns are the metrics of the figures."""
    several = len(data["methods"]) > 1
    heads = [Head(_axis_label(axis), data={"axis": axis}) for axis in data["axes"]]
    heads += [Head(Markup("Method"), data={"column": "method"})] * several
    heads += [Head(Markup("Runs"), True, {"column": "runs"})]
    heads += [
        Head(Markup(data["metrics"][name]["label"]), True, {"figure": number})
        for number, name in enumerate(data["shown"])
    ]
    rows = []
    for index in range(len(table.rows)):
        cells = [Shown(_plain(column[index])) for column in data["axes"].values()]
        cells += [Shown(method_words(str(data["method"][index])))] * several
        cells += [Shown(str(data["runs"][index] or "–"), True)]
        cells += [Shown(data["metrics"][name]["texts"][index], True) for name in data["shown"]]
        rows.append(cells)
    few = "; of fewer than five runs, each run" if has_few_runs(data) else ""
    return Grid(heads, rows, f"Mean and 95 % interval at each point{few}", "rows")


def has_few_runs(data: Mapping[str, Any]) -> bool:
    """True if some point has several runs, but too few for an interval to be shown."""
    return any(1 < (runs or 0) < ENOUGH_RUNS for runs in data["runs"])


def table_of_metrics(results: Results) -> Grid:
    """Metrics of a single point: one row per metric, with a column for each method."""
    heads = [Head(Markup("Metric"))]
    heads += [Head(Markup(escape(method_words(point.method))), True) for point in results.points]
    heads += [Head(Markup("Unit"))]
    rows = []
    for name in [*results.metrics, *results.parts]:
        found = [point.metrics.get(name, point.parts.get(name)) for point in results.points]
        unit = next(estimate.unit for estimate in found if estimate is not None)
        cells = [Shown(Markup(html(metric_name(name)[0])), title=name)]
        cells += [Shown("–" if estimate is None else str(estimate), True) for estimate in found]
        rows.append([*cells, Shown("" if unit == "1" else unit)])
    return Grid(heads, rows, "Each metric, with the half-width of its 95 % interval")


def comparisons(results: Results, choice: Choice, metric: str) -> Compared | None:
    """Crossings and differences of curves of a metric; None if there is only one curve.

    The first axis of the curves, which sets their colours, is compared; the other axes form groups.
    ``results`` need their rows, since differences are taken run by run.
    """
    if not choice.by or metric not in [*results.metrics, *results.parts]:
        return None
    found = compare(results, choice.by[0], metric=metric)
    words, unit = metric_name(metric)
    unit, factor = readable_unit(unit, [point.value(metric) for point in results.points])
    crossings = [crossing for crossing in found.crossings if crossing.axis == choice.along]
    groups = [key for key in found.conditions if key != choice.along]
    label = Markup(html(with_unit(words, unit)))
    differences = _differences(found, label, factor) if 0 < len(found.pairs) <= MOST_PAIRS else None
    if not crossings and differences is None:
        return None
    return Compared(
        title=Markup(html(words)),
        by=_axis_label(choice.by[0]),
        within=Markup(", ").join(map(_axis_label, groups)),
        sentences=_sentences(crossings, choice, results.figure.labels),
        crossings=_crossings(crossings, choice) if crossings else None,
        differences=differences,
    )


def _sentences(found: Sequence[CurveCrossing], choice: Choice, labels: Mapping[str, str]) -> list[Markup]:
    """One sentence for each crossing: the order of two curves, and where it changes."""

    def word(key: str, value: Cell) -> str:
        if key == METHOD:
            return method_words(str(value))
        return html(curve_word(key, called(value, labels)))

    said = []
    for at in found:
        crossing = at.crossing
        if crossing.x is None or crossing.before is None or crossing.after is None:
            continue
        first, second = (word(choice.by[0], _value(name)) for name in (at.first, at.second))
        group = ", ".join(word(key, value) for key, value in at.condition.items())
        place = f"{crossing.x:.4g} {at.unit or axis_name(choice.along)[1]}".strip()
        if crossing.low != crossing.high:
            place += f" ({between(crossing.low, crossing.high)})"
        above = f"{first} is {crossing.before} than {second} up to {escape(place)}"
        sentence = f"{above}, {crossing.after} beyond."
        said.append(Markup(f"{group}: {sentence}" if group else sentence))
    more = len(said) - MOST_SENTENCES
    return said if more <= 0 else [*said[:MOST_SENTENCES], Markup(f"{more} more: see the table.")]


def _value(text: str) -> Cell:
    """Axis value of a choice given as text: a number if it is one."""
    try:
        return float(text)
    except ValueError:
        return text


def _crossings(found: Sequence[CurveCrossing], choice: Choice) -> Grid:
    others = list(dict.fromkeys(key for at in found for key in at.condition))
    x = html(with_unit(axis_name(choice.along)[0], found[0].unit or axis_name(choice.along)[1]))
    heads = [Head(_axis_label(key)) for key in others]
    heads += [Head(Markup("First")), Head(Markup("Second"))]
    heads += [Head(Markup(f"Cross at: {x}"), True), Head(Markup("Not told apart"), True)]
    heads += [Head(Markup(f"First is {side}")) for side in ("before", "after")]
    rows = []
    for at in found:
        crossing = at.crossing
        cells = [Shown(_plain(at.condition.get(key))) for key in others] + [Shown(at.first), Shown(at.second)]
        cells += [Shown("–" if crossing.x is None else f"{crossing.x:.4g}", True)]
        cells += [Shown(between(crossing.low, crossing.high), True)]
        rows.append([*cells, Shown(crossing.before or "–"), Shown(crossing.after or "–")])
    return Grid(heads, rows, "Where curves cross or touch")


def _differences(found: Comparison, label: Markup, factor: float) -> Grid:
    heads = [Head(_axis_label(key)) for key in found.conditions]
    heads += [Head(Markup("First")), Head(Markup("Second"))]
    heads += [Head(Markup("First less second: ") + label, True), Head(Markup("First is"))]

    def row(pair: Pair) -> list[Shown]:
        half = None if pair.ci95 is None else pair.ci95 / factor
        cells = [Shown(_plain(cell)) for cell in pair.condition.values()]
        cells += [Shown(pair.first), Shown(pair.second)]
        return [*cells, Shown(format_estimate(pair.difference / factor, half), True), Shown(pair.verdict)]

    return Grid(heads, list(map(row, found.pairs)), "Differences at each point")


def _axis_label(axis: str) -> Markup:
    return Markup("Method" if axis == METHOD else html(with_unit(*axis_name(axis))))


def _plain(cell: Cell) -> str:
    return "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else method_words(str(cell))
