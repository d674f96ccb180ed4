"""Samples and events by their phase in a period: what happens at boundaries of slots, and how slots differ.

A table of samples has the columns of :func:`crossfade.runs.samples`; with the events of the senders between
them (:func:`crossfade.events` with ``run.sample``) losses and retransmissions without a cause are counted
too.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median

from crossfade.errors import ResultsError, ScenarioError, shortened
from crossfade.figures.choice import number
from crossfade.quantities import UNITS, in_numbers
from crossfade.tables import Cell, Table

# What samples have of flows and links, and what is counted of events, in a second.
SAMPLED = ["goodput_bps", "rtt_mean_s", "queue_packets", "capacity_bps", "retransmissions", "cwnd"]
COUNTED = ["losses_per_s", "spurious_per_s"]
# A figure has no room for more.
MOST_BINS = 150
# Of fewer slots an interval says little.
FEW_SLOTS = 10
RESAMPLES = 2000
# A flow has recovered once its goodput is this part of what it is in the rest of the slot.
RECOVERED = 0.9

Key = tuple[Cell, ...]
"""The axes of a sweep, a flow and a link."""


@dataclass(frozen=True)
class Period:
    """A time after which all begins again, and when it did first, in seconds."""

    seconds: float
    offset: float = 0.0

    @classmethod
    def read(cls, text: str) -> Period:
        """The period that a text such as ``"15 s"`` or ``"15 s from 8.76 s"`` names."""
        first, _, second = text.partition(" from ")
        seconds, offset = _seconds(first), _seconds(second or "0 s")
        if seconds is None or offset is None or seconds <= 0.0 or offset < 0.0:
            raise ScenarioError(
                f'--fold {shortened(text)}: must be a time such as "15 s", or "15 s from 8.76 s" where the '
                "first period does not begin at 0"
            )
        return cls(seconds, offset)

    def locate(self, time: float) -> tuple[int, float]:
        """The number of the period at a time, and how far into it that is."""
        periods = math.floor((time - self.offset) / self.seconds)
        return periods, time - self.offset - periods * self.seconds


def _seconds(text: str) -> float | None:
    found = in_numbers([text])
    if found is None or UNITS[found[1]][0] != "s":
        return None
    return found[0][0] * float(UNITS[found[1]][1])


@dataclass(frozen=True)
class Series:
    """A quantity of a flow or link: the middle of each sample, and what was measured around it."""

    key: Key
    quantity: str
    points: list[tuple[float, float]]


def fold(table: Table, period: Period, y: Sequence[str] | None = None) -> Table:
    """Each quantity by phase: its mean and its 5th and 95th percentile over the periods.

    Columns are the axes of a sweep, flow, link, quantity, phase_s (the middle of a bin), mean, p05, p95 and
    periods. Bins are as wide as samples are apart, or wider; of what is counted (``losses_per_s``,
    ``spurious_per_s``: segments that were retransmitted though nothing was lost) there is the mean alone.
    """
    step = _step(table)
    bins = max(1, min(MOST_BINS, round(period.seconds / step)))
    rows: list[list[Cell]] = []
    for series in _series(table, y):
        values: list[list[float]] = [[] for _ in range(bins)]
        for time, value in series.points:
            values[_bin(period, bins, time)].append(value)
        for index, found in enumerate(values):
            if found:
                phase = (index + 0.5) * period.seconds / bins
                low, high = (_quantile(found, share) for share in (0.05, 0.95))
                rows.append([*series.key, series.quantity, phase, mean(found), low, high, len(found)])
    for key, quantity, times in _counted(table, y):
        periods = max(1.0, (_last(table) - period.offset) / period.seconds)
        counts = [0] * bins
        for time in times:
            counts[_bin(period, bins, time)] += 1
        width = period.seconds / bins
        for index, count in enumerate(counts):
            phase = (index + 0.5) * width
            rows.append([*key, quantity, phase, count / (width * periods), None, None, int(periods)])
    if not rows:
        raise ResultsError(
            "nothing to fold: the table has no samples (run.sample says how far apart they are)"
        )
    return Table(
        [*_axes(table), "flow", "link", "quantity", "phase_s", "mean", "p05", "p95", "periods"], rows
    )


def by_slots(table: Table, period: Period, y: Sequence[str] | None = None) -> Table:
    """Each quantity over whole periods: its mean, a 95 % interval of it, and how long goodput is down.

    The interval is a percentile bootstrap of whole periods (Efron and Tibshirani 1993, chapter 13; blocks of
    a period, as neighbours within one are alike). ``recovery_s`` is the median over the periods of the time
    from their beginning to the end of the first sample whose goodput is 90 % of the median of the period.
    """
    rows: list[list[Cell]] = []
    step = _step(table)
    for series in _series(table, y):
        blocks = [block for _, block in sorted(_whole_periods(series, period, step).items())]
        if not blocks:
            continue
        means = [mean(value for _, value in block) for block in blocks]
        low, high = _bootstrap(means)
        recovery = None
        if series.quantity == "goodput_bps":
            times = [time for block in blocks if (time := _recovery(block, step)) is not None]
            recovery = median(times) if times else None
        rows.append([*series.key, series.quantity, len(blocks), mean(means), low, high, recovery])
    return Table(
        [*_axes(table), "flow", "link", "quantity", "periods", "mean", "ci95_low", "ci95_high", "recovery_s"],
        rows,
    )


def _axes(table: Table) -> list[str]:
    return table.columns[: table.columns.index("time_s")]


def _last(table: Table) -> float:
    return max(number(time) for time in table.cells("time_s"))


def _step(table: Table) -> float:
    """How far samples are apart."""
    event, time = (table.columns.index(name) for name in ("event", "time_s"))
    times = sorted({number(row[time]) for row in table.rows if row[event] == "sample"})
    if not times:
        raise ResultsError(
            "nothing to fold: the table has no samples (run.sample says how far apart they are)"
        )
    return min((b - a for a, b in pairwise(times)), default=times[0]) or times[0]


def _bin(period: Period, bins: int, time: float) -> int:
    _, phase = period.locate(time)
    return min(bins - 1, int(phase / period.seconds * bins))


def _key(table: Table, row: Sequence[Cell], place: Mapping[str, int]) -> Key:
    return (*row[: place["time_s"]], row[place["flow"]], row[place["link"]] if "link" in place else None)


def _series(table: Table, y: Sequence[str] | None) -> Iterator[Series]:
    """The quantities of each flow and link that samples have."""
    place = {name: index for index, name in enumerate(table.columns)}
    step = _step(table)
    wanted = [name for name in y or SAMPLED if name in SAMPLED]
    found: dict[tuple[Key, str], list[tuple[float, float]]] = {}
    for row in table.rows:
        if row[place["event"]] != "sample":
            continue
        key, middle = _key(table, row, place), number(row[place["time_s"]]) - step / 2.0
        for name in wanted:
            value = row[place[name]] if name in place else None
            if value not in (None, ""):
                found.setdefault((key, name), []).append((middle, number(value)))
    for (key, name), points in found.items():
        yield Series(key, name, points)


def _counted(table: Table, y: Sequence[str] | None) -> Iterator[tuple[Key, str, list[float]]]:
    """Times of losses, and of needless retransmissions."""
    wanted = [name for name in y or COUNTED if name in COUNTED]
    place = {name: index for index, name in enumerate(table.columns)}
    losses: dict[Key, list[float]] = {}
    spurious: dict[Key, list[float]] = {}
    # Of each flow, which of its segments are under way or have arrived, as far as is known.
    whole: dict[Key, set[Cell]] = {}
    for row in table.rows:
        kind = row[place["event"]]
        if kind not in ("send", "lost", "queue_drop"):
            continue
        key, segment, time = _key(table, row, place), row[place["seq"]], number(row[place["time_s"]])
        there = whole.setdefault(key, set())
        losses.setdefault(key, [])
        spurious.setdefault(key, [])
        if kind != "send":
            there.discard(segment)
            losses[key].append(time)
        elif segment in there:
            spurious[key].append(time)
        else:
            there.add(segment)
    for name, found in (("losses_per_s", losses), ("spurious_per_s", spurious)):
        if name in wanted:
            for key, times in found.items():
                yield key, name, times


def _whole_periods(series: Series, period: Period, step: float) -> dict[int, list[tuple[float, float]]]:
    """The samples of each period from its beginning to its end, by phase."""
    blocks: dict[int, list[tuple[float, float]]] = {}
    for time, value in series.points:
        which, phase = period.locate(time)
        blocks.setdefault(which, []).append((phase, value))
    expected = round(period.seconds / step)
    return {
        which: block for which, block in blocks.items() if which >= 0 and len(block) >= 0.99 * (expected - 1)
    }


def _recovery(block: Sequence[tuple[float, float]], step: float) -> float | None:
    usual = median(value for _, value in block)
    return next((phase + step / 2.0 for phase, value in block if value >= RECOVERED * usual > 0.0), None)


def _bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean: the same for the same values."""
    draws = random.Random(1)
    means = sorted(mean(draws.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return _quantile(means, 0.025), _quantile(means, 0.975)


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
