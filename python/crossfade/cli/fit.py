"""``crossfade fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossfade import fitting
from crossfade.cli import terminal
from crossfade.cli.options import PlotOption, whole
from crossfade.figures.style import check_plot_file


def fit(
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="What was lost: 0/1 a packet, or the lost numbers.")
    ],
    format: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="How to read it: auto, bits (0/1 a packet) or lost (numbers)."
        ),
    ] = "auto",
    packets: Annotated[
        int | None,
        typer.Option(
            "--packets", metavar="N", parser=whole, help="Packets in all, where lost ones are listed."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the fit as JSON instead of a table.")] = False,
    plot: PlotOption = None,
) -> None:
    """Fit the two-state Markov channel to a loss trace, and judge it.

    \b
    crossfade fit losses.txt
    crossfade fit lost-numbers.txt --packets 100000 --plot runs.png
    """
    if plot is not None:
        check_plot_file(plot, trace)
    found = fitting.fit(trace, format, packets)
    if json:
        terminal.write_out(found.to_json() + "\n")
    else:
        terminal.print_fit(found, terminal.console())
    if plot is not None:
        found.plot(plot, title=trace.name)
        terminal.say(f"wrote {plot}")
