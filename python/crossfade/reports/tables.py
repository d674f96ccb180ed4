"""The tables of an HTML report: results, the metrics of a single point, comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from crossfade.comparison import compare
from crossfade.comparison.compare import Comparison, CurveCrossing, Pair
from crossfade.figures.choice import Choice
from crossfade.results.results import Results
from crossfade.tables import Cell, Table, format_estimate
from crossfade.wording import axis_name, between, html, method_words, metric_name, readable_unit, with_unit

# A longer list of differences is for `crossfade compare`.
MOST_PAIRS = 400
NUMBER = ' class="number"'


def table_of_rows(table: Table, data: Mapping[str, Any]) -> str:
    """A row a point and method; the columns at the end are the metrics of the figures."""
    several = len(data["methods"]) > 1
    heads = [_head(f'data-axis="{escape(axis)}"', _axis_label(axis)) for axis in data["axes"]]
    heads += [_head('data-column="method"', "Method")] * several
    heads += [_head('class="number" data-column="runs"', "Runs")]
    heads += [
        _head(f'class="number" data-figure="{number}"', data["metrics"][name]["label"])
        for number, name in enumerate(data["shown"])
    ]
    rows = []
    for index in range(len(table.rows)):
        cells = [_cell(_plain(column[index])) for column in data["axes"].values()]
        cells += [_cell(method_words(str(data["method"][index])))] * several
        cells += [_number(str(data["runs"][index] or "–"))]
        cells += [_number(data["metrics"][name]["texts"][index]) for name in data["shown"]]
        rows.append(f'<tr data-row="{index}">{"".join(cells)}</tr>\n')
    caption = "Mean and half-width of the 95 % interval at each point"
    tools = '<div class="tools no-print" id="tools"></div>\n'
    return _section("results", "Results", tools, heads, rows, caption, ' id="rows"')


def table_of_metrics(results: Results) -> str:
    """The metrics of a single point, a row each, with a column for each method."""
    heads = [_plain_head("Metric")]
    heads += [_plain_head(escape(method_words(point.method)), NUMBER) for point in results.points]
    heads += [_plain_head("Unit")]
    rows = []
    for name in [*results.metrics, *results.parts]:
        found = [point.metrics.get(name, point.parts.get(name)) for point in results.points]
        unit = next(estimate.unit for estimate in found if estimate is not None)
        cells = "".join(_number("–" if estimate is None else str(estimate)) for estimate in found)
        words = f'<th scope="row" title="{escape(name)}">{html(metric_name(name)[0])}</th>'
        rows.append(f"<tr>{words}{cells}{_cell('' if unit == '1' else unit)}</tr>\n")
    return _section(
        "results", "Results", "", heads, rows, "Each metric, with the half-width of its 95 % interval"
    )


def comparisons(results: Results, choice: Choice, metric: str) -> str:
    """Where the curves of a metric cross, and by how much they differ; nothing where there are no curves.

    ``results`` need their rows: differences are taken run by run.
    """
    if not choice.by or metric not in [*results.metrics, *results.parts]:
        return ""
    found = compare.compare(results, choice.by, metric=metric)
    words, unit = metric_name(metric)
    values = [point.value(metric) for point in results.points]
    unit, factor = readable_unit(unit, values)
    crossings = [crossing for crossing in found.crossings if crossing.axis == choice.along]
    parts = [_crossings(crossings, choice)] if crossings else []
    if 0 < len(found.pairs) <= MOST_PAIRS:
        parts.append(_differences(found, html(with_unit(words, unit)), factor))
    if not parts:
        return ""
    return f"""<section aria-labelledby="comparisons">
<h2 id="comparisons">{html(words)}: curves compared</h2>
<p>Differences are taken run by run, since run <i>r</i> of every point draws the same random numbers; a curve
is called higher or lower where the 95 % interval of the difference does not contain 0.</p>
{"".join(parts)}</section>
"""


def _crossings(found: Sequence[CurveCrossing], choice: Choice) -> str:
    others = list(dict.fromkeys(key for at in found for key in at.condition))
    x = html(with_unit(axis_name(choice.along)[0], found[0].unit or axis_name(choice.along)[1]))
    heads = [_plain_head(_axis_label(key)) for key in others]
    heads += [_plain_head("First"), _plain_head("Second")]
    heads += [_plain_head(f"Cross at: {x}", NUMBER), _plain_head("Not told apart", NUMBER)]
    heads += [_plain_head(f"First is {side}") for side in ("before", "after")]
    rows = []
    for at in found:
        crossing = at.crossing
        cells = [_cell(_plain(at.condition.get(key))) for key in others] + [_cell(at.first), _cell(at.second)]
        cells += [_number("–" if crossing.x is None else f"{crossing.x:.4g}")]
        cells += [_number(between(crossing.low, crossing.high))]
        cells += [_cell(crossing.before or "–"), _cell(crossing.after or "–")]
        rows.append(f"<tr>{''.join(cells)}</tr>\n")
    return _table(heads, rows, "Where curves cross or touch")


def _differences(found: Comparison, label: str, factor: float) -> str:
    heads = [_plain_head(_axis_label(key)) for key in found.conditions]
    heads += [_plain_head("First"), _plain_head("Second")]
    heads += [_plain_head(f"First less second: {label}", NUMBER), _plain_head("First is")]

    def row(pair: Pair) -> str:
        half = None if pair.ci95 is None else pair.ci95 / factor
        cells = [_cell(_plain(cell)) for cell in pair.condition.values()]
        cells += [_cell(pair.first), _cell(pair.second)]
        cells += [_number(format_estimate(pair.difference / factor, half)), _cell(pair.verdict)]
        return f"<tr>{''.join(cells)}</tr>\n"

    table = _table(heads, [row(pair) for pair in found.pairs], "Differences at each point")
    return f"<details><summary>All {len(found.pairs)} differences</summary>\n{table}</details>\n"


def _section(
    name: str,
    title: str,
    before: str,
    heads: Sequence[str],
    rows: Sequence[str],
    caption: str,
    attributes: str = "",
) -> str:
    return f"""<section aria-labelledby="{name}">
<h2 id="{name}">{title}</h2>
{before}{_table(heads, rows, caption, attributes)}</section>
"""


def _table(heads: Sequence[str], rows: Sequence[str], caption: str, attributes: str = "") -> str:
    return f"""<div class="scroll" tabindex="0">
<table{attributes}>
<caption>{caption}</caption>
<thead><tr>{"".join(heads)}</tr></thead>
<tbody>
{"".join(rows)}</tbody>
</table>
</div>
"""


def _head(attributes: str, label: str) -> str:
    """The head of a column, which sorts by it."""
    return f'<th scope="col" {attributes}><button type="button">{label}</button></th>'


def _plain_head(label: str, kind: str = "") -> str:
    return f'<th scope="col"{kind}>{label}</th>'


def _axis_label(axis: str) -> str:
    return "Method" if axis == compare.METHOD else html(with_unit(*axis_name(axis)))


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"


def _number(text: str) -> str:
    return f"<td{NUMBER}>{escape(text)}</td>"


def _plain(cell: Cell) -> str:
    return "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else method_words(str(cell))
