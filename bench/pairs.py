"""User CPU time of two builds of a benchmark of crates/sim, compared case by case in turns.

Usage: python bench/pairs.py OLD NEW SEGMENTS TURNS CASE ...

OLD and NEW are programs that `cargo bench --no-run` has built. Each CASE of the benchmark runs with SEGMENTS
segments in TURNS turns, OLD first in even turns and NEW first in odd ones. Prints for each case the median
over the turns of the ratio NEW / OLD, and the ratio of the shortest times.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys


def seconds(binary: str, case: str, segments: str) -> float:
    """CPU seconds that a program prints for a case."""
    command = [binary, case, segments]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r" ([\d.]+) s CPU", printed)
    if found is None:
        raise SystemExit(f"{' '.join(command)}: printed no time")
    return float(found.group(1))


def main() -> None:
    """Run both programs in turns and print a line for each case."""
    if len(sys.argv) < 6:
        raise SystemExit(__doc__)
    old, new, segments, turns, *cases = sys.argv[1:]
    for case in cases:
        times: dict[str, list[float]] = {old: [], new: []}
        for turn in range(int(turns)):
            for binary in [old, new] if turn % 2 == 0 else [new, old]:
                times[binary].append(seconds(binary, case, segments))
        median = statistics.median(b / a for a, b in zip(times[old], times[new], strict=True))
        least = min(times[new]) / min(times[old])
        print(f"{case:12} median of pairs {median:.3f}, least {least:.3f}", flush=True)


if __name__ == "__main__":
    main()
