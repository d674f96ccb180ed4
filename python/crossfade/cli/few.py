"""Texts of estimates with too few runs for an interval: the value of each run."""

from __future__ import annotations

import math
from collections.abc import Iterable

from crossfade.results.points import Point
from crossfade.tables import ENOUGH_RUNS


def is_few(point: Point) -> bool:
    """True if a point has several runs, but too few for an interval."""
    return 1 < point.runs < ENOUGH_RUNS


def each_run(point: Point, name: str, mean: float | None, factor: float) -> str:
    """Text with the mean of a metric and its value in each run."""
    if mean is None:
        return "-"
    values = [value / factor for value in point.samples(name)]
    known = [value for value in values if not math.isnan(value)]
    text = _number(mean / factor)
    if not known:  # a metric of all runs together has no value for each run
        return text
    if len({*known}) == 1 and len(known) == len(values):
        return f"{text} each"
    return f"{text} ({', '.join('-' if math.isnan(value) else _number(value) for value in values)})"


def note(points: Iterable[Point]) -> str:
    """Note below a table whose points have too few runs; empty if they have enough."""
    few = sorted({point.runs for point in points if is_few(point)})
    if not few:
        return ""
    runs = " to ".join(map(str, dict.fromkeys((few[0], few[-1]))))
    return f"too few runs ({runs}) for intervals: each run is shown (--runs 10)"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e6 else f"{value:.4g}"
