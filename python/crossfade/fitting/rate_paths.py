"""Random paths of a link's rate through the times at which a record does not show the rate."""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

Row = tuple[float, float]

# Relative difference below which two rates belong to one level.
ALIKE = 0.05
# Relative difference below which successive rows of a table of rates are merged.
SAME = 0.01
# Number of windows (up to twice as many) that represent all of them if every pair is compared.
COMPARED = 200
# Number of paths drawn at most until one ends at the level observed next.
TRIES = 30
# Smallest rate of a path as a share of the carried rate, which the packet at the edge of a window can raise
# above the rate of the link.
CARRIED = 0.95


def alike(one: float, other: float) -> bool:
    """True if two rates differ by less than 5 %, and so belong to one level."""
    return abs(one / other - 1) < ALIKE


@dataclass(frozen=True)
class Levels:
    """Markov process of a link's rate: after exponential times it jumps to a randomly chosen observed rate.

    ``rates`` are the observed rates of windows in bit/s, each equally likely. ``lasts_s`` is the mean time
    between two jumps in seconds.
    """

    rates: Sequence[float]
    lasts_s: float

    @classmethod
    def drawn(cls, known: Sequence[tuple[int, float]], step_s: float, draw: random.Random) -> Levels:
        """A process drawn at random among those that explain the observed windows.

        ``known`` has the number and the rate of each window, ``step_s`` is the length of a window. The mean
        time between jumps is drawn in proportion to its likelihood, given which successive observed windows
        have rates of one level. The rates are a bootstrap sample of the runs of adjacent windows.
        """
        rates = [rate for _, rate in known]
        some = rates[:: max(1, len(rates) // COMPARED)]
        count = sum(alike(one, other) for one in some for other in some)
        by_chance = min(count / len(some) ** 2, 0.999)
        pairs = [
            ((later - before) * step_s, alike(one, other))
            for (before, one), (later, other) in pairwise(known)
        ]

        def likelihood(lasts_s: float) -> float:
            total = 0.0
            for apart_s, is_alike in pairs:
                kept = math.exp(-apart_s / lasts_s)
                share = by_chance + (1 - by_chance) * kept
                total += math.log(max(share if is_alike else 1 - share, 1e-9))
            return total

        tried = [step_s * 1.4**power for power in range(-3, 26)]
        found = [likelihood(lasts_s) for lasts_s in tried]
        weights = [math.exp(value - max(found)) for value in found]
        lasts_s = draw.choices(tried, weights)[0]
        rows: list[list[float]] = []
        last = -1
        for index, rate in known:
            if index != last + 1 or not rows:
                rows.append([])
            rows[-1].append(rate)
            last = index
        return cls([rate for _ in rows for rate in draw.choice(rows)], lasts_s)

    def path(
        self,
        from_s: float,
        to_s: float,
        ends: tuple[float | None, float | None],
        draw: random.Random,
        least: float,
    ) -> list[Row]:
        """A random path of the rate from ``from_s`` to ``to_s``: rows of a time in s and a rate in bit/s.

        ``ends`` are the observed rates at its beginning and end; None leaves an end free. The path uses only
        observed rates of at least 95 % of ``least``, the rate carried in this time without a queue, or
        ``least`` itself if no observed rate is as high.
        """
        chosen = [rate for rate in self.rates if rate >= CARRIED * least] or [max(*self.rates, least)]
        begin, end = ends
        is_free = end is None or end < CARRIED * least
        rows: list[Row] = []
        for _ in range(TRIES):
            level = draw.choice(chosen) if begin is None or begin < CARRIED * least else begin
            at, rows = from_s, [(from_s, level)]
            while (at := at + draw.expovariate(1 / self.lasts_s)) < to_s:
                level = draw.choice(chosen)
                rows.append((at, level))
            if is_free or (end is not None and alike(level, end)):
                return rows
        return [rows[0], (draw.uniform(from_s, to_s), rows[0][1] if end is None else end)]


def filled(
    known: Sequence[tuple[int, float]],
    outages: Sequence[tuple[float, float]],
    step_s: float,
    lasts_s: float,
    carried: Callable[[float, float], float],
    draw: random.Random,
) -> list[Row]:
    """A possible table of rates (time in s, bit/s): observed rates, and random paths between them.

    ``known`` has the number and the rate of each observed window of ``step_s``; the table covers 0 to
    ``lasts_s``. The rate is 0 in ``outages``, given by begin and end. ``carried`` gives the rate at which
    data arrived between two times, a lower bound of the paths.
    """
    levels = Levels.drawn(known, step_s, draw)
    rows: list[Row] = []

    def between(from_s: float, to_s: float, ends: tuple[float | None, float | None]) -> None:
        if to_s - from_s > 1e-6:
            rows.extend(levels.path(from_s, to_s, ends, draw, carried(from_s, to_s)))

    between(0.0, known[0][0] * step_s, (None, known[0][1]))
    for (index, rate), (later, other) in zip(known, [*known[1:], (-1, 0.0)], strict=True):
        rows.append((index * step_s, rate))
        ends = (rate, None) if later < 0 else (rate, other)
        between((index + 1) * step_s, lasts_s if later < 0 else later * step_s, ends)
    return with_outages(merged(rows), outages)


def merged(rows: Sequence[Row]) -> list[Row]:
    """The table of rates without rows whose rate differs by less than 1 % from that of the preceding row."""
    found = [rows[0]]
    for row in rows[1:]:
        if abs(row[1] / found[-1][1] - 1) >= SAME:
            found.append(row)
    return found


def with_outages(rows: Sequence[Row], outages: Sequence[tuple[float, float]]) -> list[Row]:
    """The table of rates with a rate of 0 in each outage, and after it the rate of the table at that time."""
    times = [at for at, _ in rows]
    found = [row for row in rows if not any(from_s <= row[0] < to_s for from_s, to_s in outages)]
    for from_s, to_s in outages:
        found += [(from_s, 0.0), (to_s, rows[max(0, bisect.bisect(times, to_s) - 1)][1])]
    return sorted(found)
