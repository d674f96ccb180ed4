"""Samples and events by their phase in a period, such as a satellite slot, and means over whole periods.

A table of samples has the columns of :func:`crossfade.runs.samples`. With sender events between the samples
(:func:`crossfade.events` with ``run.sample``), losses and spurious retransmissions are counted too.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from crossfade.errors import ResultsError, ScenarioError, shortened
from crossfade.figures.choice import number
from crossfade.quantities import in_common_unit
from crossfade.tables import Cell, Table, read_cell

# Quantities of samples of flows and links, and counts of events per second.
SAMPLED = ["goodput_bps", "rtt_mean_s", "queue_packets", "capacity_bps", "retransmissions", "cwnd"]
COUNTED = ["losses_per_s", "spurious_per_s"]
# Greatest number of bins that a figure has room for.
MOST_BINS = 150
# Number of periods below which an interval is not meaningful.
FEW_SLOTS = 10
RESAMPLES = 2000
# Share of the period's median goodput at which a flow has recovered.
RECOVERED = 0.9

Key = tuple[Cell, ...]
"""Values of the axes of a sweep, a flow and a link, by which quantities are kept."""


@dataclass(frozen=True)
class Period:
    """A period with the time of its first beginning, in seconds."""

    seconds: float
    offset: float = 0.0

    @classmethod
    def read(cls, text: str) -> Period:
        """Period from a text such as ``"15 s"`` or ``"15 s from 8.76 s"``."""
        first, _, second = text.partition(" from ")
        seconds, offset = _seconds(first), _seconds(second or "0 s")
        if seconds is None or offset is None or seconds <= 0.0 or offset < 0.0:
            raise ScenarioError(
                f'--fold {shortened(text)}: must be a time such as "15 s", or "15 s from 8.76 s" where the '
                "first period does not begin at 0"
            )
        return cls(seconds, offset)

    def locate(self, time: float) -> tuple[int, float]:
        """Number of the period at a time, and the phase in it in seconds."""
        periods = math.floor((time - self.offset) / self.seconds)
        return periods, time - self.offset - periods * self.seconds


def _seconds(text: str) -> float | None:
    found = in_common_unit(text)
    return found[0] if found is not None and found[1] == "s" else None


class Seen:
    """Segments of a flow that are in flight or have arrived, as far as known.

    Segments sent in order from the first one on are kept as one range.
    """

    def __init__(self) -> None:
        self.first = self.next = 0
        self.missing: set[Cell] = set()
        self.others: set[Cell] = set()

    def send(self, segment: Cell) -> bool:
        """Add a sent segment; returns True if it is in flight or has arrived already."""
        if not isinstance(segment, int):
            return self._other(segment)
        if self.first == self.next and not self.others:
            self.first = self.next = segment
        if segment == self.next:
            self.next += 1
            while self.next in self.others:
                self.others.discard(self.next)
                self.next += 1
            return False
        if self.first <= segment < self.next:
            was_there = segment not in self.missing
            self.missing.discard(segment)
            return was_there
        return self._other(segment)

    def _other(self, segment: Cell) -> bool:
        was_there = segment in self.others
        self.others.add(segment)
        return was_there

    def miss(self, segment: Cell) -> None:
        """Remove a lost or dropped segment."""
        if isinstance(segment, int) and self.first <= segment < self.next:
            self.missing.add(segment)
        else:
            self.others.discard(segment)


@dataclass
class Measured:
    """Samples and counted events of a table that can be folded.

    A number takes 8 bytes; of events only their times are kept.
    """

    axes: list[str]
    #: Times of the samples, each once.
    times: array[float] = field(default_factory=lambda: array("d"))
    #: Times and values of the samples of each flow or link and quantity.
    samples: dict[tuple[Key, str], tuple[array[float], array[float]]] = field(default_factory=dict)
    #: Times at which segments of each flow were lost, and at which segments were retransmitted spuriously.
    counted: dict[tuple[Key, str], array[float]] = field(default_factory=dict)
    #: Time of the last row.
    last: float = -math.inf

    @classmethod
    def of_table(cls, table: Table, y: Sequence[str] | None = None) -> Measured:
        """Values of the quantities ``y`` (None: all) in a table."""
        return cls._of(table.columns, table.rows, y, lambda cell: cell)

    @classmethod
    def of_lines(
        cls, columns: list[str], lines: Iterable[Sequence[str]], y: Sequence[str] | None = None
    ) -> Measured:
        """Values of the quantities ``y`` (None: all) in the lines of a CSV file."""
        return cls._of(columns, lines, y, read_cell)

    @classmethod
    def _of(
        cls,
        columns: list[str],
        rows: Iterable[Sequence[Any]],
        y: Sequence[str] | None,
        read: Callable[[Any], Cell],
    ) -> Measured:
        place = {name: index for index, name in enumerate(columns)}
        time, event, segment = place["time_s"], place["event"], place["seq"]
        found = cls(columns[:time])
        sampled = [(name, place[name]) for name in y or SAMPLED if name in SAMPLED and name in place]
        counts = any(name in COUNTED for name in y or COUNTED)
        whose = [*range(time), place["flow"], *([place["link"]] if "link" in place else [])]
        keys: dict[tuple[Any, ...], tuple[Key, Seen]] = {}
        last: Any = None
        for row in rows:
            kind = row[event]
            if row[time] != last:
                last = row[time]
                now = number(read(last))
                found.last = max(found.last, now)
            if kind != "sample" and not (counts and kind in ("send", "lost", "queue_drop")):
                continue
            written = tuple([row[index] for index in whose])
            known = keys.get(written)
            if known is None:
                key = tuple(read(cell) for cell in written)
                known = keys[written] = (key if "link" in place else (*key, None)), Seen()
            if kind == "sample":
                found._take_sample(known[0], now, row, sampled, read)
            else:
                found._count(known, kind, now, read(row[segment]))
        wanted = [name for name in y or COUNTED if name in COUNTED]
        found.counted = {of: times for of, times in found.counted.items() if of[1] in wanted}
        return found

    def _take_sample(
        self,
        key: Key,
        now: float,
        row: Sequence[Any],
        sampled: Sequence[tuple[str, int]],
        read: Callable[[Any], Cell],
    ) -> None:
        if not self.times or self.times[-1] != now:
            self.times.append(now)
        for name, index in sampled:
            value = row[index]
            if value not in (None, ""):
                times, values = self.samples.setdefault((key, name), (array("d"), array("d")))
                times.append(now)
                values.append(number(read(value)))

    def _count(self, known: tuple[Key, Seen], kind: str, now: float, segment: Cell) -> None:
        key, seen = known
        losses = self.counted.setdefault((key, "losses_per_s"), array("d"))
        spurious = self.counted.setdefault((key, "spurious_per_s"), array("d"))
        if kind != "send":
            seen.miss(segment)
            losses.append(now)
        elif seen.send(segment):
            spurious.append(now)

    def step(self) -> float:
        """Time between two samples, in seconds."""
        times = sorted(set(self.times))
        if not times:
            raise ResultsError(
                "nothing to fold: the table has no samples (run.sample says how far apart they are)"
            )
        return min((b - a for a, b in pairwise(times)), default=times[0]) or times[0]

    def points(self) -> Iterator[tuple[Key, str, Iterator[tuple[float, float]]]]:
        """Times (middles of the sampled intervals) and values of each flow or link and quantity."""
        half = self.step() / 2.0
        for (key, name), (times, values) in self.samples.items():
            yield key, name, ((time - half, value) for time, value in zip(times, values, strict=True))


def fold(measured: Measured, period: Period) -> Table:
    """Table of each quantity by phase: mean and 5th and 95th percentile over the periods.

    Columns are the axes of a sweep, flow, link, quantity, phase_s (the middle of a bin), mean, p05, p95 and
    periods. Bins are as wide as the sampling interval, or wider. For counted quantities (``losses_per_s``,
    and ``spurious_per_s``: segments retransmitted although not lost) there is only the mean.
    """
    bins = max(1, min(MOST_BINS, round(period.seconds / measured.step())))
    width = period.seconds / bins
    rows: list[list[Cell]] = []
    for key, quantity, points in measured.points():
        values = [array("d") for _ in range(bins)]
        for time, value in points:
            values[_bin(period, bins, time)].append(value)
        for index, found in enumerate(values):
            if found:
                ordered = sorted(found)
                low, high = (quantile(ordered, share) for share in (0.05, 0.95))
                phase = (index + 0.5) * period.seconds / bins
                rows.append([*key, quantity, phase, fmean(ordered), low, high, len(ordered)])
    periods = max(1.0, (measured.last - period.offset) / period.seconds)
    # Rows are in the order of quantities, as the curves of a figure.
    for name in COUNTED:
        for (key, quantity), times in measured.counted.items():
            if quantity != name:
                continue
            counts = [0] * bins
            for time in times:
                counts[_bin(period, bins, time)] += 1
            for index, count in enumerate(counts):
                mean = count / (width * periods)
                rows.append([*key, quantity, (index + 0.5) * width, mean, None, None, int(periods)])
    if not rows:
        raise ResultsError(
            "nothing to fold: the table has no samples (run.sample says how far apart they are)"
        )
    return Table(
        [*measured.axes, "flow", "link", "quantity", "phase_s", "mean", "p05", "p95", "periods"], rows
    )


def by_slots(measured: Measured, period: Period) -> Table:
    """Table of each quantity over whole periods: mean, its 95 % interval, and recovery time of goodput.

    The interval is a percentile bootstrap of whole periods (Efron and Tibshirani 1993, chapter 13; blocks of
    a period, since neighbours within one are correlated). ``recovery_s`` is the median over the periods of
    the time from their beginning to the end of the first sample with a goodput of 90 % of the period's
    median.
    """
    rows: list[list[Cell]] = []
    step = measured.step()
    for key, quantity, points in measured.points():
        means, times = [], []
        for block in _whole_periods(points, period, step):
            means.append(fmean(value for _, value in block))
            if quantity == "goodput_bps" and (time := _recovery(block, step)) is not None:
                times.append(time)
        if not means:
            continue
        low, high = _bootstrap(means)
        recovery = median(times) if times else None
        rows.append([*key, quantity, len(means), fmean(means), low, high, recovery])
    return Table(
        [
            *measured.axes,
            "flow",
            "link",
            "quantity",
            "periods",
            "mean",
            "ci95_low",
            "ci95_high",
            "recovery_s",
        ],
        rows,
    )


def _bin(period: Period, bins: int, time: float) -> int:
    _, phase = period.locate(time)
    return min(bins - 1, int(phase / period.seconds * bins))


def _whole_periods(
    points: Iterable[tuple[float, float]], period: Period, step: float
) -> Iterator[list[tuple[float, float]]]:
    """Samples of each complete period, by phase."""
    blocks: dict[int, tuple[array[float], array[float]]] = {}
    for time, value in points:
        which, phase = period.locate(time)
        phases, values = blocks.setdefault(which, (array("d"), array("d")))
        phases.append(phase)
        values.append(value)
    expected = round(period.seconds / step)
    for which in sorted(blocks):
        phases, values = blocks[which]
        if which >= 0 and len(values) >= 0.99 * (expected - 1):
            yield list(zip(phases, values, strict=True))


def _recovery(block: Sequence[tuple[float, float]], step: float) -> float | None:
    usual = median(value for _, value in block)
    return next((phase + step / 2.0 for phase, value in block if value >= RECOVERED * usual > 0.0), None)


def _bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """Percentile bootstrap 95 % interval of a mean, with a fixed seed."""
    draws = random.Random(1)
    means = sorted(fmean(draws.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return quantile(means, 0.025), quantile(means, 0.975)


def quantile(ordered: Sequence[float], share: float) -> float:
    """Quantile ``share`` of sorted values, interpolated."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
