"""The version of the program: the release, and the commit that it was built from wherever one is known.

``0.2.0`` is the release, ``0.2.0.dev0`` what leads to it, ``0.2.0.dev0+g1a2b3c4d5e6f`` one commit of that. In
a clone the commit is read from git's own files whenever the package is loaded; a built package has it in
``commit.txt``, which the build writes (``scripts/build_backend.py``).
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import crossfade._crossfade as _crossfade
from crossfade.errors import ScenarioError, shortened

# So many digits name a commit: git itself shows 7 of a small repository.
DIGITS = 12
YEAR = 2026
TITLE = "Crossfade: cross-layer evaluation of transport protocols over fading wireless links"
AUTHORS = "The Crossfade developers"

_PACKAGE = Path(__file__).parents[1]


@cache
def version() -> str:
    """The release, and ``+g`` with the commit where one is known."""
    commit = commit_of(_PACKAGE)
    return _crossfade.__version__ if commit is None else f"{_crossfade.__version__}+g{commit[:DIGITS]}"


def cite(style: str = "bibtex") -> str:
    """How to cite the version that is installed: BibTeX, or one line of text with ``style = "text"``."""
    if style == "text":
        return (
            f"{AUTHORS} ({YEAR}). {TITLE}. Version {version()}, results version {_crossfade.RESULTS_VERSION}."
        )
    if style != "bibtex":
        raise ScenarioError(f"style = {shortened(style)}: bibtex or text is allowed")
    return "\n".join(
        (
            "@software{crossfade,",
            f"  author  = {{{{{AUTHORS}}}}},",
            f"  title   = {{{{{TITLE}}}}},",
            f"  year    = {{{YEAR}}},",
            f"  version = {{{version()}}},",
            f"  note    = {{Results version {_crossfade.RESULTS_VERSION}}},",
            "}",
        )
    )


def commit_of(package: Path) -> str | None:
    """The commit of the package in this folder: of the clone that it stands in, else what its build wrote."""
    clone = package.parents[1]
    # The package may stand in a clone of something else.
    if (clone / "crates" / "python" / "Cargo.toml").is_file() and (found := head_of(clone)):
        return found
    return _commit(_text(package / "commit.txt"))


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
