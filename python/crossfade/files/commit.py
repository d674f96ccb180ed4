"""Commit of the source, read from git's own files.

This module imports nothing of the package, since the build backend (``scripts/build_backend.py``) reads it
before the package exists.
"""

from __future__ import annotations

import re
from pathlib import Path

# File within the package to which a build writes the commit.
WRITTEN = "files/commit.txt"


def commit_of(package: Path) -> str | None:
    """Commit of the package in this folder: that of the clone around it, otherwise the one its build
    wrote.
    """
    clone = package.parents[1]
    # The package may be installed inside a clone of another project.
    if (clone / "crates" / "python" / "Cargo.toml").is_file() and (found := head_of(clone)):
        return found
    return _commit(_text(package / WRITTEN))


def head_of(clone: Path) -> str | None:
    """Commit that is checked out in a clone or in one of its work trees; None if there is none."""
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
    """The text if it is a hash as git writes it, SHA-1 or SHA-256; otherwise None."""
    found = re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text.strip())
    return found[0] if found else None


def _text(file: Path) -> str:
    try:
        return file.read_text("ascii")
    except (OSError, ValueError):
        return ""
