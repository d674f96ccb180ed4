"""Commit of the source, read from git's own files.

A file of its own, which imports nothing: the build reads it too (``scripts/build_backend.py``), before there
is a package.
"""

from __future__ import annotations

import re
from pathlib import Path

# Where a build writes the commit, within the package.
WRITTEN = "files/commit.txt"


def commit_of(package: Path) -> str | None:
    """The commit of the package in this folder: of the clone that it stands in, else what its build wrote."""
    clone = package.parents[1]
    # The package may stand in a clone of something else.
    if (clone / "crates" / "python" / "Cargo.toml").is_file() and (found := head_of(clone)):
        return found
    return _commit(_text(package / WRITTEN))


def head_of(clone: Path) -> str | None:
    """The commit that is checked out in a clone or one of its work trees; None where there is none."""
    git = clone / ".git"
    if link := re.match(r"gitdir: (.+)", _text(git)):
        git = clone / link[1].strip()
    head = _text(git / "HEAD").strip()
    if not (named := re.fullmatch(r"ref: (refs/\S+)", head)):
        return _commit(head)
    shared = git / (_text(git / "commondir").strip() or ".")
    for folder in (git, shared):
        if found := _commit(_text(folder / named[1])):
            return found
    packed = re.search(rf"^([0-9a-f]+) {re.escape(named[1])}$", _text(shared / "packed-refs"), re.MULTILINE)
    return _commit(packed[1]) if packed else None


def _commit(text: str) -> str | None:
    """A hash as git writes it, SHA-1 or SHA-256."""
    found = re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text.strip())
    return found[0] if found else None


def _text(file: Path) -> str:
    try:
        return file.read_text("ascii")
    except (OSError, ValueError):
        return ""
