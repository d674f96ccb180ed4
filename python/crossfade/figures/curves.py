"""Curves of a figure: the rows of a table that belong to each, and their values of a metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from crossfade.figures.choice import number
from crossfade.tables import EACH_RUN, ENOUGH_RUNS, Cell, Table, ends_shown
from crossfade.wording import METHODS

Record = dict[str, Cell]
# Methods whose interval is Student's over the runs.
BY_RUNS = ("simulation", "live")


@dataclass(frozen=True)
class Reading:
    """Value of a metric in a row, with its interval or lower bound.

    The interval is ``value ± half``, or from ``ends[0]`` to ``ends[1]`` if it is asymmetric: for rare events,
    shares near their bound, skewed runs. ``at_least`` is true if the value itself is a lower bound. With too
    few runs for an interval, ``runs`` has the value of each run.
    """

    value: float
    half: float | None = None
    lower: float | None = None
    ends: tuple[float, float] | None = None
    at_least: bool = False
    runs: tuple[float, ...] = ()

    @property
    def reach(self) -> tuple[float, float] | None:
        """Lower and upper end of the interval, or of the values of runs; None without either."""
        return (min(self.runs), max(self.runs)) if self.runs else self.interval

    @property
    def interval(self) -> tuple[float, float] | None:
        """Lower and upper end of the interval; None without one."""
        if self.ends is not None or self.half is None:
            return self.ends
        return self.value - self.half, self.value + self.half


@dataclass
class Part:
    """Values of one curve by one method: places on the x axis in order, and readings."""

    method: str
    xs: list[float] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)

    @property
    def ys(self) -> list[float]:
        """Values of the metric."""
        return [reading.value for reading in self.readings]

    @property
    def lowers(self) -> list[float] | None:
        """Lower bounds of the metric; None if there are none."""
        found = [reading.lower for reading in self.readings]
        return [math.nan if lower is None else lower for lower in found] if any_number(found) else None

    @property
    def runs(self) -> list[tuple[float, float]]:
        """Place and value of each run, for points with too few runs for an interval."""
        each = zip(self.xs, self.readings, strict=True)
        return [(x, value) for x, reading in each for value in reading.runs]

    @property
    def intervals(self) -> list[tuple[float, float]] | None:
        """Intervals (NaN for points without one); None if no point has one."""
        found = [reading.interval for reading in self.readings]
        if not any(found):
            return None
        return [(math.nan, math.nan) if ends is None else ends for ends in found]


def any_number(cells: Sequence[float | None]) -> bool:
    """True if a cell is not None."""
    return any(cell is not None for cell in cells)


Curve = tuple[tuple[Cell, ...], list[Part]]
"""Key of a curve (the values that distinguish it), and its parts in the order of drawing."""


def curves(table: Table, x: str, y: str, by: Sequence[str], along: str | None = None) -> list[Curve]:
    """Curves of a table with their keys; ``along`` is the column along which they run (default: ``x``)."""
    records: dict[tuple[Cell, ...], list[Record]] = {}
    for record in table.records():
        records.setdefault(tuple(record[name] for name in by), []).append(record)
    return [(key, _parts(group, x, y, along or x)) for key, group in records.items()]


def _parts(records: Sequence[Record], x: str, y: str, along: str) -> list[Part]:
    parts: dict[str, Part] = {}
    for record in sorted(records, key=lambda record: number(record[along])):
        for method, reading in readings(record, y):
            if record[x] is not None and not math.isnan(reading.value):
                part = parts.setdefault(method, Part(method))
                part.xs.append(number(record[x]))
                part.readings.append(reading)
    return sorted(parts.values(), key=lambda part: drawing_order(part.method))


def drawing_order(method: str) -> int:
    """Place of a method in the order of drawing; simulation is on top."""
    return list(METHODS).index(method) if method in METHODS else len(METHODS)


def readings(record: Record, y: str) -> Iterator[tuple[str, Reading]]:
    """Value of a metric in a row, by method.

    A row of results has one method; bounds of the throughput have columns of their own. A row of a paper's
    table has a column for each method.
    """
    if "method" in record:
        method = str(record["method"])
        if method.endswith("bounds") and y == "throughput_per_slot" and "throughput_upper" in record:
            yield method, _bounds(record)
        else:
            yield method, _value(record, y)
        return
    paper = y.endswith(("_sim", "_exact"))
    exact = f"{y.rsplit('_', 1)[0]}_exact"
    if paper and {"throughput_lower", "throughput_upper"} <= record.keys():
        yield "analysis:bounds", _bounds(record)
    if paper and exact in record:
        yield "analysis:exact", Reading(number(record[exact]))
    if not (paper and y == exact):
        yield "simulation", _value(record, y)


def _bounds(record: Record) -> Reading:
    lower = number(record.get("throughput_lower"))
    return Reading(number(record["throughput_upper"]), lower=None if math.isnan(lower) else lower)


def _value(record: Record, y: str) -> Reading:
    # Tables of papers have short names: rlp_ci95 belongs to rlp_throughput_bps, ci95 to the figure's metric.
    names = (f"{y}_ci95", f"{y.split('_')[0]}_ci95", "ci95")
    given = next((record[name] for name in names if name in record), None)
    value, half = number(record[y]), _finite(given)
    ends = (_finite(record.get(f"{y}_ci95_{end}")) for end in ("low", "high"))
    at_least = record.get(f"{y}_at_least") == 1
    is_few = 1.0 < number(record.get("runs")) < ENOUGH_RUNS
    if is_few and not at_least and str(record.get("method")) in BY_RUNS:
        each = str(record.get(f"{y}{EACH_RUN}") or "").split()
        return Reading(value, runs=tuple(map(float, each)))
    return Reading(value, half, ends=ends_shown(value, half, *ends), at_least=at_least)


def _finite(cell: Cell) -> float | None:
    return found if math.isfinite(found := number(cell)) else None
