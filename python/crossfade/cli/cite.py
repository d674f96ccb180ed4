"""``crossfade cite``, which prints how to cite this version: a file of its own, as each command has one."""

from __future__ import annotations

from typing import Annotated

import typer

from crossfade.files import version


def cite(
    text: Annotated[bool, typer.Option("--text", help="One line of text instead of BibTeX.")] = False,
) -> None:
    """Print how to cite the version that is installed, as BibTeX.

    The text names the commit, if known, and the results version, which changes when computed numbers do.

    \b
    crossfade cite
    crossfade cite --text
    """
    print(version.cite("text" if text else "bibtex"))
