"""``crossfade verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossfade import api
from crossfade.errors import one_line


def verify(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder with patterns.json and sends_*.csv(.gz).")
    ],
) -> None:
    """Replay golden traces and compare every row.

    The exit code is 1 on any difference, and where nothing was compared.

    \b
    crossfade verify golden/ns2
    """
    cases = api.verify(folder)
    failed = 0
    for case in cases:
        if case.difference is None:
            print(one_line(f"ok   {case.case} {case.rows} rows"))
        else:
            failed += 1
            print(one_line(f"FAIL {case.case} {case.rows} rows, first difference: {case.difference}"))
    print(f"{len(cases)} cases: {len(cases) - failed} identical, {failed} different")
    if failed or not cases:
        raise typer.Exit(1)
