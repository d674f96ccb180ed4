"""Student intervals, compared with two independent computations: scipy and the core."""

from __future__ import annotations

import math

import pytest

import crossfade as cf
from crossfade._crossfade import student_quantile
from crossfade.comparison.paired import Sample
from tests.conftest import SMALL
from tests.later import stats


def mean_and_interval(values: list[float]) -> tuple[float, float | None]:
    sample = Sample(dict(enumerate(values)))
    return sample.mean, sample.ci95()


@pytest.mark.parametrize("degrees", [*range(1, 40), 99, 100, 999])
def test_the_quantile_is_that_of_scipy(degrees: int) -> None:
    assert student_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-10)
    assert student_quantile(degrees, 0.5) == pytest.approx(stats.t.ppf(0.75, degrees), rel=1e-10)


@pytest.mark.parametrize("runs", [2, 3, 10, 11])
def test_the_interval_is_that_of_the_core(runs: int) -> None:
    point = cf.run(SMALL, runs=runs).points[0]
    for name, estimate in point.metrics.items():
        samples = point.samples(name)
        assert len(samples) == runs
        # For a ratio of sums over all runs, a run's value is the ratio plus the run's contribution.
        sample = Sample.of(point, name)
        mean, ci95 = sample.mean, sample.ci95()
        assert mean == pytest.approx(estimate.value, rel=1e-12)
        if estimate.ci95 is None:
            # For rare counts the core gives exact limits of a Poisson count, one-sided for 0.
            if name.endswith("_per_slot"):
                continue
            count = round(sum(samples))
            low = stats.chi2.ppf(0.025, 2 * count) / 2 if count else 0.0
            high = stats.chi2.ppf(0.975 if count else 0.95, 2 * count + 2) / 2
            assert estimate.low == pytest.approx(low / runs, rel=1e-9)
            assert estimate.high == pytest.approx(high / runs, rel=1e-9)
        else:
            assert ci95 == pytest.approx(estimate.ci95, rel=1e-9, abs=1e-15)


def test_one_value_has_no_interval() -> None:
    assert mean_and_interval([0.5]) == (0.5, None)


def test_a_metric_that_is_undefined_is_nan() -> None:
    point = cf.run(SMALL, set={"channel": {"model": "none", "p_e": None}}, runs=2).points[0]
    assert all(math.isnan(value) for value in point.samples("no_such_metric"))


def test_samples_are_those_of_their_point() -> None:
    over = {"channel.p_e": [0.01, 0.1], "tcp.w_max": [6, 24]}
    results = cf.run(SMALL, over=over)
    for point in results.points:
        alone = cf.run(SMALL, set=point.axes, cache=False).points[0]
        for name in alone.metrics:
            assert point.samples(name) == alone.samples(name)


def test_samples_with_a_precision_are_those_of_the_estimate() -> None:
    point = cf.run(SMALL, precision="3 %").points[0]
    mean, ci95 = mean_and_interval(point.samples("goodput_bps"))
    assert mean == pytest.approx(point.metrics["goodput_bps"].value, rel=1e-12)
    assert ci95 == pytest.approx(point.metrics["goodput_bps"].ci95, rel=1e-9)
