"""Count the words of the documentation written by hand: per page, and the share of each kind of page.

Code, outputs and generated tables do not count; neither does the reference, whose pages list the program's
keys, commands, metrics and formats. A page belongs to the section whose tree of pages names it.
``tests/test_docs.py`` requires at least 35 % of the words in tutorials and how-to pages.

Usage: ``python scripts/word_shares.py``
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
TREE = re.compile(r"```\{toctree\}\n:hidden:\n\n(.*?)```", re.DOTALL)
# Sections of the front page, and the kind of their pages.
KINDS = {
    "get-started": "learn",
    "scenario-gallery": "learn",
    "how-to": "how-to",
    "models": "models",
    "explanation": "explanation",
    "project/index": "project",
}


def below(name: str) -> list[str]:
    """The pages that the tree of a page names."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    lines = [line for tree in TREE.findall(text) for line in tree.split()]
    return [Path(os.path.normpath(Path(name).parent / line)).as_posix() for line in lines]


def inside(name: str) -> Iterator[str]:
    """A page and all pages below it in the tree."""
    yield name
    for page in below(name):
        yield from inside(page)


def words(name: str) -> int:
    """Number of words of a page that are written by hand."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    text = re.sub(
        r"^<!-- from [^\n]*\n(?:\|[^\n]*\n|(`{3,}).*?^\1\n)+", "", text, flags=re.DOTALL | re.MULTILINE
    )
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^ *(`{3,}).*?^ *\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    return len(re.findall(r"[A-Za-z]{2,}", text))


def shares() -> dict[str, float]:
    """Share of each kind of page in the words of all pages outside the reference, from 0 to 1."""
    counts = dict.fromkeys(KINDS.values(), 0)
    for section, kind in KINDS.items():
        counts[kind] += sum(words(page) for page in inside(section))
    total = sum(counts.values())
    return {kind: count / total for kind, count in counts.items()}


def main() -> None:
    """Print the words of each page and the share of each kind."""
    for section, kind in KINDS.items():
        for page in inside(section):
            print(f"{words(page):6d}  {kind:12s} {page}")
    for kind, share in shares().items():
        print(f"{share:6.1%}  {kind}")


if __name__ == "__main__":
    main()
