"""Data of the figures of an HTML report, as JSON values; ``assets/report.js`` draws them.

Axes, curves, styles and labels are chosen as in :mod:`crossfade.figures.plot`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from crossfade.figures.axes import Axis, x_axis, y_axis
from crossfade.figures.choice import Choice, prepared, relabelled
from crossfade.figures.curves import Part, Reading, Record, any_number, drawing_order, readings
from crossfade.figures.style import DASHES, LINES, MARKERS, SOLID, has_marks, looks
from crossfade.figures.wanted import Wanted
from crossfade.tables import Cell, Table, format_estimate
from crossfade.wording import curve_word, html, look_of, method_words, metric_name, without_symbols

Key = tuple[Cell, ...]


def figures_data(
    table: Table,
    choice: Choice,
    metrics: Sequence[str],
    shown: Sequence[str],
    wanted: Wanted | None = None,
) -> dict[str, Any]:
    """Everything that the figures of a report can show, as JSON values.

    ``table`` is the table of results (:meth:`Results.table`), ``metrics`` are the metrics to choose from,
    ``shown`` those that the figures show first. Texts are HTML. Each metric has one value per row, in the
    unit of the results (divide by ``factor`` for the unit of the label), None where it is undefined.
    ``wanted`` is the scenario's figure: labels of values, and whether axes are logarithmic.
    """
    wanted = wanted or Wanted()
    across, numbers = x_axis(table, choice, wanted.log_x, wanted.labels)
    numbers = relabelled(numbers, [*choice.by, *choice.held], wanted.labels)
    records, rows = numbers.records(), table.records()
    held = list(choice.held)
    keys = list(dict.fromkeys(tuple(record[name] for name in choice.by) for record in records))
    values = {name: list(dict.fromkeys(numbers.cells(name))) for name in held}
    return {
        "x": {
            "label": html(across.label),
            "log": across.is_log,
            "words": [html(word) for word in across.words] or None,
            "factor": across.factor,
            "values": [_finite(record[choice.x]) for record in records],
        },
        "axes": {name: table.cells(name) for name in table.columns[: table.columns.index("method")]},
        "method": table.cells("method"),
        "runs": table.cells("runs"),
        "curves": [
            {
                "name": html(", ".join(map(curve_word, choice.by, key))),
                "color": look.color,
                "symbol": list(MARKERS.values())[look.mark] + ("" if look.is_filled else "-open"),
                "dash": list(DASHES.values())[look.dash],
            }
            for key, look in zip(keys, looks(keys), strict=True)
        ],
        "held": [
            {
                "key": escape(name),
                "first": _first(table, name, choice.held[name]),
                "values": [escape(without_symbols(curve_word(name, value))) for value in values[name]],
            }
            for name in held
        ],
        "methods": _methods(table),
        "lines": _lines(records, choice, keys, [values[name] for name in held]),
        "metrics": {
            name: _metric(table, rows, name, wanted.log_y if name in (wanted.y or []) else None)
            for name in metrics
        },
        "shown": list(shown),
    }


def _methods(table: Table) -> list[dict[str, Any]]:
    names = sorted({str(cell) for cell in table.cells("method")}, key=drawing_order)
    return [
        {
            "name": name,
            "word": html(method_words(name)),
            "marks": has_marks(name),
            "band": look_of(name) == "band",
            "dash": LINES.get(look_of(name), SOLID)[1],
        }
        for name in names
    ]


def _lines(
    records: Sequence[Record], choice: Choice, keys: list[Key], values: Sequence[list[Cell]]
) -> list[dict[str, Any]]:
    """Rows of each curve, by method and by values of the held axes, in order along the curve."""
    found: dict[tuple[int, tuple[int, ...], str], list[int]] = {}
    for index, record in enumerate(records):
        if record[choice.x] is not None:
            curve = keys.index(tuple(record[name] for name in choice.by))
            at = tuple(known.index(record[name]) for name, known in zip(choice.held, values, strict=True))
            found.setdefault((curve, at, str(record["method"])), []).append(index)
    along = [_finite(record[choice.along]) if _is_number(record[choice.along]) else 0.0 for record in records]
    return [
        {"curve": curve, "at": at, "method": method, "rows": sorted(rows, key=lambda row: along[row] or 0.0)}
        for (curve, at, method), rows in sorted(found.items(), key=lambda item: drawing_order(item[0][2]))
    ]


def _first(table: Table, name: str, value: Cell) -> int:
    """Index of the value at which a held axis is first shown."""
    known = [str(cell) for cell in dict.fromkeys(table.cells(name))]
    return known.index(str(value)) if str(value) in known else 0


def _metric(table: Table, rows: Sequence[Record], name: str, log: bool | None = None) -> dict[str, Any]:
    """A metric in each row, with the properties of its axis."""
    rows = rows if name in table.columns else prepared(table, name).records()
    found = [next(readings(row, name))[1] for row in rows]
    present = [reading for reading in found if not math.isnan(reading.value)]
    axis = y_axis(name, [Part("", [], present)], log)
    lowers = [reading.lower for reading in found]
    return {
        "name": escape(name),
        "label": html(axis.label),
        "title": html(metric_name(name)[0]),
        "plain": escape(without_symbols(axis.label)),
        "log": axis.is_log,
        "limits": None if None in axis.limits else axis.limits,
        "factor": axis.factor,
        "values": [_finite(reading.value) for reading in found],
        "halves": [reading.half for reading in found],
        "ends": [reading.interval for reading in found],
        "lowers": lowers if any_number(lowers) else None,
        "texts": [_text(reading, axis) for reading in found],
    }


def _text(reading: Reading, axis: Axis) -> str:
    """A value as text with its interval, in the unit of its axis."""
    value = reading.value / axis.factor
    if math.isnan(value):
        return "–"
    if reading.lower is not None:
        return f"{reading.lower / axis.factor:.6g} to {value:.6g}"
    if reading.runs:
        return f"{value:.4g} ({', '.join(f'{run / axis.factor:.4g}' for run in reading.runs)})"
    half = None if reading.half is None else reading.half / axis.factor
    low, high = (end / axis.factor for end in reading.ends) if reading.ends else (None, None)
    return format_estimate(value, half, low, high, at_least=reading.at_least)


def _finite(cell: Cell) -> float | None:
    return cell if _is_number(cell) and math.isfinite(cell) else None  # type: ignore[arg-type,return-value]


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float)
