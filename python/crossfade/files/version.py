"""Version of the program: the release, and the commit from which it was built, if known.

``0.2.0`` is a release, ``0.2.0.dev0`` a state before it, ``0.2.0.dev0+g1a2b3c4d5e6f`` such a state with its
commit. In a clone, the commit is read from git's own files each time the package is loaded; a built package
has it in ``commit.txt``, which the build writes (``scripts/build_backend.py``).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import crossfade._crossfade as _crossfade
from crossfade.errors import ScenarioError, shortened
from crossfade.files.commit import commit_of

# Number of hexadecimal digits shown of a commit; git shows 7 for a small repository.
DIGITS = 12
YEAR = 2026
TITLE = "Crossfade: cross-layer evaluation of transport protocols over fading wireless links"
AUTHORS = "The Crossfade developers"

_PACKAGE = Path(__file__).parents[1]


@cache
def version() -> str:
    """The release, followed by ``+g`` and the commit if it is known."""
    commit = commit_of(_PACKAGE)
    return _crossfade.__version__ if commit is None else f"{_crossfade.__version__}+g{commit[:DIGITS]}"


def cite(style: str = "bibtex") -> str:
    """Citation of the installed version.

    Parameters
    ----------
    style : {"bibtex", "text"}
        BibTeX, or one line of text.

    Returns
    -------
    str
        The entry or the line.

    Raises
    ------
    ScenarioError
        If there is no such style.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.reference.cite().splitlines()[0]
    '@software{crossfade,'
    """
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
