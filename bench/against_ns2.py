"""Compare the user CPU time of Crossfade and ns-2: one Reno flow, and twenty flows on a bottleneck.

Usage: python bench/against_ns2.py [SEGMENTS] [TURNS]      needs `ns` (Debian's package ns2) and cargo

Both programs simulate the networks of bench/one_flow.tcl and bench/dumbbell.tcl until SEGMENTS (3,000,000)
are delivered, TURNS (5) times, alternately. The time of a tenth of the segments is subtracted, which removes
start-up. A line per network: median user CPU seconds per million delivered segments of each, and the median
of ns-2's time over Crossfade's.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


# Name of Crossfade's bench and of ns-2's script, then the case in Crossfade and in ns-2.
CASES = [
    ("one_flow", "ns2-iid", "iid"),
    ("one_flow", "ns2-markov", "markov"),
    ("dumbbell", "ns2-newreno", "newreno"),
    ("dumbbell", "ns2-sack", "sack"),
]


def bench_binary(bench: str) -> str:
    """Build a bench of crossfade-sim, and return the path of its binary."""
    command = [
        "cargo",
        "bench",
        "-p",
        "crossfade-sim",
        "--bench",
        bench,
        "--no-run",
        "--message-format=json",
    ]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    return next(
        m["executable"] for m in messages if m.get("target", {}).get("name") == bench and m["executable"]
    )


def user_seconds(command: list[str]) -> float:
    """User CPU time in s of one run of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def per_million(command: list[str], segments: int) -> float:
    """User CPU seconds per million segments of a command that takes their number, without start-up."""
    short = segments // 10
    difference = user_seconds([*command, str(segments)]) - user_seconds([*command, str(short)])
    return difference / (segments - short) * 1e6


def main() -> None:
    """Time both programs in turns, and print a line per network."""
    segments = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000_000
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    ns = shutil.which("ns")
    if ns is None:
        sys.exit("error: ns is not installed (Debian's package ns2)")
    for bench, our_case, their_case in CASES:
        ours, script = bench_binary(bench), os.fspath(ROOT / "bench" / f"{bench}.tcl")
        pairs = [
            (
                per_million([ours, our_case], segments),
                per_million([ns, script, their_case], segments),
            )
            for _ in range(turns)
        ]
        mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(b / a for a, b in pairs)
        figures = f"crossfade {mine:.3f} s, ns-2 {theirs:.3f} s"
        print(f"{bench} {their_case}: {figures} per million delivered segments: {ratio:.1f} times")


if __name__ == "__main__":
    main()
