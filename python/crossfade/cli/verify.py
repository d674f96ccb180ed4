"""Command ``crossfade verify``, which compares with reference data of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossfade import api
from crossfade.errors import one_line


def verify(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Folder of golden data: traces of ns-2, ns2-chain, weights, wifi or nr."
        ),
    ],
) -> None:
    """Reproduce reference data of other programs, and compare.

    Every row of traces and every number of tables is compared. The exit code is 1 if anything differs, or if
    nothing was compared.

    \b
    crossfade verify golden/ns2           every send of ns-2's TCP agents
    crossfade verify golden/ns2-chain     ns-2's TCP over chains of 802.11 stations
    crossfade verify golden/weights       antenna weights
    crossfade verify golden/wifi          durations of frames of 802.11a to 802.11be
    crossfade verify golden/nr            NR's transport block sizes
    """
    cases = api.verify(folder)
    failed = 0
    for case in cases:
        if case.difference is None:
            print(one_line(f"ok   {case.case} {case.found or f'{case.rows} rows'}"))
        elif case.found:
            failed += 1
            print(one_line(f"FAIL {case.case} {case.difference}"))
        else:
            failed += 1
            print(one_line(f"FAIL {case.case} {case.rows} rows, first difference: {case.difference}"))
    agree = "agree" if any(case.found for case in cases) else "identical"
    print(f"{len(cases)} cases: {len(cases) - failed} {agree}, {failed} different")
    if failed or not cases:
        raise typer.Exit(1)
