"""``crossfade plot``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from crossfade import api
from crossfade.commands.options import (
    ByOption,
    LogYOption,
    XOption,
    YOption,
)


def plot(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="A CSV file written by --csv or --events.")
    ],
    x: XOption = None,
    y: YOption = None,
    by: ByOption = None,
    log_y: LogYOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="The figure: .png, .pdf or .svg (default: RESULTS as .png)."
        ),
    ] = None,
) -> None:
    """Draw a results table: simulation as marks with 95 % intervals. Draw events: the sender over time.

    \b
    crossfade run quickstart --csv results.csv
    crossfade plot results.csv --y timeouts --out timeouts.pdf
    crossfade run classics/slow-start --events events.csv
    crossfade plot events.csv              cwnd and ssthresh
    crossfade plot events.csv --y seq      the time-sequence plot
    """
    file = out or results.with_suffix(".png")
    api.plot(results, file, x=x, y=y, by=by, log_y=log_y)
    print(f"wrote {file}", file=sys.stderr)
