"""Compute kept tables of figures of papers again: those named, or all that are stale (docs/papers/figures/).

Usage: python scripts/draw_papers.py [KEY [FIGURE]...] [--quick] [--jobs N]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from kept_figures import made, make, stale

from crossfade.papers import PAPERS


def main() -> None:
    """The figures that are named; without any those of the paper, or of all papers, that are stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("key", nargs="?", metavar="KEY", choices=list(PAPERS))
    parser.add_argument("figure", nargs="*", metavar="FIGURE")
    parser.add_argument("--quick", action="store_true", help="short runs; the command that is kept says so")
    parser.add_argument("--jobs", type=int)
    asked = parser.parse_args()
    wanted = [(asked.key, name) for name in asked.figure]
    for key, name in wanted or [place for place in stale() if asked.key in (None, place[0])]:
        quick = asked.quick or (not wanted and made()[key, name]["command"].endswith("--quick"))
        make(key, name, quick, asked.jobs)
        print(f"{key} {name}", flush=True)


if __name__ == "__main__":
    main()
