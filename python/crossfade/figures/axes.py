"""Axes of a figure: label, unit, scale and limits, from the values drawn along them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from crossfade.figures.choice import (
    Choice,
    axis_columns,
    has_values,
    in_numbers,
    in_places,
    is_error_rate,
    is_numeric,
    number,
    relabelled,
)
from crossfade.figures.curves import Part, Reading
from crossfade.quantities import is_log_spaced
from crossfade.tables import Table
from crossfade.wording import axis_name, metric_name, readable_unit, with_unit

# Greatest number of values of an axis that have a tick each; with more, ticks are round numbers.
MOST_TICKS = 8

Limits = tuple[float | None, float | None]


@dataclass(frozen=True)
class Axis:
    """An axis: its label, True if it is logarithmic, and its limits (None: chosen by the values).

    Values are drawn in the axis' own unit, which is ``factor`` times the data's (1e6 for bit/s drawn in
    Mbit/s). ``words`` are the labels at 0, 1, ... of an axis of words, ``ticks`` the few values of an axis of
    numbers.
    """

    label: str
    is_log: bool = False
    limits: Limits = (None, None)
    factor: float = 1.0
    words: Sequence[str] = ()
    ticks: Sequence[float] = ()


def x_axis(
    table: Table, choice: Choice, is_log: bool | None = None, labels: Mapping[str, str] | None = None
) -> tuple[Axis, Table]:
    """The x axis, and the table with numbers in its column: quantities in one unit, words as 0, 1, ...."""
    name = choice.x
    cells = table.cells(name)
    if name not in axis_columns(table):
        words, unit = metric_name(name)
        unit, factor = readable_unit(unit, [number(cell) for cell in cells])
        return Axis(with_unit(words, unit), bool(is_log), factor=factor), table
    words, unit = axis_words(table, name)
    if not is_numeric(cells):
        places, said = in_places(relabelled(table, [name], labels or {}), name)
        return Axis(words, words=said), places
    table, own_unit = in_numbers(table, name)
    values = [number(cell) for cell in table.cells(name) if cell is not None]
    is_log = is_log_spaced(values) if is_log is None else is_log
    ticks = sorted(set(values))
    return Axis(
        with_unit(words, own_unit or unit), is_log, ticks=ticks if len(ticks) <= MOST_TICKS else ()
    ), table


# Columns that only links with frames have.
OF_FRAMES = ("frame_transmissions_per_frame", "rlp_throughput_bps")


def axis_words(table: Table, key: str) -> tuple[str, str]:
    """Label of a key's axis, and its unit; for a link with frames an error probability is that of a frame."""
    words, unit = axis_name(key)
    link = "reverse." if key.startswith("reverse.") else ""
    columns = [f"{link}{name}" for name in OF_FRAMES]
    has_frames = any(name in table.columns and has_values(table, name) for name in columns)
    if key.rsplit(".", 1)[-1] != "p_e" or not has_frames:
        return words, unit
    return words.replace("Packet error probability", "Frame error rate"), unit


def y_axis(y: str, parts: Sequence[Part], is_log: bool | None = None) -> Axis:
    """The y axis of a metric, whose values and intervals are those of ``parts``."""
    values = [value for part in parts for value in part.ys + (part.lowers or [])]
    words, unit = metric_name(y)
    unit, factor = readable_unit(unit, values)
    if is_log is None:
        is_log = is_error_rate(y, values)
    readings = [reading for part in parts for reading in part.readings if reading.reach]
    limits = _log_limits(values, readings) if is_log else _limits(y, values, readings)
    low, high = (None if limit is None else limit / factor for limit in limits)
    return Axis(with_unit(words, unit), is_log, (low, high), factor)


def _limits(y: str, values: Sequence[float], readings: Sequence[Reading]) -> Limits:
    """Limits of the y axis: from zero unless that flattens the curves, with all intervals inside.

    Only an interval of few runs that exceeds three times the largest value is cut, since it would flatten the
    curves.
    """
    low, high = min(values, default=0.0), max(values, default=0.0)
    wild = 3.0 * max(abs(low), abs(high))
    shown = [
        reading.ends
        or (reading.reach if reading.runs else None)
        or (reading.value - min(reading.half or 0.0, wild), reading.value + min(reading.half or 0.0, wild))
        for reading in readings
    ]
    lowest, highest = min([low, *(end for end, _ in shown)]), max([high, *(end for _, end in shown)])
    is_share = "throughput" in y.rsplit(".", 1)[-1] and high <= 1.0
    if is_share and lowest >= 0.0 and highest <= 1.03:
        return 0.0, 1.03
    bottom = min(lowest, 0.0) if is_share or 0.0 <= low <= 0.6 * high else lowest
    if not highest > bottom:
        return None, None
    margin = 0.05 * (highest - bottom)
    return (0.0 if bottom == 0.0 else bottom - margin), highest + margin


def _log_limits(values: Sequence[float], readings: Sequence[Reading]) -> Limits:
    """Limits of a logarithmic axis with some margin; downwards an interval extends by at most a decade."""
    positive = [value for value in values if value > 0.0]
    if not positive:
        return None, None
    low, high = min(positive), max(positive)
    ends = [reading.reach or (low, high) for reading in readings]
    lows = [end for end, _ in ends if end >= 0.1 * low]
    return min([low, *lows]) / 1.2, max([high, *(end for _, end in ends)]) * 1.2


def places_beside(count: int) -> list[float]:
    """Offsets of several curves that are drawn side by side about each category of an axis."""
    step = min(0.12, 0.7 / max(count, 1))
    return [(index - 0.5 * (count - 1)) * step for index in range(count)]


def scaled(part: Part, x: Axis, y: Axis, beside: float = 0.0) -> Part:
    """A part in the units of the axes; on an axis of words it is offset by ``beside``."""

    def of(value: float | None) -> float | None:
        return None if value is None else value / y.factor

    # A value that a logarithmic axis cannot show is a gap, where matplotlib would draw a line to the bottom.
    values = [math.nan if y.is_log and value <= 0.0 else value / y.factor for value in part.ys]
    readings = [
        Reading(
            value,
            of(found.half),
            of(found.lower),
            found.ends and (found.ends[0] / y.factor, found.ends[1] / y.factor),
            found.at_least,
            tuple(run / y.factor for run in found.runs if not y.is_log or run > 0.0),
        )
        for value, found in zip(values, part.readings, strict=True)
    ]
    return replace(
        part, xs=[value / x.factor + (beside if x.words else 0.0) for value in part.xs], readings=readings
    )
