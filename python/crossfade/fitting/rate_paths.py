"""Ways in which a rate may have changed where a record does not show it."""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

Row = tuple[float, float]

# Rates that differ by less are of one level, or one rate.
ALIKE = 0.05
SAME = 0.01
# So many windows stand for all where each is compared with each.
COMPARED = 200
# So many paths are drawn until one ends at the level that was seen next.
TRIES = 30
# What was carried in a window may be more than the link's rate by the packet at its edge.
CARRIED = 0.95


def alike(one: float, other: float) -> bool:
    """Whether two rates are of one level."""
    return abs(one / other - 1) < ALIKE


@dataclass(frozen=True)
class Levels:
    """A chain that forgets its level at a constant rate and then takes one that was seen.

    ``rates`` are those of windows, ``lasts_s`` is the mean time until the chain forgets its level.
    """

    rates: Sequence[float]
    lasts_s: float

    @classmethod
    def drawn(cls, known: Sequence[tuple[int, float]], step_s: float, draw: random.Random) -> Levels:
        """A chain by which rates that were seen next to each other are likely alike as often as they are.

        Drawn from what the windows leave open: the mean time by its likelihood, the rates by a bootstrap of
        times in which windows were seen in a row.
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
        """A path between two times from one rate to another; without a rate an end is free.

        The link was no slower than ``least``, which was carried without a queue.
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
    """A table of rates: those of the windows that are ``known``, and paths between them; 0 in outages.

    ``carried`` is the rate at which data arrived between two times.
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
    """The table without rows whose rate is that of the row in front of them."""
    found = [rows[0]]
    for row in rows[1:]:
        if abs(row[1] / found[-1][1] - 1) >= SAME:
            found.append(row)
    return found


def with_outages(rows: Sequence[Row], outages: Sequence[tuple[float, float]]) -> list[Row]:
    """The table with a rate of 0 in outages, behind which it goes on as it would have."""
    times = [at for at, _ in rows]
    found = [row for row in rows if not any(from_s <= row[0] < to_s for from_s, to_s in outages)]
    for from_s, to_s in outages:
        found += [(from_s, 0.0), (to_s, rows[max(0, bisect.bisect(times, to_s) - 1)][1])]
    return sorted(found)
