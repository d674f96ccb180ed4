"""Time and peak memory of opening a large results file, as a dataset and as results.

Usage: python bench/open_results.py [POINTS RUNS METRICS]

The default is 10000 points, 100 runs and 45 metrics, a million rows. The program first makes a SQLite file of
this size, with rows in random order as many threads leave them. Each way of opening it then runs in a process
of its own, with the file in the page cache; the line "imports alone" has what the imports take. Prints
elapsed and CPU seconds, and the peak memory in MiB, for each way. If other programs run, CPU seconds are the
more reliable value.
"""

from __future__ import annotations

import random
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import crossfade as cf
from crossfade.results.file import ResultsFile
from crossfade.results.rows import Row

WAYS = {
    "imports alone": "",
    "estimates": "cf.open_results(path)",
    "per run": "cf.open_results(path, per_run=True)",
    "load_results": "cf.store.load(path)",
}
MEASURE = """
import os, resource, sys, time
import crossfade.results.arrays
import crossfade as cf
path = sys.argv[1]
before, times = time.perf_counter(), os.times()
opened = {way}
seconds = time.perf_counter() - before
user, system = (after - then for after, then in zip(os.times()[:2], times[:2]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
cpu = f"{{user:.2f}} s user, {{system:.2f}} s system"
print(f"{name:<14} {{seconds:6.2f}} s ({{cpu}}), {{peak:6.0f}} MiB at the peak")
"""


def make(path: Path, points: int, runs: int, metrics: int) -> None:
    """Write a results file with two axes, and the largest square of at most ``points`` points."""
    side = int(points**0.5)
    names = ["goodput_bps", *(f"metric_{i:02}" for i in range(metrics - 1))]
    ids = [f"{i:032x}" for i in range(side * side)]
    description = {
        "name": "bench",
        "title": "",
        "text": "",
        "overrides": {},
        "scenario": {},
        "axes": ["channel.snr_db", "link.rate"],
        "points": [
            {"axes": {"channel.snr_db": i // side, "link.rate": f"{1 + i % side} kbit/s"}, "id": id}
            for i, id in enumerate(ids)
        ],
        "methods": ["simulation"],
        "stop": {"runs": runs},
        "seed": 1,
        "units": dict.fromkeys(names, "bit/s"),
        "version": cf.__version__,
        "results_version": cf.reference.RESULTS_VERSION,
    }
    rng = random.Random(1)
    order = [(point, run) for point in range(side * side) for run in range(runs)]
    rng.shuffle(order)
    joined, packed = "\n".join(names), struct.Struct(f"<{metrics}d")

    def rows() -> Iterator[Row]:
        for point, run in order:
            values = packed.pack(*(rng.random() for _ in names))
            key = f"{point * runs + run:032x}"
            yield Row(key, ids[point], "simulation", 1, run, joined, values, None, 0.1)

    with ResultsFile.create(path) as file:
        file.add_plan(description)
        batch: list[Row] = []
        for row in rows():
            batch.append(row)
            if len(batch) == 10_000:
                file.put(batch)
                batch = []
        file.put(batch)


def main() -> None:
    """Make the file, then open it in each way and print a line for each."""
    points, runs, metrics = map(int, sys.argv[1:] or (10_000, 100, 45))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.sqlite"
        before = time.perf_counter()
        make(path, points, runs, metrics)
        size = path.stat().st_size / 2**20
        print(f"{size:.0f} MiB, made in {time.perf_counter() - before:.0f} s", flush=True)
        for name, way in WAYS.items():
            code = MEASURE.format(name=name, way=way or "None")
            subprocess.run([sys.executable, "-c", code, str(path)], check=True)


if __name__ == "__main__":
    main()
