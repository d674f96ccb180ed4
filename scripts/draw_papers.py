"""Compute the tables of papers' figures in docs/papers/figures/ (``crossfade paper KEY FIGURE --csv``).

Usage: python scripts/draw_papers.py [KEY [FIGURE]...] [--quick] [--jobs N]. Without FIGURE it computes the
stale tables of the paper, and without KEY those of all papers: tables from other scenarios or results
versions.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from kept_figures import made, make, stale

from crossfade.papers import PAPERS


def main() -> None:
    """Compute the named tables, or the stale ones of a paper or of all papers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("key", nargs="?", metavar="KEY", choices=list(PAPERS), help="paper")
    parser.add_argument(
        "figure", nargs="*", metavar="FIGURE", help="figure of the paper (default: stale ones)"
    )
    parser.add_argument("--quick", action="store_true", help="short runs (the kept command says --quick)")
    parser.add_argument("--jobs", type=int, metavar="N", help="number of threads (default: one per core)")
    asked = parser.parse_args()
    wanted = [(asked.key, name) for name in asked.figure]
    for key, name in wanted or [place for place in stale() if asked.key in (None, place[0])]:
        quick = asked.quick or (not wanted and made()[key, name]["command"].endswith("--quick"))
        make(key, name, quick, asked.jobs)
        print(f"{key} {name}", flush=True)


if __name__ == "__main__":
    main()
