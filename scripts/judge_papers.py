"""Judge the claims of papers again whose kept verdicts are stale (docs/papers/KEY-claims.csv).

The tables of the pages go into the gallery, for ``python scripts/refresh_pages.py``.

Usage: python scripts/judge_papers.py [KEY]... [--seeds 1,2,3] [--reading NAME] [--jobs N]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from kept_claims import SEEDS, judge, kept_file, show
from plain_pages import GALLERY

from crossfade.papers import PAPERS


def main() -> None:
    """The papers that are named, or all; full runs, with each of three seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("key", nargs="*", metavar="KEY", choices=[*PAPERS, []])
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)))
    parser.add_argument("--reading", help="under this reading alone")
    parser.add_argument("--jobs", type=int)
    asked = parser.parse_args()
    seeds = [int(seed) for seed in asked.seeds.split(",")]
    for key in asked.key or PAPERS:
        count = judge(key, seeds, asked.jobs, only=asked.reading)
        print(f"{kept_file(key).name}: {count} verdicts", flush=True)
        show(key, GALLERY)


if __name__ == "__main__":
    main()
