"""Checks of claims at the points of curves, computed from the curves and their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby, pairwise
from operator import add, itemgetter, neg
from typing import Any, NamedTuple

from crossfade.comparison import paired
from crossfade.comparison.paired import Sample
from crossfade.papers.figure import Along
from crossfade.papers.verdicts import Outcome, Silence
from crossfade.tables import Cell

Curve = Mapping[str, Cell]
"""Values by column, which select a curve among points."""

Range = tuple[float, float]


@dataclass(frozen=True)
class FigurePoint:
    """One point of a figure: its columns, and the metric by run."""

    columns: dict[str, Cell]
    sample: Sample


@dataclass(frozen=True)
class Curves:
    """Points of a figure, along its axis."""

    along: Along
    points: Sequence[FigurePoint]

    def of(self, curve: Curve) -> dict[float, Sample]:
        """Samples of a curve by place on the axis, in rising order."""
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
        """Text of a place on the axis, with the columns that all curves have in common."""
        return ", ".join(filter(None, [self.along.words(x), common(curves)]))


class Difference(NamedTuple):
    """Difference at a place: its mean and the half-width of its interval; ``nothing`` if all curves are 0."""

    where: str
    value: float
    ci95: float
    nothing: bool = False


def compare(
    check: Mapping[str, Any], curves: Curves, plus: Sequence[Curve], minus: Sequence[Curve]
) -> list[Outcome]:
    """Check of kind ``check["kind"]`` on curves; a key named as the axis (``p_e = [low, high]``) is a range.

    ``above``, ``below``, ``apart`` and ``within`` check the sum of the curves in ``plus`` less the sum of
    those in ``minus``; ``level`` is subtracted from the difference, and ``relative`` makes it a share of the
    first curve of ``minus``. ``visible`` is the smallest difference that the paper's figure could show: a
    smaller one cannot be seen. With ``some`` one place of the range suffices, the one that supports the claim
    most; its interval allows for the number of places (Bonferroni). ``moves`` checks the pairs of a curve in
    ``plus`` and one in ``minus``, in order, ``ranking`` the curves in ``plus``, the highest first, and
    ``zero-below`` the one in ``plus``. The other kinds check the first curve of ``plus`` and of ``minus``.
    """
    match check["kind"]:
        case "above" | "below" | "apart" | "within" as kind:
            return _of_differences(kind, check, curves, plus, minus)
        case "identical":
            return identical(curves, plus[0], minus[0])
        case "crossing":
            return crossing_ratio(curves, plus[0], minus[0], check["level"], tuple(check["between"]))
        case "crosses":
            return crosses(curves, plus[0], minus[0], tuple(check["between"]))
        case "moves":
            return moves(curves, list(zip(plus, minus, strict=True)))
        case "shift":
            levels = _levels(check, curves, minus[0])
            return [shift(curves, plus[0], minus[0], *level, tuple(check["between"])) for level in levels]
        case "ranking":
            visible = check.get("visible", 0.0)
            return ranking(curves, plus, check["margin"], _range(check, curves), visible)
        case "zero-below":
            tolerance = check.get("tolerance", 0.0)
            return zero_below(curves, plus[0], check["below"], tolerance, _range(check, curves))
    raise ValueError(f"no such kind of check: {check['kind']}")


def above(differences: Sequence[Difference], margin: float, visible: float = 0.0) -> list[Outcome]:
    """Check that each difference is more than ``margin``."""
    return [_more(difference, difference.value, margin, visible) for difference in differences]


def below(differences: Sequence[Difference], margin: float) -> list[Outcome]:
    """Check that each difference is at most ``margin``."""
    outcomes = []
    for where, value, ci95, nothing in differences:
        holds = True if value + ci95 <= margin else False if value - ci95 > margin else None
        outcomes.append(_silenced(Outcome(where, value, ci95, holds, margin - value - ci95), nothing))
    return outcomes


def apart(differences: Sequence[Difference], margin: float, visible: float = 0.0) -> list[Outcome]:
    """Check that the size of each difference is more than ``margin``."""
    return [_more(difference, abs(difference.value), margin, visible) for difference in differences]


def within(differences: Sequence[Difference], tolerance: float) -> list[Outcome]:
    """Check that the size of each difference is at most ``tolerance``."""
    outcomes = []
    for where, value, ci95, nothing in differences:
        size = abs(value)
        holds = True if size + ci95 <= tolerance else False if size - ci95 > tolerance else None
        outcomes.append(_silenced(Outcome(where, value, ci95, holds, tolerance - size - ci95), nothing))
    return outcomes


def printed(where: str, value: Cell, text: str) -> Outcome:
    """Check that a value, rounded to the digits of a printed number, equals it."""
    assert isinstance(value, float)
    digits = len(text.partition(".")[2])
    holds = f"{value:.{digits}f}" == text
    return Outcome(f"{where} (printed {text})", value, None, holds, -abs(value - float(text)) * 10.0**digits)


def identical(curves: Curves, first: Curve, second: Curve) -> list[Outcome]:
    """Check that two curves are equal in every run, which have the same random numbers, to the last digit."""
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
    """Check that the place where one curve falls to a level, divided by that of another, lies in a range.

    The interval is the ratio of the most distant ends of the two intervals.
    """
    above, below = (_fall(curves, curve, level) for curve in (first, second))
    value = above[1] / below[1]
    low, high = above[0] / below[2], above[2] / below[0]
    slack = min(math.log(low / between[0]), math.log(between[1] / high))
    ci95 = max(high - value, value - low)
    return [Outcome(f"throughput {level:g}", value, ci95, _lies(low, high, between), slack)]


def crosses(curves: Curves, first: Curve, second: Curve, between: Range) -> list[Outcome]:
    """Check that ``first`` is above ``second`` up to a place in a range, and below it from there on.

    There is a crossing if the curves differ significantly on both sides of it, by intervals that hold at all
    places at once (Bonferroni). The claim does not hold if the curves significantly change sides several
    times or the other way round, or if a crossing is only possible outside the range. It is undecided if they
    differ significantly on one side only.
    """
    ones, others = curves.of(first), curves.of(second)
    differences = [one - other for one, other in zip(ones.values(), others.values(), strict=True)]
    xs = list(ones)
    at_once = paired.each_of(len(xs))
    told = [
        (x, side)
        for x, difference in zip(xs, differences, strict=True)
        if (side := difference.verdict(at_once)) in ("higher", "lower")
    ]
    sides = [side for side, _ in groupby(told, key=itemgetter(1))]
    where = common([first, second]) or "all points"
    if sides == ["higher", "lower"]:
        left = max(x for x, side in told if side == "higher")
        right = min(x for x, side in told if side == "lower")
        return [
            _crossing(curves, paired.Curve(xs, differences, curves.along.is_log), left, right, between, where)
        ]
    if len(sides) != 1:
        return [Outcome(f"{where}: no such crossing", math.nan, None, False if sides else None, -math.inf)]
    # The curves may still cross beyond the last place at which they differ significantly.
    left, right = (told[-1][0], xs[-1]) if sides == ["higher"] else (xs[0], told[0][0])
    if left == right or right < between[0] or left > between[1]:
        return [Outcome(f"{where}: no such crossing", math.nan, None, False, -math.inf)]
    return [Outcome(f"{where}: a crossing is not significant on both sides", math.nan, None, None, -math.inf)]


def _crossing(
    curves: Curves, curve: paired.Curve, left: float, right: float, between: Range, where: str
) -> Outcome:
    """Outcome for a crossing between two places, with its own interval."""
    zeros = [x for x in curve.zeros if left <= x <= right]
    x = zeros[len(zeros) // 2] if zeros else curve.middle(left, right)
    found = curve.crossing_at(x)
    low = left if found is None or found.low is None else max(left, found.low)
    high = right if found is None or found.high is None else min(right, found.high)
    distance = curves.along.distance
    slack = min(distance(between[0], x), distance(x, between[1]))
    return Outcome(where, x, max(high - x, x - low), _lies(low, high, between), slack)


def moves(curves: Curves, pairs: Sequence[tuple[Curve, Curve]]) -> list[Outcome]:
    """Check that each pair of curves crosses once, and each crossing lies elsewhere than the one before.

    Crossings whose intervals overlap are undecided; a pair without a crossing has the outcome of
    :func:`crosses`.
    """
    outcomes: list[Outcome] = []
    before: Range | None = None
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


SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Default levels of a shift, as shares of a link's rate, if the paper names none."""


def _levels(check: Mapping[str, Any], curves: Curves, reference: Curve) -> list[tuple[float, str]]:
    """Levels of a shift: the given one, those of the reference ``at`` places, or shares of ``link``."""
    if "level" in check:
        return [(check["level"], f"level {check['level']:g}")]
    if "at" in check:
        found = curves.of(reference)
        return [(found[float(x)].mean, f"{curves.along.words(x)} of the second") for x in check["at"]]
    return [(share * check["link"], f"{100.0 * share:g} % of the link") for share in SHARES]


def shift(curves: Curves, first: Curve, second: Curve, level: float, words: str, between: Range) -> Outcome:
    """Check that ``first`` is shifted to the right of ``second``, in dB at a level, by an amount in a range.

    A negative shift is to the left: a gain, if curves rise. The interval reaches from end to end of the two
    places' intervals, as if they were independent. A curve that never passes the level is undecided.
    """
    one, other = (pass_of(curves, curve, level) for curve in (first, second))
    where = ", ".join(filter(None, [words, common([first, second])]))
    if one is None or other is None:
        return Outcome(f"{where}: not reached", math.nan, None, None, -math.inf)
    value = curves.along.shift_db(other[1], one[1])
    low, high = curves.along.shift_db(other[2], one[0]), curves.along.shift_db(other[0], one[2])
    slack = min(low - between[0], between[1] - high)
    return Outcome(where, value, max(high - value, value - low), _lies(low, high, between), slack)


def ranking(
    curves: Curves, order: Sequence[Curve], margin: float, places: Range, visible: float = 0.0
) -> list[Outcome]:
    """Check that at every place of a range each curve is more than ``margin`` above the next one.

    The value of an outcome is the smallest difference between neighbours, each with its own interval.
    """
    pairs = list(pairwise(order))
    steps = [above(_differences_in(places, curves, [high], [low]), margin, visible) for high, low in pairs]
    outcomes = []
    for x, here in zip(_places_in(places, curves.of(order[0])), zip(*steps, strict=True), strict=True):
        # Two neighbours that are both 0 have no order.
        there = [one for one in here if one.holds is not None or one.silent != "nothing to tell"] or here
        least = min(there, key=lambda outcome: outcome.value)
        told = [outcome.holds for outcome in there]
        silent: Silence = next((outcome.silent for outcome in there if outcome.holds is None), "undecided")
        holds = False if False in told else None if None in told else True
        slack = min(outcome.slack for outcome in there)
        outcomes.append(Outcome(curves.where(x, order), least.value, least.ci95, holds, slack, silent))
    return outcomes


def zero_below(curves: Curves, curve: Curve, below: float, tolerance: float, places: Range) -> list[Outcome]:
    """Check that a curve is at most ``tolerance`` at places below ``below``, and more from there on."""
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


def _of_differences(
    kind: str, check: Mapping[str, Any], curves: Curves, plus: Sequence[Curve], minus: Sequence[Curve]
) -> list[Outcome]:
    """Check of a difference at each place of a range, or with ``some`` at one of them."""
    level, relative = check.get("level", 0.0), bool(check.get("relative"))
    some = bool(check.get("some"))
    differences = _differences_in(_range(check, curves), curves, plus, minus, level, relative, some)
    visible = check.get("visible", 0.0)
    match kind:
        case "above":
            outcomes = above(differences, check["margin"], visible)
        case "apart":
            outcomes = apart(differences, check["margin"], visible)
        case "below":
            outcomes = below(differences, check["margin"])
        case _:
            outcomes = within(differences, check["tolerance"])
    return [best_place(outcomes)] if some else outcomes


def best_place(outcomes: Sequence[Outcome]) -> Outcome:
    """Outcome of the place that supports a claim most, among those with anything to tell."""
    telling = [one for one in outcomes if one.holds is not None or one.silent == "undecided"]
    most = max(telling or outcomes, key=lambda outcome: outcome.slack)
    undecided = next((one for one in telling if one.holds is None), None)
    # While a place is undecided, the claim may still hold there.
    return undecided if most.holds is False and undecided is not None else most


def _more(difference: Difference, size: float, margin: float, visible: float) -> Outcome:
    """Outcome for a difference of size ``size``: it must exceed a margin, and be large enough to be seen."""
    where, value, ci95, nothing = difference
    holds = True if size - ci95 > margin else False if size + ci95 <= margin else None
    outcome = Outcome(where, value, ci95, holds, size - ci95 - margin)
    if abs(value) + ci95 < visible:
        outcome = replace(outcome, holds=None, silent="cannot be seen")
    return _silenced(outcome, nothing)


def _silenced(outcome: Outcome, nothing: bool) -> Outcome:
    return replace(outcome, holds=None, silent="nothing to tell") if nothing else outcome


def _range(check: Mapping[str, Any], curves: Curves) -> Range:
    low, high = check.get(curves.along.column, (-math.inf, math.inf))
    return low, high


def _places_in(places: Range, curve: Mapping[float, Sample]) -> list[float]:
    found = [x for x in curve if places[0] <= x <= places[1]]
    if not found:
        raise ValueError(f"no point of the curves lies in {places[0]:g} to {places[1]:g}")
    return found


def _lies(low: float, high: float, between: Range) -> bool | None:
    """True if an interval lies inside a range, False if outside, None otherwise."""
    inside = between[0] <= low and high <= between[1]
    outside = high < between[0] or low > between[1]
    return True if inside else False if outside else None


def _differences_in(
    places: Range,
    curves: Curves,
    plus: Sequence[Curve],
    minus: Sequence[Curve],
    level: float = 0.0,
    relative: bool = False,
    at_once: bool = False,
) -> list[Difference]:
    """Sum of some curves less that of others at each place of a range, with its interval.

    The difference is taken run by run: run r has the same random numbers at every point, so that effects of
    the channel on both cancel. The interval covers 95 % at each place, or with ``at_once`` at all places
    together.
    """
    chosen = [curves.of(curve) for curve in [*plus, *minus]]
    if any(list(curve) != list(chosen[0]) for curve in chosen):
        raise ValueError(f"curves of a check lie at different {curves.along.column}")
    differences = []
    xs = _places_in(places, chosen[0])
    coverage = paired.each_of(len(xs)) if at_once else paired.COVERAGE
    for x in xs:
        values = [curve[x] for curve in chosen]
        where = curves.where(x, [*plus, *minus])
        # All curves are 0: there is no difference, and no share of one.
        if minus and not any(value for sample in values for value in sample.values.values()):
            differences.append(Difference(where, 0.0, 0.0, nothing=True))
            continue
        difference = sum(map(neg, values[len(plus) :]), reduce(add, values[: len(plus)])) - level
        mean, half = difference.mean, difference.half_width(coverage)
        if relative:
            mean, half = _share(mean, half, abs(values[len(plus)].mean))
        differences.append(Difference(where, mean, half))
    return differences


def _share(mean: float, half: float, divisor: float) -> tuple[float, float]:
    """Difference and half-width as shares of a divisor.

    The error of the divisor is neglected, since it is far below that of the difference. With divisor 0 the
    share is infinite.
    """
    if divisor > 0.0:
        return mean / divisor, half / divisor
    return math.copysign(math.inf, mean), 0.0 if abs(mean) > half else math.inf


def _fall(curves: Curves, curve: Curve, level: float) -> tuple[float, float, float]:
    """First place where a curve falls below a level, between the ends of its interval; NaN if it does not."""
    for crossing in _over(curves, curve, level).crossings:
        if crossing.x is not None and crossing.before != "lower" and crossing.after != "higher":
            low, high = (math.nan if end is None else end for end in (crossing.low, crossing.high))
            return low, crossing.x, high
    return math.nan, math.nan, math.nan


def pass_of(curves: Curves, curve: Curve, level: float) -> tuple[float, float, float] | None:
    """First place where a curve crosses a level, between the ends of its interval; None if it does not.

    An interval that reaches the end of the axis ends there.
    """
    over = _over(curves, curve, level)
    for crossing in over.crossings:
        if crossing.x is not None:
            low = over.xs[0] if crossing.low is None else crossing.low
            return low, crossing.x, over.xs[-1] if crossing.high is None else crossing.high
    return None


def _over(curves: Curves, curve: Curve, level: float) -> paired.Curve:
    """Curve less a level."""
    found = curves.of(curve)
    return paired.Curve(list(found), [sample - level for sample in found.values()], curves.along.is_log)


def common(curves: Sequence[Curve]) -> str:
    """Columns with equal values in all curves, as text."""
    first, *others = curves
    same = {name: value for name, value in first.items() if all(curve.get(name) == value for curve in others)}
    return ", ".join(f"{name} {value}" for name, value in same.items())
