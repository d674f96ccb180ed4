"""Simulate the measurements of Linux's TCP over emulated links, for the comparison in docs/kernel.md.

Usage: python bench/kernel.py [patterns | loss | share | codel] [PROFILE] [W_MAX]      needs cargo

PROFILE is ``linux`` (default), ``recommended`` (RFCs), or ``rack``: the RFCs with RACK-TLP, acknowledgements
delayed by 40 ms and an RTO of at least 200 ms. ``patterns`` compares transfers with the recorded ones in
tests/data/golden/kernel/patterns.csv; W_MAX is the receiver's window in segments (default 1000). The script
runs the example ``kernel`` of crossfade-sim, which prints CSV, and a summary on standard error.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = ROOT / "tests" / "data" / "golden" / "kernel" / "patterns.csv"


def main(arguments: list[str]) -> int:
    """Run the example; returns its exit code, or 2 for an unknown measurement."""
    what, *rest = arguments or ["patterns"]
    if what not in ("patterns", "loss", "share", "codel"):
        print(__doc__, file=sys.stderr)
        return 2
    files = [str(PATTERNS)] if what == "patterns" else []
    cargo = ["cargo", "run", "--quiet", "--release", "-p", "crossfade-sim", "--example", "kernel", "--"]
    return subprocess.run([*cargo, what, *files, *rest], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
