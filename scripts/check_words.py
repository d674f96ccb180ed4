"""Checks the words of doc comments, as ``make lint`` does: each has to read alone.

Each finding is named with its file and line, and the status is then 1. Summaries of scenario keys are
checked where the schema is at hand (tests/test_words.py).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What begins so needs the comment before it.
NEEDS_MORE = re.compile(r"(The same|Nor|Whose|Ditto)\b")


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """The first line of each doc comment of a Rust file, and of each docstring of a Python file."""
    before = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r"\s*//[/!] ?(.*)" if path.suffix == ".rs" else r'\s*"""(.*)', line)
        if found and not re.match(r"\s*//[/!]", before):
            yield number, found[1]
        before = line


def main() -> int:
    """Name all that does not read alone."""
    files = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/crossfade/**/*.py")]
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: does not read alone: {text}"
        for path in sorted(files)
        for number, text in comments(path)
        if NEEDS_MORE.match(text)
    ]
    print("\n".join(wrong) or f"{len(files)} files: every doc comment reads alone")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
