"""Verdicts on what a paper says, computed from our own curves and their intervals; none is written by hand.

A claim of ``claims.toml`` holds checks. A check compares curves of a figure, point by point, and each point
says yes, no, or (where the interval is too wide to tell) nothing. Of the points that can tell, a claim
``holds`` where all say yes, ``holds partly`` where some do, and ``does not hold`` where none does; it is
``undecided`` where less than half of the points can tell, and more runs are needed. A claim without checks is
``not judged``, and says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add, neg
from typing import Any, Literal

from crossfade.comparison import paired
from crossfade.comparison.paired import Sample
from crossfade.papers.figure import Along
from crossfade.tables import Cell, Table, format_estimate

Curve = Mapping[str, Cell]
"""What selects a curve among points: columns and their values."""


@dataclass(frozen=True)
class FigurePoint:
    """One point of a figure: its columns, and the metric by run."""

    columns: dict[str, Cell]
    sample: Sample


@dataclass(frozen=True)
class Curves:
    """The points of a figure, along its axis."""

    along: Along
    points: Sequence[FigurePoint]

    def of(self, curve: Curve) -> dict[float, Sample]:
        """The points of a curve by their place, in rising order."""
        chosen = [
            point
            for point in self.points
            if all(point.columns[name] == value for name, value in curve.items())
        ]
        found = {self.along.place(point.columns): point.sample for point in chosen}
        if not found or len(found) != len(chosen):
            raise ValueError(f"{dict(curve)} selects {len(chosen)} points, which are not one curve")
        return dict(sorted(found.items()))

    def where(self, x: float, curves: Sequence[Curve]) -> str:
        """A place, and what all curves have in common."""
        return ", ".join(filter(None, [self.along.words(x), common(curves)]))


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
    why: str
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
    def verdict(self) -> Literal["holds", "holds partly", "does not hold", "undecided", "not judged"]:
        """The verdict over all points."""
        if not self.outcomes:
            return "not judged"
        decided = len(self.outcomes) - self.undecided
        if 2 * decided < len(self.outcomes):
            return "undecided"
        if self.holding == decided:
            return "holds"
        return "holds partly" if self.holding else "does not hold"

    @property
    def worst(self) -> Outcome:
        """The point that speaks most against the claim, of one that is judged."""
        return min(self.outcomes, key=lambda outcome: outcome.slack)

    def __str__(self) -> str:
        if not self.outcomes:
            return ""
        ours = format_estimate(self.worst.value, self.worst.ci95)
        counts = f"{self.holding} of {len(self.outcomes)} points, {self.undecided} undecided"
        return f"{counts}; worst: {ours} at {self.worst.where}"


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Verdicts as a table; ``ours`` and ``ci95`` are those of the point ``at``, most against the claim."""
    columns = ["claim", "figure", "verdict", "points", "holding", "undecided", "ours", "ci95", "at", "quote"]
    columns += ["computed", "tolerance", "why"]
    return Table.of(columns, (_record(verdict) for verdict in verdicts))


def _record(verdict: Verdict) -> dict[str, Cell]:
    worst = verdict.worst if verdict.outcomes else None
    return {
        "claim": verdict.claim,
        "figure": verdict.figure,
        "verdict": verdict.verdict,
        "points": len(verdict.outcomes),
        "holding": verdict.holding,
        "undecided": verdict.undecided,
        "ours": worst.value if worst else None,
        "ci95": worst.ci95 if worst else None,
        "at": worst.where if worst else None,
        "quote": verdict.quote,
        "computed": verdict.computed,
        "tolerance": verdict.tolerance,
        "why": verdict.why,
    }


def judge(claim: Mapping[str, Any], check: Callable[[Mapping[str, Any]], list[Outcome]]) -> Verdict:
    """The verdict on a claim, all of whose checks are carried out by ``check``."""
    outcomes = [outcome for item in claim.get("checks", []) for outcome in check(item)]
    texts = {key: str(claim.get(key, "")) for key in ("quote", "figure", "computed", "tolerance", "why")}
    return Verdict(claim=claim["id"], outcomes=outcomes, **texts)


def compare(
    check: Mapping[str, Any], curves: Curves, plus: Sequence[Curve], minus: Sequence[Curve]
) -> list[Outcome]:
    """A check on curves; a key named as the axis (``p_e = [low, high]``) narrows the range that it is about.

    ``above``, ``below``, ``apart`` and ``within`` are about the sum of the curves in ``plus`` less the sum of
    those in ``minus``; ``level`` is taken off the difference, ``relative`` gives it as a share of the first
    curve of ``minus``.
    ``moves`` is about the pairs of a curve in ``plus`` and one in ``minus``, in order;
    ``ranking`` is about the curves in ``plus``, the highest first, ``zero-below`` about the one in ``plus``,
    the others about the first of either.
    """
    match check["kind"]:
        case "above":
            return above(_differences(check, curves, plus, minus), check["margin"])
        case "below":
            return below(_differences(check, curves, plus, minus), check["margin"])
        case "apart":
            return apart(_differences(check, curves, plus, minus), check["margin"])
        case "within":
            return within(_differences(check, curves, plus, minus), check["tolerance"])
        case "identical":
            return identical(curves, plus[0], minus[0])
        case "crossing":
            return crossing_ratio(curves, plus[0], minus[0], check["level"], tuple(check["between"]))
        case "crosses":
            return crosses(curves, plus[0], minus[0], tuple(check["between"]))
        case "moves":
            return moves(curves, list(zip(plus, minus, strict=True)))
        case "shift":
            return shift(curves, plus[0], minus[0], check["level"], tuple(check["between"]))
        case "ranking":
            return ranking(curves, plus, check["margin"], _range(check, curves))
        case "zero-below":
            tolerance = check.get("tolerance", 0.0)
            return zero_below(curves, plus[0], check["below"], tolerance, _range(check, curves))
    raise ValueError(f"no such kind of check: {check['kind']}")


def above(differences: Sequence[Difference], margin: float) -> list[Outcome]:
    """Each is more than ``margin``."""
    outcomes = []
    for where, value, ci95 in differences:
        holds = True if value - ci95 > margin else False if value + ci95 <= margin else None
        outcomes.append(Outcome(where, value, ci95, holds, value - ci95 - margin))
    return outcomes


def below(differences: Sequence[Difference], margin: float) -> list[Outcome]:
    """Each is at most ``margin``."""
    turned = above([(where, -value, ci95) for where, value, ci95 in differences], -margin)
    return [replace(outcome, value=-outcome.value) for outcome in turned]


def apart(differences: Sequence[Difference], margin: float) -> list[Outcome]:
    """Each is further than ``margin`` from 0, on either side."""
    turned = above([(where, abs(value), ci95) for where, value, ci95 in differences], margin)
    return [replace(outcome, value=value) for outcome, (_, value, _) in zip(turned, differences, strict=True)]


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


def identical(curves: Curves, first: Curve, second: Curve) -> list[Outcome]:
    """At every place: every run the same to the last digit (runs share their random numbers)."""
    outcomes = []
    ones, others = curves.of(first), curves.of(second)
    for (x, one), (other_x, other) in zip(ones.items(), others.items(), strict=True):
        apart = [abs(value - other.values[run]) for run, value in one.values.items()]
        largest = max(apart)
        same = x == other_x and len(one.values) == len(other.values) and largest == 0.0
        outcomes.append(Outcome(curves.where(x, [first, second]), largest, None, same, -largest))
    return outcomes


def crossing_ratio(
    curves: Curves, first: Curve, second: Curve, level: float, between: Range
) -> list[Outcome]:
    """The place at which one curve falls to a level, over that of another, lies in a range.

    The interval is the ratio of the ends of theirs that are furthest apart.
    """
    above, below = (_fall(curves, curve, level) for curve in (first, second))
    value = above[1] / below[1]
    low, high = above[0] / below[2], above[2] / below[0]
    slack = min(math.log(low / between[0]), math.log(between[1] / high))
    ci95 = max(high - value, value - low)
    return [Outcome(f"throughput {level:g}", value, ci95, _lies(low, high, between), slack)]


def crosses(curves: Curves, first: Curve, second: Curve, between: Range) -> list[Outcome]:
    """The curve ``first`` lies above ``second`` up to a place in a range, and below it from there on.

    Where the curves change sides several times, or the other way round, or never, the claim does not hold.
    """
    ones, others = curves.of(first), curves.of(second)
    differences = [one - other for one, other in zip(ones.values(), others.values(), strict=True)]
    curve = paired.Curve(list(ones), differences, log=curves.along.is_log)
    found = [crossing for crossing in curve.crossings if crossing.x is not None]
    where = common([first, second]) or "all points"
    if len(found) != 1 or found[0].after == "higher" or found[0].before == "lower":
        return [Outcome(f"{where}: no such crossing", math.nan, None, False, -math.inf)]
    (crossing,) = found
    assert crossing.x is not None
    low, high = crossing.low or curve.xs[0], crossing.high or curve.xs[-1]
    distance = curves.along.distance
    slack = min(distance(between[0], crossing.x), distance(crossing.x, between[1]))
    ci95 = max(high - crossing.x, crossing.x - low)
    return [Outcome(where, crossing.x, ci95, _lies(low, high, between), slack)]


def moves(curves: Curves, pairs: Sequence[tuple[Curve, Curve]]) -> list[Outcome]:
    """Each pair of curves crosses once, and each next crossing lies elsewhere than the one before.

    What cannot be told apart says nothing; where a pair has no crossing there is none that could move.
    """
    outcomes: list[Outcome] = []
    before: tuple[float, float] | None = None
    for first, second in pairs:
        places = list(curves.of(first))
        (found,) = crosses(curves, first, second, (places[0], places[-1]))
        if math.isnan(found.value):
            outcomes.append(found)
            continue
        half = found.ci95 or 0.0
        here = (found.value - half, found.value + half)
        holds = True if before is None or here[0] > before[1] or here[1] < before[0] else None
        slack = 0.0 if before is None else max(here[0] - before[1], before[0] - here[1])
        outcomes.append(replace(found, holds=holds, slack=slack))
        before = here
    return outcomes


def shift(curves: Curves, first: Curve, second: Curve, level: float, between: Range) -> list[Outcome]:
    """By how many dB ``first`` lies to the right of ``second`` where both first pass a level: in a range.

    Negative is to the left: a gain, where curves rise. The interval goes from end to end of theirs, as if the
    two had nothing to do with each other. Where a curve never passes the level, nothing can be told.
    """
    one, other = (_pass(curves, curve, level) for curve in (first, second))
    where = ", ".join(filter(None, [f"level {level:g}", common([first, second])]))
    if one is None or other is None:
        return [Outcome(f"{where}: not reached", math.nan, None, None, -math.inf)]
    value = curves.along.shift_db(other[1], one[1])
    low, high = curves.along.shift_db(other[2], one[0]), curves.along.shift_db(other[0], one[2])
    slack = min(low - between[0], between[1] - high)
    return [Outcome(where, value, max(high - value, value - low), _lies(low, high, between), slack)]


def ranking(curves: Curves, order: Sequence[Curve], margin: float, places: Range) -> list[Outcome]:
    """At every place of a range each curve is more than ``margin`` above the next one.

    Ours is the smallest of the differences between neighbours, each with the interval of its own.
    """
    pairs = list(pairwise(order))
    steps = [above(_differences_in(places, curves, [high], [low], 0.0, False), margin) for high, low in pairs]
    outcomes = []
    for x, here in zip(_places_in(places, curves.of(order[0])), zip(*steps, strict=True), strict=True):
        least = min(here, key=lambda outcome: outcome.value)
        told = [outcome.holds for outcome in here]
        holds = False if False in told else None if None in told else True
        slack = min(outcome.slack for outcome in here)
        outcomes.append(Outcome(curves.where(x, order), least.value, least.ci95, holds, slack))
    return outcomes


def zero_below(curves: Curves, curve: Curve, below: float, tolerance: float, places: Range) -> list[Outcome]:
    """At every place below one the curve is at most ``tolerance``, and from there on it is more."""
    outcomes = []
    found = curves.of(curve)
    for x in _places_in(places, found):
        value, half = found[x].mean, found[x].half_width()
        is_zero = True if value + half <= tolerance else False if value - half > tolerance else None
        if x < below:
            holds, slack = is_zero, tolerance - value - half
        else:
            holds, slack = None if is_zero is None else not is_zero, value - half - tolerance
        outcomes.append(Outcome(curves.where(x, [curve]), value, found[x].ci95(), holds, slack))
    return outcomes


Difference = tuple[str, float, float]
"""Where, its mean and the half-width of its interval."""

Range = tuple[float, float]


def _range(check: Mapping[str, Any], curves: Curves) -> Range:
    low, high = check.get(curves.along.column, (-math.inf, math.inf))
    return low, high


def _places_in(places: Range, curve: Mapping[float, Sample]) -> list[float]:
    found = [x for x in curve if places[0] <= x <= places[1]]
    if not found:
        raise ValueError(f"no point of the curves lies in {places[0]:g} to {places[1]:g}")
    return found


def _lies(low: float, high: float, between: Range) -> bool | None:
    """Whether an interval lies inside a range (True), outside (False), or neither."""
    inside = between[0] <= low and high <= between[1]
    outside = high < between[0] or low > between[1]
    return True if inside else False if outside else None


def _differences(
    check: Mapping[str, Any], curves: Curves, plus: Sequence[Curve], minus: Sequence[Curve]
) -> list[Difference]:
    level, relative = check.get("level", 0.0), bool(check.get("relative"))
    return _differences_in(_range(check, curves), curves, plus, minus, level, relative)


def _differences_in(
    places: Range, curves: Curves, plus: Sequence[Curve], minus: Sequence[Curve], level: float, relative: bool
) -> list[Difference]:
    """The sum of some curves less others at each place of a range, with its interval.

    The difference is taken run by run: a run has the same random numbers at every point, so that what the
    channel did to both cancels, and the interval is that of the differences.
    """
    chosen = [curves.of(curve) for curve in [*plus, *minus]]
    if any(list(curve) != list(chosen[0]) for curve in chosen):
        raise ValueError(f"curves of a check lie at different {curves.along.column}")
    differences = []
    for x in _places_in(places, chosen[0]):
        values = [curve[x] for curve in chosen]
        difference = sum(map(neg, values[len(plus) :]), reduce(add, values[: len(plus)])) - level
        # That the divisor is an estimate too is left out: its own error is far below the difference's.
        share = abs(values[len(plus)].mean) if relative else 1.0
        where = curves.where(x, [*plus, *minus])
        differences.append((where, difference.mean / share, difference.half_width() / share))
    return differences


def _fall(curves: Curves, curve: Curve, level: float) -> tuple[float, float, float]:
    """Where a curve first falls below a level, between the ends of the interval; NaN where it does not."""
    for crossing in _over(curves, curve, level).crossings:
        if crossing.x is not None and crossing.before != "lower" and crossing.after != "higher":
            low, high = (math.nan if end is None else end for end in (crossing.low, crossing.high))
            return low, crossing.x, high
    return math.nan, math.nan, math.nan


def _pass(curves: Curves, curve: Curve, level: float) -> tuple[float, float, float] | None:
    """Where a curve first changes sides about a level, between the ends of the interval, if it does.

    An interval that reaches the end of the axis ends there.
    """
    over = _over(curves, curve, level)
    for crossing in over.crossings:
        if crossing.x is not None:
            low = over.xs[0] if crossing.low is None else crossing.low
            return low, crossing.x, over.xs[-1] if crossing.high is None else crossing.high
    return None


def _over(curves: Curves, curve: Curve, level: float) -> paired.Curve:
    """A curve less a level."""
    found = curves.of(curve)
    return paired.Curve(list(found), [sample - level for sample in found.values()], curves.along.is_log)


def common(curves: Sequence[Curve]) -> str:
    """The columns that all curves have in common, as text."""
    first, *others = curves
    same = {name: value for name, value in first.items() if all(curve.get(name) == value for curve in others)}
    return ", ".join(f"{name} {value}" for name, value in same.items())
