"""Values of a metric by run, and curves through them: differences run by run, and where they change sign.

Run r of every point of a plan draws the same random numbers, so two points are compared run by run: effects
of the channel common to both cancel in the difference, and the interval is that of the differences (common
random numbers; Law, Simulation Modeling and Analysis, section 11.2). Between the values of an axis, curves
are straight lines through each run.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

from crossfade._crossfade import student_quantile
from crossfade.results.metrics import metric_of
from crossfade.results.points import Point

COVERAGE = 0.95

# Two roots of a quadratic that are closer than this share of a line count as one double root.
ROUNDING = 1e-6


def each_of(statements: int) -> float:
    """Coverage that each of several intervals needs for all to hold together with 95 % (Bonferroni)."""
    return 1.0 - (1.0 - COVERAGE) / max(statements, 1)


Verdict = Literal["higher", "lower", "equal", "too close to call", "cannot tell"]


def _samples(point: Point, metric: str) -> list[float]:
    """A metric in each run, NaN where it is undefined.

    For a ratio of two quantities that vary from run to run (energy per packet), the value of a run is the
    ratio over all runs plus the run's linearised contribution to it, which gives the interval of the delta
    method (``of_ratio`` of the core).
    """
    own = point.samples(metric)
    ratio = found.ratio if (found := metric_of(metric)) else None
    if ratio is None:
        return own
    part, dot, _ = metric.rpartition(".")
    parts = [point.samples(f"{part}{dot}{name}") for name in ratio["over"]]
    over = [math.fsum(cells) for cells in zip(*parts, strict=True)]
    divided = (
        point.samples(f"{part}{dot}{ratio['of']}")
        if ratio["of"] is not None
        else [value * weight if weight else 0.0 for value, weight in zip(own, over, strict=True)]
    )
    pairs = [
        pair for pair in zip(divided, over, strict=True) if math.isfinite(pair[0]) and math.isfinite(pair[1])
    ]
    total = math.fsum(weight for _, weight in pairs)
    if not pairs or total <= 0.0 or len({weight for _, weight in pairs}) == 1:
        return own
    quotient, mean = math.fsum(of for of, _ in pairs) / total, total / len(pairs)
    return [quotient + (of - quotient * weight) / mean for of, weight in zip(divided, over, strict=True)]


@dataclass(frozen=True)
class Sample:
    """A metric at a point, or a difference of two: its value by number of the run, or one exact value.

    Runs in which the metric is undefined are left out. Sums and differences are taken over the runs that both
    operands have; an exact operand is added to every run of the other.

    For completion times, ``unfinished`` are the runs with flows that had not finished, which count with the
    time that they had, and ``seen`` is the longest time for which a flow was observed, by run. A difference
    ``cannot_rank`` its operands if flows were unfinished and the observation times of the two differ.
    """

    values: Mapping[int, float]
    is_exact: bool = False
    unfinished: frozenset[int] = frozenset()
    seen: Mapping[int, float] = field(default_factory=dict)
    cannot_rank: bool = False

    @classmethod
    def exact(cls, value: float) -> Sample:
        """Sample of one value without randomness; without any value for NaN."""
        return cls({} if math.isnan(value) else {0: value}, is_exact=True)

    @classmethod
    def of(cls, point: Point, metric: str) -> Sample:
        """Sample of a metric at a point: of the whole network, or of a flow or link named in front."""
        if point.runs == 0:
            return cls.exact(point.value(metric))
        # Values are keyed by the number of the run, since incomplete results may lack some runs.
        runs = [row.run for row in point.rows]
        by_run = zip(runs, _samples(point, metric), strict=True)
        values = {run: value for run, value in by_run if not math.isnan(value)}
        part, dot, last = metric.rpartition(".")
        if not last.startswith("completion_time"):
            return cls(values)
        left, seen = (
            dict(zip(runs, point.samples(f"{part}{dot}{name}"), strict=True))
            for name in ("flows_unfinished", "longest_observation_s")
        )
        unfinished = frozenset(run for run, number in left.items() if number > 0.0)
        # If an unfinished run lacks the quantile, the mean over the other runs cannot be ranked.
        return cls(values, False, unfinished, seen, not unfinished <= values.keys())

    @cached_property
    def mean(self) -> float:
        """The mean over the runs; NaN if there are none."""
        return math.fsum(self.values.values()) / len(self.values) if self.values else math.nan

    @cached_property
    def variance_of_mean(self) -> float:
        """The estimated variance of the mean: 0 for an exact value, infinite for fewer than two runs."""
        if self.is_exact:
            return 0.0
        if (n := len(self.values)) < 2:
            return math.inf
        return math.fsum((value - self.mean) ** 2 for value in self.values.values()) / (n - 1) / n

    def half_width(self, coverage: float = COVERAGE) -> float:
        """Half-width of the two-sided Student interval of the mean: 0 if exact, infinite for fewer than two
        runs.
        """
        if self.variance_of_mean in (0.0, math.inf):
            return self.variance_of_mean
        return student_quantile(len(self.values) - 1, coverage) * math.sqrt(self.variance_of_mean)

    def ci95(self, coverage: float = COVERAGE) -> float | None:
        """Half-width of the interval as in results: None for an exact value and for fewer than two runs."""
        half = self.half_width(coverage)
        return None if self.is_exact or math.isinf(half) else half

    def verdict(self, coverage: float = COVERAGE) -> Verdict:
        """Side of 0 on which the interval lies.

        ``equal`` means 0 in every run, which more runs would not change; for a single run it is ``cannot
        tell``.
        """
        half = self.half_width(coverage)
        if math.isinf(half) or math.isnan(self.mean) or self.cannot_rank:
            return "cannot tell"
        if self.unfinished and self.mean == half == 0.0:
            return "cannot tell"  # equal only as far as observed
        if abs(self.mean) > half:
            return "higher" if self.mean > 0.0 else "lower"
        return "equal" if self.mean == half == 0.0 else "too close to call"

    def within(self, runs: Container[int]) -> Sample:
        """This sample restricted to some runs; an exact value stays as it is."""
        if self.is_exact:
            return self
        values = {run: value for run, value in self.values.items() if run in runs}
        unfinished = frozenset(run for run in self.unfinished if run in runs)
        return replace(self, values=values, unfinished=unfinished)

    def __add__(self, other: Sample | float) -> Sample:
        if not isinstance(other, Sample):
            other = Sample.exact(other)
        if other.is_exact or self.is_exact:
            of_runs, exact = (self, other) if other.is_exact else (other, self)
            shifted = {run: value + exact.mean for run, value in of_runs.values.items() if exact.values}
            return replace(of_runs, values=shifted)
        common = self.values.keys() & other.values.keys()
        unfinished = (self.unfinished | other.unfinished) & common
        differ = any(self.seen.get(run) != other.seen.get(run) for run in unfinished)
        return Sample(
            {run: self.values[run] + other.values[run] for run in sorted(common)},
            unfinished=unfinished,
            seen=self.seen,
            cannot_rank=differ or self.cannot_rank or other.cannot_rank,
        )

    def __neg__(self) -> Sample:
        return replace(self, values={run: -value for run, value in self.values.items()})

    def __sub__(self, other: Sample | float) -> Sample:
        return self + -other


@dataclass(frozen=True)
class Crossing:
    """Range of an axis in which a curve is not told apart from 0, or two curves from each other.

    Attributes
    ----------
    x : float or None
        Place where the curve changes sign; None if it only touches 0, or never differs from 0 significantly.
    low, high : float or None
        Ends of the interval of the crossing, both equal to ``x`` if it is exact; None for an end that reaches
        the end of the axis.
    before, after : str or None
        Side of 0 on which the curve lies before and after the range, "higher" or "lower"; None if the range
        reaches the end of the axis.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.curves.Crossing(2.0, 1.5, 2.5, "higher", "lower").contains(2.4)
    True
    """

    x: float | None
    low: float | None
    high: float | None
    before: Verdict | None
    after: Verdict | None

    def contains(self, x: float) -> bool:
        """True if the interval contains a place on the axis.

        Parameters
        ----------
        x : float
            A place on the axis.

        Returns
        -------
        bool
        """
        return (self.low is None or self.low <= x) and (self.high is None or x <= self.high)


class Curve:
    """A quantity along an axis: samples at rising ``xs``, with straight lines between (over log x if
    ``log``).

    Each line is drawn through every run, so that its interval accounts for the correlation of neighbouring
    points. The curve is broken at a sample without a value.
    """

    def __init__(
        self, xs: Sequence[float], samples: Sequence[Sample], log: bool = False, coverage: float = COVERAGE
    ) -> None:
        self.xs = list(xs)
        self._log = log
        pairs = pairwise(samples)
        self._lines = [_Line.between(first, second, coverage) for first, second in pairs]

    def at(self, x: float) -> tuple[float, float]:
        """Mean and half-width of the interval at a place between two values of the axis; NaN where the curve
        is broken.
        """
        index = min(max(bisect_right(self.xs, x) - 1, 0), len(self._lines) - 1)
        start, end = (self._scaled(x) for x in self.xs[index : index + 2])
        t = (self._scaled(x) - start) / (end - start)
        line = self._lines[index]
        return (math.nan, math.nan) if line is None else (line.mean(t), line.half_width(t))

    def middle(self, low: float, high: float) -> float:
        """The place halfway between two places, on the curve's scale."""
        return math.sqrt(low * high) if self._log else (low + high) / 2.0

    def distance(self, low: float, high: float) -> float:
        """Distance of two places: their difference, or with ``log`` that of their logarithms."""
        return self._scaled(high) - self._scaled(low)

    def crossing_at(self, x: float) -> Crossing | None:
        """The crossing whose interval contains a place, or None."""
        return next((crossing for crossing in self.crossings if crossing.contains(x)), None)

    @property
    def breaks(self) -> list[float]:
        """Places between which the sign of the curve and of its interval's ends is constant, in rising order.

        They are the values of the axis, and the places where the mean or an end of the interval is 0.
        """
        ends = (x for crossing in self.crossings for x in (crossing.low, crossing.high) if x is not None)
        return sorted({*self.xs, *self.zeros, *ends})

    @cached_property
    def zeros(self) -> list[float]:
        """Zeros of the mean, in rising order."""
        return sorted({x for index, line in self._unbroken() for x in self._places(index, line.zeros())})

    @cached_property
    def crossings(self) -> list[Crossing]:
        """The ranges in which the interval contains 0, in rising order.

        They are the places that a test at the level of the interval would not reject as zeros (Fieller, J.
        Royal Statistical Society B 16(2), 1954): in 95 % of repeated experiments the true crossing lies in
        its range.
        """
        return [crossing for stretch in self._stretches() for crossing in self._crossings_of(*stretch)]

    def _crossings_of(self, first: int, last: int) -> Iterator[Crossing]:
        """Crossings on lines ``first`` to ``last``, an unbroken stretch."""
        start, end = self.xs[first], self.xs[last + 1]
        ranges: list[tuple[float, float]] = []
        for index, line in self._unbroken():
            if first <= index <= last:
                for low, high in line.ranges():
                    x_low, x_high = self._places(index, (low, high))
                    if ranges and ranges[-1][1] >= x_low:
                        ranges[-1] = (ranges[-1][0], max(x_high, ranges[-1][1]))
                    else:
                        ranges.append((x_low, x_high))
        edges = [start, *(x for both in ranges for x in both), end]
        for number, (low, high) in enumerate(ranges):
            # Between two ranges the curve does not change sign, so any place there tells its side.
            before = self._side(edges[2 * number], low) if low > start else None
            after = self._side(high, edges[2 * number + 3]) if high < end else None
            zeros = [x for x in self.zeros if low <= x <= high]
            crosses = before != after if before and after else bool(before or after) and len(zeros) % 2 == 1
            yield Crossing(
                x=zeros[len(zeros) // 2] if crosses else None,
                low=low if before else None,
                high=high if after else None,
                before=before,
                after=after,
            )

    def _side(self, low: float, high: float) -> Verdict:
        return "higher" if self.at(self.middle(low, high))[0] > 0.0 else "lower"

    def _unbroken(self) -> Iterator[tuple[int, _Line]]:
        return ((index, line) for index, line in enumerate(self._lines) if line is not None)

    def _stretches(self) -> Iterator[tuple[int, int]]:
        """Indices of the first and last line of every stretch without a break."""
        first = None
        for index, line in enumerate([*self._lines, None]):
            if line is not None and first is None:
                first = index
            elif line is None and first is not None:
                yield first, index - 1
                first = None

    def _places(self, index: int, shares: Sequence[float]) -> list[float]:
        """Places on the axis at shares (0 to 1) of a line; shares 0 and 1 are exactly its two samples."""
        start, end = self.xs[index], self.xs[index + 1]
        inside = [self._scaled(start) + t * (self._scaled(end) - self._scaled(start)) for t in shares]
        return [
            start if t == 0.0 else end if t == 1.0 else math.exp(u) if self._log else u
            for t, u in zip(shares, inside, strict=True)
        ]

    def _scaled(self, x: float) -> float:
        return math.log(x) if self._log else x


@dataclass(frozen=True)
class _Line:
    """Line between two samples: means, variances of the means, their covariance, Student's quantile."""

    means: tuple[float, float]
    variances: tuple[float, float]
    covariance: float
    quantile: float

    @classmethod
    def between(cls, first: Sample, second: Sample, coverage: float) -> _Line | None:
        if not (first.values and second.values):
            return None
        sizes = [len(sample.values) for sample in (first, second) if not sample.is_exact]
        return cls(
            means=(first.mean, second.mean),
            variances=(first.variance_of_mean, second.variance_of_mean),
            covariance=_covariance_of_means(first, second),
            quantile=student_quantile(min(sizes) - 1, coverage) if sizes and min(sizes) > 1 else 0.0,
        )

    def mean(self, t: float) -> float:
        return (1.0 - t) * self.means[0] + t * self.means[1]

    def half_width(self, t: float) -> float:
        if math.inf in self.variances:
            return math.inf
        first, second = self.variances
        variance = (1.0 - t) ** 2 * first + 2.0 * t * (1.0 - t) * self.covariance + t**2 * second
        return self.quantile * math.sqrt(max(variance, 0.0))  # rounding may leave a negative variance

    def zeros(self) -> list[float]:
        """Zeros of the mean, as shares (0 to 1) of the line; none if the mean is zero everywhere."""
        first, second = self.means
        if first == second or first * second > 0.0:
            return []
        return [first / (first - second)]

    def ranges(self) -> list[tuple[float, float]]:
        """Parts of the line, in shares (0 to 1), whose interval contains 0: between roots of mean(t)^2 =
        half_width(t)^2.
        """
        if math.inf in self.variances:
            return [(0.0, 1.0)]
        (mean, slope), (first, second) = (self.means[0], self.means[1] - self.means[0]), self.variances
        points = [(t, t) for t in self.zeros()]
        if first == second == 0.0:
            return points if mean or slope else [(0.0, 1.0)]
        square = self.quantile**2
        roots = _roots(
            slope**2 - square * (first - 2.0 * self.covariance + second),
            2.0 * mean * slope - 2.0 * square * (self.covariance - first),
            mean**2 - square * first,
        )
        # Zeros are among the ends: if the width is 0 there too, rounding moves the double root beside the
        # zero, and the piece between is not a gap.
        ends = sorted({0.0, 1.0, *self.zeros(), *(t for t in roots if 0.0 < t < 1.0)})
        inside = [
            (low, high)
            for low, high in pairwise(ends)
            if high - low < ROUNDING
            or abs(self.mean(middle := (low + high) / 2.0)) <= self.half_width(middle)
        ]
        return sorted(inside + points)


def _covariance_of_means(first: Sample, second: Sample) -> float:
    """Covariance of two means over runs of which some are common.

    If both have the same runs, it is the covariance over runs divided by their number. Its magnitude never
    exceeds what the two variances allow, however few runs are common.
    """
    if first.is_exact or second.is_exact:
        return 0.0
    common = first.values.keys() & second.values.keys()
    pairs = [
        sample if len(sample.values) == len(common) else sample.within(common) for sample in (first, second)
    ]
    spread = math.sqrt(pairs[0].variance_of_mean * pairs[1].variance_of_mean)
    if len(common) < 2 or spread == 0.0:
        return 0.0
    products = math.fsum(
        (pairs[0].values[run] - pairs[0].mean) * (pairs[1].values[run] - pairs[1].mean) for run in common
    )
    correlation = max(-1.0, min(1.0, products / (len(common) - 1) / len(common) / spread))
    shared = len(common) / math.sqrt(len(first.values) * len(second.values))
    return correlation * shared * math.sqrt(first.variance_of_mean * second.variance_of_mean)


def _roots(a: float, b: float, c: float) -> list[float]:
    """The real roots of a t^2 + b t + c, without cancellation."""
    if a == 0.0:
        return [-c / b] if b != 0.0 else []
    square = b * b - 4.0 * a * c
    if square < 0.0:
        return []
    half = -(b + math.copysign(math.sqrt(square), b)) / 2.0
    return [half / a, c / half] if half != 0.0 else [0.0]
