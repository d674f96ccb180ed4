"""``crossfade cite``: how to cite this version; a file of its own, as each command has one."""

from __future__ import annotations

from typing import Annotated

import typer

from crossfade.files import version


def cite(
    text: Annotated[bool, typer.Option("--text", help="One line of text instead of BibTeX.")] = False,
) -> None:
    """Print how to cite the version that is installed, as BibTeX.

    The version names the commit where the build knows one; the results version says which numbers it makes.

    \b
    crossfade cite
    crossfade cite --text
    """
    print(version.cite("text" if text else "bibtex"))
