"""Speed of a sweep: what a run costs beyond its simulation, and what a second core gives.

    .venv/bin/python bench/sweep.py [overhead | scaling]

Overhead: sweeps of short runs on one thread, from the scenario to the results. What the process takes of
the CPU minus what the same runs take when they are only made, one after the other, and dropped; in turns,
so that a busy machine blurs the difference but does not shift it. Scaling: the same sweep on one and on two
threads, in turns; runs per second. This needs a machine that is otherwise idle: the first line says how
busy it is.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import crossfade as cf
from crossfade import plans

SCENARIO = """
schema = 1
run = {{ duration = "{slots} slots", runs = {runs} }}
channel = {{ model = "markov", fd_t = 0.01 }}
link = {{ rate = "1.5 Mbit/s", packet_size = "1400 B" }}
tcp = {{ variant = "newreno", w_max = 24, rto = {{ fixed = "100 slots" }} }}
[sweep]
"channel.p_e" = "log:0.001:0.3:50"
"""
POINTS = 50


def sweep(folder: Path, slots: int, runs: int, jobs: int) -> tuple[int, float, float]:
    """A new sweep: its number of runs, and the seconds of the clock and of the CPU that it takes."""
    path = folder / "results.sqlite"
    path.unlink(missing_ok=True)
    began, cpu_began = time.perf_counter(), time.process_time()
    cf.sweep(SCENARIO.format(slots=slots, runs=runs), out=path, jobs=jobs)
    return POINTS * runs, time.perf_counter() - began, time.process_time() - cpu_began


def make(slots: int, runs: int) -> float:
    """The seconds of the CPU that the runs alone take."""
    plan = plans.load(SCENARIO.format(slots=slots, runs=runs))
    tasks = [(point, "simulation", run) for point in range(POINTS) for run in range(runs)]
    began = time.process_time()
    plan.core.make(tasks)
    return time.process_time() - began


def overhead(folder: Path) -> None:
    for slots, runs in ((300, 400), (300, 2000), (3000, 400)):
        alone, extra, ratio = [], [], []
        for _ in range(7):
            alone.append(1e6 * make(slots, runs) / (POINTS * runs))
            count, elapsed, cpu = sweep(folder, slots, runs, jobs=1)
            extra.append(1e6 * cpu / count - alone[-1])
            ratio.append(elapsed / cpu)
        print(
            f"{count:,} runs of {slots:,} slots, {statistics.median(alone):.0f} us each: "
            f"{statistics.median(extra):.1f} us beyond that ({min(extra):.1f} to {max(extra):.1f}); "
            f"clock over CPU {statistics.median(ratio):.2f}"
        )


def scaling(folder: Path) -> None:
    speeds: dict[int, list[float]] = {1: [], 2: []}
    cpus: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(9):
        for jobs in speeds:
            count, elapsed, cpu = sweep(folder, slots=100_000, runs=20, jobs=jobs)
            speeds[jobs].append(count / elapsed)
            cpus[jobs].append(1e3 * cpu / count)
    ratios = [two / one for one, two in zip(speeds[1], speeds[2], strict=True)]
    for jobs in speeds:
        speed, cpu = statistics.median(speeds[jobs]), statistics.median(cpus[jobs])
        print(f"1,000 runs of 100,000 slots on {jobs}: {speed:.1f} a second, {cpu:.3f} ms of CPU a run")
    print(
        f"two over one: {statistics.median(ratios):.3f} times the runs a second "
        f"(median of {len(ratios)} pairs, {min(ratios):.3f} to {max(ratios):.3f})"
    )


def main(parts: list[str]) -> None:
    print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        for part in parts or ["overhead", "scaling"]:
            {"overhead": overhead, "scaling": scaling}[part](Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
