"""Measurements of Linux's TCP over emulated links beside the simulation, for docs/kernel.md.

Usage: python bench/kernel.py [patterns | loss | share | codel] [PROFILE] [W_MAX]      needs cargo

PROFILE is linux (the default), recommended or rack (the RFCs with RACK-TLP, 40 ms and 200 ms). `patterns`
takes the receiver's window in segments (1000). Prints CSV, and a summary on standard error.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = ROOT / "tests" / "data" / "golden" / "kernel" / "patterns.csv"


def main(arguments: list[str]) -> int:
    """Runs the example that does the work."""
    what, *rest = arguments or ["patterns"]
    if what not in ("patterns", "loss", "share", "codel"):
        print(__doc__, file=sys.stderr)
        return 2
    files = [str(PATTERNS)] if what == "patterns" else []
    cargo = ["cargo", "run", "--quiet", "--release", "-p", "crossfade-sim", "--example", "kernel", "--"]
    return subprocess.run([*cargo, what, *files, *rest], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
