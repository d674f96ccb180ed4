"""Differences run by run, and crossings of curves: closed forms, scipy, and brute force."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from crossfade.comparison.paired import Crossing, Curve, Sample, each_of
from tests.later import stats

VALUES = st.floats(-1e3, 1e3, allow_nan=False).map(lambda value: round(value, 3))
RUNS = st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=30)


def sample(*values: float) -> Sample:
    return Sample(dict(enumerate(values)))


@given(RUNS)
def test_a_difference_is_the_paired_t_test(runs: list[tuple[float, float]]) -> None:
    first, second = zip(*runs, strict=True)
    difference = sample(*first) - sample(*second)
    apart = np.array(first) - np.array(second)
    assume(np.ptp(apart) > 1e-2)
    test = stats.ttest_rel(first, second)
    low, high = test.confidence_interval(0.95)
    assert difference.mean - difference.half_width() == pytest.approx(low, rel=1e-6, abs=1e-8)
    assert difference.mean + difference.half_width() == pytest.approx(high, rel=1e-6, abs=1e-8)
    if abs(test.pvalue - 0.05) > 1e-9:
        expected = "too close to call" if test.pvalue > 0.05 else "higher" if apart.mean() > 0.0 else "lower"
        assert difference.verdict() == expected


@given(RUNS, VALUES)
def test_differences_are_antisymmetric_and_know_no_origin(
    runs: list[tuple[float, float]], shift: float
) -> None:
    first, second = (sample(*values) for values in zip(*runs, strict=True))
    there, back = first - second, second - first
    assert (there.mean, there.half_width()) == (-back.mean, back.half_width())
    swapped = {"higher": "lower", "lower": "higher"}
    assert back.verdict() == swapped.get(there.verdict(), there.verdict())
    moved = (first + shift) - (second + shift)
    assert moved.mean == pytest.approx(there.mean, abs=1e-9)
    assert moved.half_width() == pytest.approx(there.half_width(), rel=1e-6, abs=1e-6)


def test_runs_without_a_value_are_left_out_in_pairs() -> None:
    first = Sample({0: 1.0, 1: 2.0, 3: 4.0, 4: 9.0})
    second = Sample({0: 0.5, 2: 7.0, 3: 3.0, 4: 8.0})
    assert (first - second).values == {0: 0.5, 3: 1.0, 4: 1.0}
    # With a precision, points have different numbers of runs; only common runs are paired.
    assert (sample(1.0, 2.0, 3.0) - sample(1.0, 1.0)).values == {0: 0.0, 1: 1.0}


def test_what_is_exact_shifts_every_run() -> None:
    runs, exact = sample(1.0, 2.0, 3.0), Sample.exact(0.5)
    assert (runs - exact).mean == 1.5
    assert (exact - runs).mean == -1.5
    assert (runs - exact).half_width() == runs.half_width()
    both = exact - Sample.exact(0.25)
    assert (both.mean, both.half_width(), both.ci95(), both.verdict()) == (0.25, 0.0, None, "higher")


def test_a_single_run_cannot_tell() -> None:
    difference = sample(5.0) - sample(1.0)
    assert (difference.mean, difference.ci95(), difference.verdict()) == (4.0, None, "cannot tell")
    nothing = sample(5.0) - Sample({7: 1.0})
    assert math.isnan(nothing.mean)
    assert nothing.verdict() == "cannot tell"


def test_runs_that_are_all_equal_are_equal() -> None:
    assert (sample(1.0, 2.0) - sample(1.0, 2.0)).verdict() == "equal"
    assert (sample(2.0, 3.0) - sample(1.0, 2.0)).verdict() == "higher"
    assert sample(-1e-12, 1e-12).verdict() == "too close to call"


def test_together_is_bonferroni() -> None:
    values = [1.0, 2.0, 4.0]
    expected = stats.t.ppf(1.0 - 0.05 / 20.0, 2) * statistics.stdev(values) / math.sqrt(3)
    assert sample(*values).half_width(each_of(10)) == pytest.approx(expected, rel=1e-9)
    assert each_of(1) == 0.95


SLOPES = st.floats(0.01, 100.0)


@given(st.floats(0.01, 0.99), SLOPES, st.booleans())
def test_the_crossing_of_straight_lines_is_exact(place: float, slope: float, rising: bool) -> None:
    xs = [1.0, 2.0, 4.0, 5.0]
    truth = 1.0 + 4.0 * place
    sign = 1.0 if rising else -1.0
    (crossing,) = Curve(xs, [Sample.exact(sign * slope * (x - truth)) for x in xs]).crossings
    assert crossing.x == pytest.approx(truth, rel=1e-9)
    if truth not in xs:
        assert crossing.low == crossing.x == crossing.high
    assert (crossing.before, crossing.after) == (("lower", "higher") if rising else ("higher", "lower"))


def test_lines_over_log_x_cross_where_they_do() -> None:
    xs = [0.001, 0.01, 0.1]
    (crossing,) = Curve(xs, [Sample.exact(math.log(x / 0.004)) for x in xs], log=True).crossings
    assert crossing.x == pytest.approx(0.004, rel=1e-12)


def test_the_interval_of_a_crossing_by_hand() -> None:
    # Runs that differ by the same amount at every place shift the line by up to t(1) * 1 = 12.7062.
    curve = Curve([0.0, 100.0], [sample(-49.0, -51.0), sample(51.0, 49.0)])
    (crossing,) = curve.crossings
    assert crossing.x == pytest.approx(50.0)
    assert (crossing.low, crossing.high) == pytest.approx((50.0 - 12.7062, 50.0 + 12.7062), abs=1e-4)
    assert (crossing.before, crossing.after) == ("lower", "higher")


def test_runs_that_turn_about_the_crossing_leave_no_doubt() -> None:
    # The line of every run crosses 0 at 1; only the slopes differ.
    (crossing,) = Curve([0.0, 3.0], [sample(-10.0, -11.0, -12.0), sample(20.0, 22.0, 24.0)]).crossings
    assert (crossing.low, crossing.x, crossing.high) == pytest.approx((1.0, 1.0, 1.0), abs=1e-6)
    (crossing,) = Curve([0.0, 3.0], [sample(-1.0, -2.0, -3.0), sample(2.0, 4.0, 6.0)]).crossings
    assert crossing == Crossing(None, None, None, None, None)


def test_an_interval_that_reaches_the_end_is_open() -> None:
    rising = [sample(-80.0, -90.0), sample(10.0, 0.0)]  # 5 ± 64 at the end
    (crossing,) = Curve([0.0, 1.0], rising).crossings
    assert crossing.high is None
    assert crossing.after is None


def test_curves_that_meet_without_crossing_touch() -> None:
    xs = [0.0, 1.0, 2.0, 3.0, 4.0]
    samples = [sample(9.0, 9.1), sample(5.0, 5.1), sample(-0.1, 0.2), sample(5.0, 5.1), sample(9.0, 9.1)]
    (crossing,) = Curve(xs, samples).crossings
    assert crossing.x is None
    assert (crossing.before, crossing.after) == ("higher", "higher")
    assert crossing.low is not None
    assert crossing.high is not None
    assert 1.0 < crossing.low < 2.0 < crossing.high < 3.0


def test_curves_that_are_never_told_apart_touch_everywhere() -> None:
    everywhere = [Crossing(None, None, None, None, None)]
    assert Curve([0.0, 1.0], [sample(-1.0, 2.0), sample(-2.0, 3.0)]).crossings == everywhere
    assert Curve([0.0, 1.0], [sample(0.0, 0.0), sample(0.0, 0.0)]).crossings == everywhere
    assert Curve([0.0, 1.0], [sample(7.0), sample(-7.0)]).crossings == everywhere


def test_a_curve_is_broken_where_it_has_no_value() -> None:
    xs = [0.0, 1.0, 2.0, 3.0, 4.0]
    nothing = Sample.exact(math.nan)
    samples = [Sample.exact(-1.0), Sample.exact(1.0), nothing, Sample.exact(1.0), Sample.exact(-3.0)]
    curve = Curve(xs, samples)
    assert [crossing.x for crossing in curve.crossings] == [0.5, 3.25]
    assert math.isnan(curve.at(1.5)[0])


NODES = st.lists(st.lists(VALUES, min_size=3, max_size=6), min_size=2, max_size=5).filter(
    lambda nodes: len({len(node) for node in nodes}) == 1
)


@given(NODES)
@settings(max_examples=settings().max_examples // 2)
def test_ranges_are_where_a_t_test_of_the_interpolated_runs_sees_nothing(nodes: list[list[float]]) -> None:
    xs = [float(x) for x in range(len(nodes))]
    curve = Curve(xs, [sample(*node) for node in nodes])
    ranges = curve.crossings
    # Steps of 0.13: at nodes and at all distances from them.
    for x in np.arange(0.0, xs[-1], 0.13):
        runs = interpolated(nodes, float(x))
        mean, half = curve.at(float(x))
        assert mean == pytest.approx(np.mean(runs), abs=1e-9)
        spread = np.std(runs, ddof=1)
        width = quantile(len(runs) - 1) * spread / math.sqrt(len(runs))
        assert half == pytest.approx(width, rel=1e-6, abs=1e-6)
        if abs(abs(np.mean(runs)) - width) > 1e-6:
            inside = any(crossing.contains(float(x)) for crossing in ranges)
            assert inside == (abs(np.mean(runs)) < width)


@given(NODES)
@settings(max_examples=settings().max_examples // 2)
def test_ranges_are_apart_and_change_sides_as_they_say(nodes: list[list[float]]) -> None:
    curve = Curve([float(x) for x in range(len(nodes))], [sample(*node) for node in nodes])
    for crossing in curve.crossings:
        if crossing.x is not None:
            assert crossing.contains(crossing.x)
            assert curve.at(crossing.x)[0] == pytest.approx(0.0, abs=1e-6)
            assert crossing.before != crossing.after
    for left, right in zip(curve.crossings, curve.crossings[1:], strict=False):
        assert left.high is not None
        assert right.low is not None
        assert left.high < right.low
        assert left.after == right.before


@cache
def quantile(freedom: int) -> float:
    """97.5 % quantile of Student's distribution."""
    return float(stats.t.ppf(0.975, freedom))


def interpolated(nodes: Sequence[Sequence[float]], x: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    at = min(int(x), len(nodes) - 2)
    return (1.0 - (x - at)) * np.array(nodes[at]) + (x - at) * np.array(nodes[at + 1])


def test_means_over_different_numbers_of_runs() -> None:
    """The variance of a mean between two places agrees with many draws of correlated runs."""
    rng = np.random.default_rng(1)
    draws = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], size=(4000, 40))
    means, widths = [], []
    for draw in draws:
        curve = Curve([0.0, 1.0], [sample(*draw[:40, 0]), sample(*draw[:20, 1])])
        mean, half = curve.at(0.4)
        means.append(mean)
        widths.append(half)
    # Half of the runs of the first mean are paired: the covariance is 0.8 * 20 / (20 * 40).
    variance = 0.36 / 40 + 2 * 0.24 * 0.8 / 40 + 0.16 / 20
    assert np.var(means) == pytest.approx(variance, rel=0.07)
    t = stats.t.ppf(0.975, 19)
    assert np.mean(np.square(widths)) == pytest.approx(t**2 * variance, rel=0.02)
