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
from operator import add, neg
from typing import Any, Literal

from crossfade import paired
from crossfade.results import format_estimate
from crossfade.tables import Cell, Table

Curve = Mapping[str, Cell]
"""What selects a curve among points: columns and their values."""


@dataclass(frozen=True)
class Sample:
    """One point of a figure: its columns, and the metric in every run, or the exact one alone."""

    columns: Mapping[str, Cell]
    p_e: float
    runs: Sequence[float]
    is_exact: bool = False

    @property
    def by_run(self) -> paired.Sample:
        """The values by run."""
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


def compare(
    check: Mapping[str, Any], samples: Sequence[Sample], plus: Sequence[Curve], minus: Sequence[Curve]
) -> list[Outcome]:
    """A check on curves: the sum of those in ``plus`` less the sum of those in ``minus`` at each P_E.

    ``p_e`` narrows the range; ``level`` is taken off the difference; ``relative`` gives it as a share of the
    first curve of ``minus``.
    """
    match check["kind"]:
        case "above":
            return above(_differences(check, samples, plus, minus), check["margin"])
        case "within":
            return within(_differences(check, samples, plus, minus), check["tolerance"])
        case "identical":
            return identical(samples, plus[0], minus[0])
        case "crossing":
            return crossing_ratio(samples, plus[0], minus[0], check["level"], tuple(check["between"]))
        case "crosses":
            return crosses(samples, plus[0], minus[0], tuple(check["between"]))
    raise ValueError(f"no such kind of check: {check['kind']}")


def above(differences: Sequence[Difference], margin: float) -> list[Outcome]:
    """Each is more than ``margin``."""
    outcomes = []
    for where, value, ci95 in differences:
        holds = True if value - ci95 > margin else False if value + ci95 <= margin else None
        outcomes.append(Outcome(where, value, ci95, holds, value - ci95 - margin))
    return outcomes


def within(differences: Sequence[Difference], tolerance: float) -> list[Outcome]:
    """Each is within ``tolerance`` of 0."""
    outcomes = []
    for where, value, ci95 in differences:
        size = abs(value)
        holds = True if size + ci95 <= tolerance else False if size - ci95 > tolerance else None
        outcomes.append(Outcome(where, value, ci95, holds, tolerance - size - ci95))
    return outcomes


def printed(where: str, value: Cell, text: str) -> Outcome:
    """A printed number against ours, rounded to as many digits as are printed."""
    assert isinstance(value, float)
    digits = len(text.partition(".")[2])
    holds = f"{value:.{digits}f}" == text
    return Outcome(f"{where} (printed {text})", value, None, holds, -abs(value - float(text)) * 10.0**digits)


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


def crosses(
    samples: Sequence[Sample], first: Curve, second: Curve, between: tuple[float, float]
) -> list[Outcome]:
    """The curve ``first`` lies above ``second`` up to a P_E in a range, and below it from there on.

    Where the curves change sides several times, or the other way round, or never, the claim does not hold.
    """
    ones, others = (_curve(samples, curve) for curve in (first, second))
    differences = [one.by_run - other.by_run for one, other in zip(ones, others, strict=True)]
    curve = paired.Curve([one.p_e for one in ones], differences, log=True)
    found = [crossing for crossing in curve.crossings if crossing.x is not None]
    where = _common([first, second]) or "all points"
    if len(found) != 1 or found[0].after == "higher" or found[0].before == "lower":
        return [Outcome(f"{where}: no such crossing", math.nan, None, False, -math.inf)]
    (crossing,) = found
    assert crossing.x is not None
    low, high = crossing.low or curve.xs[0], crossing.high or curve.xs[-1]
    inside = between[0] <= low and high <= between[1]
    outside = high < between[0] or low > between[1]
    slack = min(math.log(crossing.x / between[0]), math.log(between[1] / crossing.x))
    ci95 = max(high - crossing.x, crossing.x - low)
    return [Outcome(where, crossing.x, ci95, True if inside else False if outside else None, slack)]


Difference = tuple[str, float, float]
"""Where, its mean and the half-width of its interval."""


def _differences(
    check: Mapping[str, Any], samples: Sequence[Sample], plus: Sequence[Curve], minus: Sequence[Curve]
) -> list[Difference]:
    """The sum of some curves less others at each P_E of a range, with its interval.

    The difference is taken run by run: a run has the same random numbers at every point, so that what the
    channel did to both cancels, and the interval is that of the differences.
    """
    low, high = check.get("p_e", [0.0, 1.0])
    curves = [_curve(samples, curve) for curve in [*plus, *minus]]
    differences = []
    for points in zip(*curves, strict=True):
        x = points[0].p_e
        if any(point.p_e != x for point in points):
            raise ValueError("curves of a check lie at different P_E")
        if low <= x <= high:
            values = [point.by_run for point in points]
            difference = sum(map(neg, values[len(plus) :]), reduce(add, values[: len(plus)]))
            difference -= check.get("level", 0.0)
            # That the divisor is an estimate too is left out: its own error is far below the difference's.
            share = abs(values[len(plus)].mean) if check.get("relative") else 1.0
            where = _where(x, [*plus, *minus])
            differences.append((where, difference.mean / share, difference.half_width() / share))
    if not differences:
        raise ValueError(f"no point of the curves has a P_E in {low} to {high}")
    return differences


def _fall(samples: Sequence[Sample], curve: Curve, level: float) -> tuple[float, float, float]:
    """Where a curve first falls below a level, between the ends of the interval; NaN where it does not."""
    points = _curve(samples, curve)
    over = paired.Curve([point.p_e for point in points], [point.by_run - level for point in points], log=True)
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
    return ", ".join(filter(None, [f"p_e {p_e:.3g}", _common(curves)]))


def _common(curves: Sequence[Curve]) -> str:
    first, *others = curves
    common = {
        name: value for name, value in first.items() if all(curve.get(name) == value for curve in others)
    }
    return ", ".join(f"{name} {value}" for name, value in common.items())
