"""Verdicts on what a paper says, computed from our own curves and their intervals; none is written by hand.

A claim of ``claims.toml`` holds checks. A check compares curves of a figure, point by point, and each point
says yes, no, or (where the interval is too wide to tell) nothing. Of the points that can tell, a claim
``holds`` where all say yes, ``holds partly`` where some do, and ``does not hold`` where none does; it is
``undecided`` where less than half of the points can tell, and more runs are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Literal

from crossfade import paired
from crossfade.results import format_estimate
from crossfade.tables import Cell, Table

Curve = Mapping[str, Cell]
"""What selects a curve among points: columns and their values."""


@dataclass(frozen=True)
class Sample:
    """One point of a figure: its columns, and the throughput of every run, or the exact one alone."""

    columns: Mapping[str, Cell]
    p_e: float
    runs: Sequence[float]
    is_exact: bool = False

    @property
    def throughput(self) -> paired.Sample:
        """The throughput by run."""
        return paired.Sample(dict(enumerate(self.runs)), self.is_exact)


@dataclass(frozen=True)
class Outcome:
    """What one point says: ours, its interval, and whether the claim holds there (None: cannot be told)."""

    where: str
    value: float
    ci95: float | None
    holds: bool | None
    # How far inside (positive) or outside (negative) of what is claimed the point lies.
    slack: float


@dataclass(frozen=True)
class Verdict:
    """What became of one claim."""

    claim: str
    quote: str
    figure: str
    computed: str
    tolerance: str
    outcomes: list[Outcome]

    @property
    def holding(self) -> int:
        """How many points say yes."""
        return sum(outcome.holds is True for outcome in self.outcomes)

    @property
    def undecided(self) -> int:
        """How many points have an interval too wide to tell."""
        return sum(outcome.holds is None for outcome in self.outcomes)

    @property
    def verdict(self) -> Literal["holds", "holds partly", "does not hold", "undecided"]:
        """The verdict over all points."""
        decided = len(self.outcomes) - self.undecided
        if 2 * decided < len(self.outcomes):
            return "undecided"
        if self.holding == decided:
            return "holds"
        return "holds partly" if self.holding else "does not hold"

    @property
    def worst(self) -> Outcome:
        """The point that speaks most against the claim."""
        return min(self.outcomes, key=lambda outcome: outcome.slack)

    def __str__(self) -> str:
        undecided = f", {self.undecided} undecided" if self.undecided else ""
        ours = format_estimate(self.worst.value, self.worst.ci95)
        return (
            f"{self.holding} of {len(self.outcomes)} points{undecided}; worst: {ours} at {self.worst.where}"
        )


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Verdicts as a table; ``ours`` and ``ci95`` are those of the point ``at``, most against the claim."""
    columns = ["claim", "figure", "verdict", "points", "holding", "undecided", "ours", "ci95", "at", "quote"]
    return Table.of(columns, (_record(verdict) for verdict in verdicts))


def _record(verdict: Verdict) -> dict[str, Cell]:
    return {
        "claim": verdict.claim,
        "figure": verdict.figure,
        "verdict": verdict.verdict,
        "points": len(verdict.outcomes),
        "holding": verdict.holding,
        "undecided": verdict.undecided,
        "ours": verdict.worst.value,
        "ci95": verdict.worst.ci95,
        "at": verdict.worst.where,
        "quote": verdict.quote,
    }


def judge(claim: Mapping[str, Any], check: Callable[[Mapping[str, Any]], list[Outcome]]) -> Verdict:
    """The verdict on a claim, all of whose checks are carried out by ``check``."""
    outcomes = [outcome for item in claim["checks"] for outcome in check(item)]
    texts = {key: str(claim[key]) for key in ("quote", "figure", "computed", "tolerance")}
    return Verdict(claim=claim["id"], outcomes=outcomes, **texts)


def above(
    samples: Sequence[Sample],
    plus: Sequence[Curve],
    minus: Sequence[Curve],
    margin: float,
    p_e: tuple[float, float],
) -> list[Outcome]:
    """At every P_E of a range: the curves ``plus`` less ``minus`` give more than ``margin``."""
    outcomes = []
    for where, value, ci95 in _differences(samples, plus, minus, p_e):
        holds = True if value - ci95 > margin else False if value + ci95 <= margin else None
        outcomes.append(Outcome(where, value, ci95, holds, value - ci95 - margin))
    return outcomes


def within(
    samples: Sequence[Sample],
    plus: Sequence[Curve],
    minus: Sequence[Curve],
    tolerance: float,
    p_e: tuple[float, float],
) -> list[Outcome]:
    """At every P_E of a range: the curves ``plus`` less ``minus`` are within ``tolerance`` of 0."""
    outcomes = []
    for where, value, ci95 in _differences(samples, plus, minus, p_e):
        size = abs(value)
        holds = True if size + ci95 <= tolerance else False if size - ci95 > tolerance else None
        outcomes.append(Outcome(where, value, ci95, holds, tolerance - size - ci95))
    return outcomes


def identical(samples: Sequence[Sample], first: Curve, second: Curve) -> list[Outcome]:
    """At every P_E: every run the same to the last digit (runs share their random numbers)."""
    outcomes = []
    for one, other in zip(_curve(samples, first), _curve(samples, second), strict=True):
        apart = [abs(a - b) for a, b in zip(one.runs, other.runs, strict=True)]
        largest = max(apart)
        same = one.p_e == other.p_e and largest == 0.0
        outcomes.append(Outcome(_where(one.p_e, [first, second]), largest, None, same, -largest))
    return outcomes


def crossing_ratio(
    samples: Sequence[Sample], first: Curve, second: Curve, level: float, between: tuple[float, float]
) -> list[Outcome]:
    """The P_E at which one curve falls to a level, over that of another, lies in a range.

    The interval is the ratio of the ends of theirs that are furthest apart.
    """
    above, below = (_fall(samples, curve, level) for curve in (first, second))
    value = above[1] / below[1]
    low, high = above[0] / below[2], above[2] / below[0]
    inside = between[0] <= low and high <= between[1]
    outside = high < between[0] or low > between[1]
    slack = min(math.log(low / between[0]), math.log(between[1] / high))
    holds = True if inside else False if outside else None
    return [Outcome(f"throughput {level:g}", value, max(high - value, value - low), holds, slack)]


def _differences(
    samples: Sequence[Sample], plus: Sequence[Curve], minus: Sequence[Curve], p_e: tuple[float, float]
) -> list[tuple[str, float, float]]:
    """The sum of some curves less others at each P_E of a range, with its interval.

    The difference is taken run by run: a run has the same random numbers at every point, so that what the
    channel did to both cancels, and the interval is that of the differences.
    """
    curves = [_curve(samples, curve) for curve in [*plus, *minus]]
    differences = []
    for points in zip(*curves, strict=True):
        x = points[0].p_e
        if any(point.p_e != x for point in points):
            raise ValueError("curves of a check lie at different P_E")
        if p_e[0] <= x <= p_e[1]:
            throughputs = [point.throughput for point in points]
            difference = reduce(add, throughputs[: len(plus)]) - reduce(add, throughputs[len(plus) :])
            differences.append((_where(x, [*plus, *minus]), difference.mean, difference.half_width()))
    if not differences:
        raise ValueError(f"no point of the curves has a P_E in {p_e}")
    return differences


def _fall(samples: Sequence[Sample], curve: Curve, level: float) -> tuple[float, float, float]:
    """Where a curve first falls below a level, between the ends of the interval; NaN where it does not."""
    points = _curve(samples, curve)
    over = paired.Curve(
        [point.p_e for point in points], [point.throughput - level for point in points], log=True
    )
    for crossing in over.crossings:
        if crossing.x is not None and crossing.before != "lower" and crossing.after != "higher":
            low, high = (math.nan if end is None else end for end in (crossing.low, crossing.high))
            return low, crossing.x, high
    return math.nan, math.nan, math.nan


def _curve(samples: Sequence[Sample], curve: Curve) -> list[Sample]:
    """The points of a curve in rising P_E."""
    points = [
        point for point in samples if all(point.columns[name] == value for name, value in curve.items())
    ]
    if not points or len({point.p_e for point in points}) != len(points):
        raise ValueError(f"{dict(curve)} selects {len(points)} points, which are not one curve")
    return sorted(points, key=lambda point: point.p_e)


def _where(p_e: float, curves: Sequence[Curve]) -> str:
    """P_E and what all curves have in common."""
    first, *others = curves
    common = {
        name: value for name, value in first.items() if all(curve.get(name) == value for curve in others)
    }
    return ", ".join([f"p_e {p_e:.3g}", *(f"{name} {value}" for name, value in common.items())])
