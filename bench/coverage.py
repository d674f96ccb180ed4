"""Do 95 % intervals contain the truth in 95 % of experiments? python bench/coverage.py [REPETITIONS]

An experiment is a scenario under a seed of its own; the truth comes from the exact analysis of the same
scenario. Reno with K = 1 against NewReno with K = 3 on independent losses: their curves cross near 3 %. A run
is 4000 slots after a warm-up of 1000, which makes the cold start immaterial; the first line checks that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import crossfade as cf
from crossfade.paired import Sample

METRIC = "goodput_bps"
LINK = """
schema = 1
run = { duration = "5000 slots", warmup = "1000 slots", runs = 10 }
channel = { model = "iid", p_e = 0.03 }
link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
tcp = { variant = "reno", w_max = 12, rto = { fixed = "100 slots" } }

[sweep]
"tcp.variant,tcp.dupthresh" = [["reno", 1], ["newreno", 3]]
"""
LOSSES = {"channel.p_e": [0.015, 0.025, 0.04, 0.07]}
PRECISIONS = ["3 %", "2.5 %", "2 %"]


@dataclass(frozen=True)
class Coverage:
    """In how many experiments the intervals of one kind contain the truth."""

    what: str
    runs: float
    experiments: int
    covered: int

    @property
    def share(self) -> float:
        """The share of experiments in which the truth is covered."""
        return self.covered / self.experiments


def coverages(experiments: int) -> Iterator[Coverage]:
    """All kinds of intervals, each in so many experiments."""
    yield from of_means("10 runs", experiments, runs=10)
    for precision in PRECISIONS:
        yield from of_means(f"precision {precision}", experiments, precision=precision)
    yield of_crossings(experiments)


def of_means(
    name: str, experiments: int, runs: int | None = None, precision: str | None = None
) -> Iterator[Coverage]:
    """The intervals of two means and of their paired difference."""
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
    """The interval of the crossing, against that of the exact curves on the same values of p_e."""
    (truth,) = (at.crossing.x for at in _compared(methods=["analysis"]).crossings)
    assert truth is not None
    covered = 0
    for seed in range(experiments):
        crossings = _compared(seed=seed, methods=["simulation"]).crossings
        covered += any(at.crossing.contains(truth) for at in crossings)
    return Coverage("crossing, 10 runs", 10, experiments, covered)


def _compared(**options: object) -> cf.Comparison:
    return cf.compare(LINK, "tcp.variant,tcp.dupthresh", over=LOSSES, cache=False, **options)  # type: ignore[arg-type]


def cold_start(runs: int) -> str:
    """By how much the mean of runs as short as these differs from the exact value."""
    results = cf.run(LINK, runs=runs, methods=["analysis", "simulation"], cache=False)
    lines = []
    for exact, simulated in zip(results.points[::2], results.points[1::2], strict=True):
        ratio = Sample.of(simulated, METRIC)
        bias, width = (value / exact.value(METRIC) for value in (ratio.mean, ratio.half_width()))
        lines.append(f"{exact.axes['tcp.variant']} {bias - 1.0:+.3%} (± {width:.3%})")
    return f"{runs} runs less exact: {', '.join(lines)}"


def main() -> None:
    experiments = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(cold_start(20 * experiments))
    print(f"{'interval':<34}{'runs':>6}  contains the truth in")
    for found in coverages(experiments):
        print(
            f"{found.what:<34}{found.runs:>6.1f}  {found.covered} of {found.experiments} ({found.share:.1%})"
        )


if __name__ == "__main__":
    main()
