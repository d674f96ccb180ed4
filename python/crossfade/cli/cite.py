"""``crossfade cite``: prints how to cite this version."""

from __future__ import annotations

from typing import Annotated

import typer

from crossfade.files import version


def cite(
    text: Annotated[bool, typer.Option("--text", help="One line of text instead of BibTeX.")] = False,
) -> None:
    """Print how to cite the version that is installed, as BibTeX.

    The version includes the commit if the build knows it; the results version changes with results.

    \b
    crossfade cite
    crossfade cite --text
    """
    print(version.cite("text" if text else "bibtex"))
