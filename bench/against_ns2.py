"""User CPU time of one Reno flow and of twenty flows on a bottleneck, ours beside ns-2's, in turns.

Usage: python bench/against_ns2.py [SEGMENTS] [TURNS]      needs `ns` (Debian's package ns2) and cargo

Both simulate what bench/one_flow.tcl and bench/dumbbell.tcl describe. Start-up is taken out by timing two
lengths of each and using the difference, so what is printed is the cost of simulating, per million delivered
segments.
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


# The bench of ours and the script of ns-2's, then the cases of either: ours, ns-2's.
CASES = [
    ("one_flow", "ns2-iid", "iid"),
    ("one_flow", "ns2-markov", "markov"),
    ("dumbbell", "ns2-newreno", "newreno"),
    ("dumbbell", "ns2-sack", "sack"),
]


def bench_binary(bench: str) -> str:
    """Builds a bench and returns the path of its binary."""
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
    """User CPU time of one run of `command`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def per_million(command: list[str], segments: int) -> float:
    """User CPU seconds per million segments, without start-up."""
    short = segments // 10
    difference = user_seconds([*command, str(segments)]) - user_seconds([*command, str(short)])
    return difference / (segments - short) * 1e6


def main() -> None:
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
