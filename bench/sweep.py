"""Speed of a sweep: CPU time of a run beyond its simulation, and speedup by a second core or a cluster.

Usage: python bench/sweep.py [overhead | scaling | cluster]

overhead: sweeps of short runs on one thread, from the scenario to the results file. Prints CPU time in us per
run, less the CPU time of the simulations alone, in turns, so that other work on the cores widens the range
of the difference but does not shift it. scaling: the same sweep on one and on two threads, in turns; prints
runs per second. It needs cores without other work: the first line has their load. cluster: `--cluster local`
with two workers (needs Dask); prints the CPU time per run and per chunk of runs beyond the simulation, in all
processes, and the time of the same sweeps over that of two threads. Without an argument, overhead and scaling
run.
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
from crossfade.sweeps import chunks, engines

SCENARIO = """
schema = 2
run = {{ duration = "{slots} slots", runs = {runs} }}
channel = {{ model = "markov", fd_t = 0.01 }}
link = {{ rate = "1.5 Mbit/s", packet_size = "1400 B" }}
tcp = {{ flavour = "paper", variant = "newreno", w_max = 24, rto = {{ fixed = "100 slots" }} }}
[sweep]
"channel.p_e" = "log:0.001:0.3:50"
"""
POINTS = 50


def sweep(folder: Path, slots: int, runs: int, jobs: int) -> tuple[int, float, float]:
    """Run a new sweep; its number of runs, elapsed seconds and CPU seconds."""
    path = folder / "results.sqlite"
    path.unlink(missing_ok=True)
    began, cpu_began = time.perf_counter(), time.process_time()
    cf.sweep(SCENARIO.format(slots=slots, runs=runs), out=path, jobs=jobs)
    return POINTS * runs, time.perf_counter() - began, time.process_time() - cpu_began


def make(slots: int, runs: int) -> float:
    """CPU seconds of the simulations alone, one after the other, without results file."""
    plan = plans.load(SCENARIO.format(slots=slots, runs=runs))
    tasks = [(point, "simulation", run) for point in range(POINTS) for run in range(runs)]
    began = time.process_time()
    plan.core.make(tasks)
    return time.process_time() - began


def overhead(folder: Path) -> None:
    """Print the CPU time per run beyond its simulation, for three sizes of a sweep."""
    for slots, runs in ((300, 400), (300, 2000), (3000, 400)):
        alone, extra, ratio = [], [], []
        for _ in range(7):
            alone.append(1e6 * make(slots, runs) / (POINTS * runs))
            count, elapsed, cpu = sweep(folder, slots, runs, jobs=1)
            extra.append(1e6 * cpu / count - alone[-1])
            ratio.append(elapsed / cpu)
        print(
            f"{count:,} runs of {slots:,} slots, {statistics.median(alone):.0f} us of CPU each: "
            f"{statistics.median(extra):.1f} us beyond that ({min(extra):.1f} to {max(extra):.1f}); "
            f"clock over CPU {statistics.median(ratio):.2f}"
        )


def scaling(folder: Path) -> None:
    """Print runs per second on one and two threads, and their ratio."""
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


def cluster(folder: Path) -> None:
    """Print the cost per run and per chunk on a local cluster, and its time over that of two threads."""
    import psutil  # comes with Dask

    path = folder / "results.sqlite"
    me = psutil.Process()

    def cpu() -> float:
        times = [process.cpu_times() for process in (me, *me.children())]
        return sum(time.user + time.system for time in times)

    def measure(engine: engines.Engine, slots: int, runs: int) -> tuple[float, float]:
        """Elapsed seconds of a sweep, and its CPU seconds per run beyond the simulation."""
        path.unlink(missing_ok=True)
        alone = make(slots, runs)
        began, cpu_began = time.perf_counter(), cpu()
        cf.sweep(SCENARIO.format(slots=slots, runs=runs), out=path, engine=engine)
        return time.perf_counter() - began, (cpu() - cpu_began - alone) / (POINTS * runs)

    with cf.store.Cluster("local", 2) as two_workers:
        while two_workers.workers < 2:
            time.sleep(0.1)
        extra = [1e6 * measure(two_workers, 300, 1000)[1] for _ in range(5)]
        print(f"cluster: {statistics.median(extra):.0f} us a run beyond its simulation", end=", ")
        most_runs, chunks.MOST_RUNS = chunks.MOST_RUNS, 1
        extra = [1e3 * measure(two_workers, 300, 20)[1] for _ in range(5)]
        chunks.MOST_RUNS = most_runs
        print(f"{statistics.median(extra):.1f} ms a chunk ({min(extra):.1f} to {max(extra):.1f})")
        for slots, runs in ((20_000, 80), (2_000_000, 2)):
            ratios, millis = [], 0.0
            for _ in range(5):
                threads, _ = measure(engines.Threads(2), slots, runs)
                ratios.append(measure(two_workers, slots, runs)[0] / threads)
                millis = 1e3 * make(slots, 1) / POINTS
            print(
                f"{POINTS * runs:,} runs of {slots:,} slots, {millis:.1f} ms each: time over that of two "
                f"threads {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
            )


def main(parts: list[str]) -> None:
    """Run the parts asked for, or overhead and scaling."""
    print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        for part in parts or ["overhead", "scaling"]:
            {"overhead": overhead, "scaling": scaling, "cluster": cluster}[part](Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
