"""Measure the coverage of 95 % intervals: the share of experiments whose interval contains the exact value.

Usage: python bench/coverage.py [EXPERIMENTS] [--classes]      EXPERIMENTS per kind of interval, default 1000

Without ``--classes`` an experiment simulates a scenario with a seed of its own, and the exact analysis of the
scenario gives the true value: Reno with duplicate ACK threshold K = 1 against NewReno with K = 3 on
independent losses, whose curves cross near a loss rate of 3 %. A run has 4000 slots after a warm-up of 1000,
so that the cold start does not matter; the first line checks this. The output is the table of
docs/comparing.md.

With ``--classes`` runs are drawn from distributions for which Student's interval is not made (rare counts,
shares near 1, skewed runs). The output is the table of docs/intervals.md, in seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import crossfade as cf
import crossfade._crossfade as core
from crossfade.comparison.paired import Sample

METRIC = "goodput_bps"
LINK = """
schema = 2
run = { duration = "5000 slots", warmup = "1000 slots", runs = 10 }
channel = { model = "iid", p_e = 0.03 }
link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
tcp = { flavour = "paper", variant = "reno", w_max = 12, rto = { fixed = "100 slots" } }

[sweep]
"tcp.variant,tcp.dupthresh" = [["reno", 1], ["newreno", 3]]
"""
LOSSES = {"channel.p_e": [0.015, 0.025, 0.04, 0.07]}
PRECISIONS = ["3 %", "2.5 %", "2 %"]


@dataclass(frozen=True)
class Coverage:
    """Number of experiments in which the interval of one kind contains the true value."""

    what: str
    runs: float
    experiments: int
    covered: int

    @property
    def share(self) -> float:
        """Share of experiments whose interval contains the true value."""
        return self.covered / self.experiments


def coverages(experiments: int) -> Iterator[Coverage]:
    """Coverage of each kind of interval, from so many experiments."""
    yield from of_means("10 runs", experiments, runs=10)
    for precision in PRECISIONS:
        yield from of_means(f"precision {precision}", experiments, precision=precision)
    yield of_crossings(experiments)


def of_means(
    name: str, experiments: int, runs: int | None = None, precision: str | None = None
) -> Iterator[Coverage]:
    """Coverage of the intervals of two means and of their paired difference."""
    truths = [Sample.of(point, METRIC) for point in cf.run(LINK, methods=["analysis"], cache=False).points]
    found = []
    for seed in range(experiments):
        results = cf.run(LINK, runs=runs, precision=precision, seed=seed, methods=["simulation"], cache=False)
        found.append([Sample.of(point, METRIC) for point in results.points])

    def coverage(what: str, of: Callable[[list[Sample]], Sample]) -> Coverage:
        truth, samples = of(truths).mean, [of(samples) for samples in found]
        covered = sum(abs(sample.mean - truth) <= sample.half_width() for sample in samples)
        mean_runs = sum(len(sample.values) for sample in samples) / experiments
        return Coverage(f"{what}, {name}", mean_runs, experiments, covered)

    yield coverage("mean of Reno", lambda samples: samples[0])
    yield coverage("mean of NewReno", lambda samples: samples[1])
    yield coverage("paired difference", lambda samples: samples[0] - samples[1])


def of_crossings(experiments: int) -> Coverage:
    """Coverage of the interval of the crossing; the exact curves have the same values of p_e."""
    (truth,) = (at.crossing.x for at in _compared(methods=["analysis"]).crossings)
    assert truth is not None
    covered = 0
    for seed in range(experiments):
        crossings = _compared(seed=seed, methods=["simulation"]).crossings
        covered += any(at.crossing.contains(truth) for at in crossings)
    return Coverage("crossing, 10 runs", 10, experiments, covered)


def _compared(**options: object) -> cf.curves.Comparison:
    return cf.compare(LINK, "tcp.variant,tcp.dupthresh", over=LOSSES, cache=False, **options)  # type: ignore[arg-type]


def cold_start(runs: int) -> str:
    """Relative difference between the mean of short runs and the exact value, in words."""
    results = cf.run(LINK, runs=runs, methods=["analysis", "simulation"], cache=False)
    lines = []
    for exact, simulated in zip(results.points[::2], results.points[1::2], strict=True):
        ratio = Sample.of(simulated, METRIC)
        bias, width = (value / exact.value(METRIC) for value in (ratio.mean, ratio.half_width()))
        lines.append(f"{exact.axes['tcp.variant']} {bias - 1.0:+.3%} (± {width:.3%})")
    return f"{runs} runs less exact: {', '.join(lines)}"


RUNS = 10
Draw = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]


@dataclass(frozen=True)
class Class:
    """A distribution of a metric over runs: how to draw runs, and the true mean."""

    kind: str
    what: str
    metric: str
    draw: Draw
    truth: float
    # Number of transmissions per run, if the metric is a rate.
    chances: float = 0.0


def events(total: float, size: float = 1.0) -> Draw:
    """Counts per run, with a mean of ``total`` events in all ten runs, in clusters of mean ``size``."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        clusters = rng.poisson(total / size / RUNS, shape)
        if size == 1.0:
            return clusters.astype(float)
        more = rng.negative_binomial(np.maximum(clusters, 1), 1.0 / size)
        return np.where(clusters > 0, clusters + more, 0).astype(float)

    return draw


def rate(total: float, chances: float) -> Draw:
    """Rates per run: ``total`` events in all ten runs, over ``chances`` transmissions per run."""
    return lambda rng, shape: events(total)(rng, shape) / chances


def exponential(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Exponential values with mean 1."""
    return rng.exponential(1.0, shape)


def log_normal(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Log-normal values with median 1; the logarithm has a standard deviation of 0.5."""
    return rng.lognormal(0.0, 0.5, shape)


def chi_square(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Chi-square values with one degree of freedom."""
    return rng.chisquare(1.0, shape)


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Normal values with mean 10 and variance 1."""
    return rng.normal(10.0, 1.0, shape)


def share(events_a_run: float, loss: float) -> Draw:
    """Shares near 1: each of a Poisson number of events per run takes ``loss`` away."""
    return lambda rng, shape: np.maximum(1.0 - loss * rng.poisson(events_a_run, shape), 0.0)


def quantile(of: Draw, packets: int, p: float) -> Draw:
    """The p quantile of the delays of ``packets`` packets in each run."""
    return lambda rng, shape: np.quantile(of(rng, (shape[0] * shape[1], packets)), p, axis=1).reshape(shape)


def jain(flows: int) -> Draw:
    """Jain's index of flows whose goodputs have a standard deviation of a tenth of their mean."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        x = np.maximum(rng.normal(1.0, 0.1, (*shape, flows)), 0.01)
        return np.asarray(x.sum(2) ** 2 / (flows * (x**2).sum(2)))

    return draw


def classes(rng: np.random.Generator) -> Iterator[Class]:
    """All classes; if the true mean has no closed form, it comes from up to a million runs."""

    def of(kind: str, what: str, metric: str, draw: Draw, runs: int = 1_000_000) -> Class:
        return Class(kind, what, metric, draw, float(draw(rng, (runs // RUNS, RUNS)).mean()))

    for total in (0.2, 0.65, 1.5):
        sent = 1e4
        what = f"losses over 10,000 transmissions, {total:g} expected in all runs"
        yield Class(
            "rates without an event", what, "frame_error_rate", rate(total, sent), total / RUNS / sent, sent
        )
    for total in (0.65, 2.0, 3.2, 5.0, 10.0, 20.0, 28.0, 40.0):
        yield Class("rare counts", f"{total:g} expected", "spurious_timeouts", events(total), total / RUNS)
    for total in (25.0, 50.0, 100.0):
        what = f"{total:g} expected, in clusters of 5"
        yield Class("rare counts", what, "spurious_timeouts", events(total, 5.0), total / RUNS)
    for often, loss in ((0.1, 0.01), (0.3, 0.01), (1.0, 0.01), (3.0, 0.01)):
        what = f"{often:g} events a run, each takes {loss:.0%}"
        yield Class("shares near 1", what, "link_utilisation", share(often, loss), 1.0 - often * loss)
    yield of("shares near 1", "Jain's index of 2 flows", "jain_fairness", jain(2))
    yield of("shares near 1", "Jain's index of 5 flows", "jain_fairness", jain(5))
    yield Class("skewed runs", "exponential", "completion_time_s", exponential, 1.0)
    yield Class("skewed runs", "chi-square, one degree", "completion_time_s", chi_square, 1.0)
    yield Class("skewed runs", "log-normal, 0.5", "completion_time_s", log_normal, float(np.exp(0.125)))
    yield Class(
        "skewed runs", "5 + exponential", "completion_time_s", lambda *at: 5.0 + exponential(*at), 6.0
    )
    yield of(
        "quantiles", "p99 of 200 exponential delays", "rtt_p99_s", quantile(exponential, 200, 0.99), 200_000
    )
    yield of("quantiles", "p95 of 40 log-normal delays", "rtt_p95_s", quantile(log_normal, 40, 0.95), 200_000)
    yield Class(
        "none of these", "normal", "goodput_bps", lambda rng, shape: rng.normal(10.0, 1.0, shape), 10.0
    )


def of_classes(experiments: int) -> Iterator[str]:
    """Lines of the table: coverage of Student's interval and of the one used, and their ratio of widths."""
    rng = np.random.default_rng(1)
    yield "class,runs of,Student,used here,width"
    for one in classes(rng):
        runs = one.draw(rng, (experiments, RUNS)).reshape(-1)
        names, columns = [one.metric], [runs]
        if one.chances:
            names += ["frame_errors", "frame_transmissions"]
            columns += [np.round(runs * one.chances), np.full(len(runs), one.chances)]
        starts = np.arange(experiments) * RUNS
        values = np.ascontiguousarray(np.stack(columns, axis=1))
        means, _, low, high, *_ = core.estimates(values, starts, names, [0])
        student = core.estimates(values[:, :1].copy(), starts, ["goodput_bps"], [0])[1][:, 0]
        before = np.abs(means[:, 0] - one.truth) <= student
        after = (low[:, 0] <= one.truth) & (one.truth <= high[:, 0])
        drawn = student > 0.0
        width = np.median((high - low)[drawn, 0] / (2.0 * student[drawn]))
        yield f'"{one.kind}","{one.what}",{before.mean():.1%},{after.mean():.1%},{width:.2f}'


def main() -> None:
    """Print a line per kind of interval, or the table of classes."""
    numbers = [word for word in sys.argv[1:] if word != "--classes"]
    experiments = int(numbers[0]) if numbers else 1000
    if "--classes" in sys.argv:
        for line in of_classes(experiments):
            print(line, flush=True)
        return
    print(cold_start(20 * experiments))
    print(f"{'interval':<34}{'runs':>6}  contains the truth in")
    for found in coverages(experiments):
        print(
            f"{found.what:<34}{found.runs:>6.1f}  {found.covered} of {found.experiments} ({found.share:.1%})"
        )


if __name__ == "__main__":
    main()
