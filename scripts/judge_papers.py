"""Judge papers' claims by simulation, and keep the verdicts in docs/papers/KEY-claims.csv.

A verdict is kept as long as the paper's scenarios, its claims and the results version are the same; only
stale ones are judged. The script also writes the tables of the pages to docs/gallery/, for ``python
scripts/refresh_pages.py``.

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
    """Judge the named papers, or all, by full runs with each seed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("key", nargs="*", metavar="KEY", choices=[*PAPERS, []], help="paper")
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)), help="seeds (default: %(default)s)")
    parser.add_argument(
        "--reading", metavar="NAME", help="judge under this reading only (default: under all)"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="number of threads (default: one per core)")
    asked = parser.parse_args()
    seeds = [int(seed) for seed in asked.seeds.split(",")]
    for key in asked.key or PAPERS:
        count = judge(key, seeds, asked.jobs, only=asked.reading)
        print(f"{kept_file(key).name}: {count} verdicts", flush=True)
        show(key, GALLERY)


if __name__ == "__main__":
    main()
