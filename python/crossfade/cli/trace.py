"""Command ``crossfade trace``, which summarises and converts recordings of a link."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossfade import fitting
from crossfade.cli import messages, terminal
from crossfade.cli.options import PlotOption
from crossfade.errors import TraceError, shortened
from crossfade.figures.style import check_plot_file
from crossfade.files import check_outputs
from crossfade.files.kinds import CAPTURE, FIGURE, JOURNAL, RESULTS, SCENARIO, refuse


def trace(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Recordings: the files of one direction of a link, or of both (up, then down).",
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FORMAT", help="Format to convert to; needs --out."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="File to write; an existing one is not overwritten."),
    ] = None,
    direction: Annotated[
        str | None,
        typer.Option("--direction", metavar="WAY", help="Direction to convert, of two: up or down."),
    ] = None,
    lossy: Annotated[
        bool, typer.Option("--lossy", help="Convert even if the new format cannot hold everything.")
    ] = False,
    format: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FORMAT", help="Format of the files, if their content does not tell it."
        ),
    ] = None,
    delay_interval_ms: Annotated[
        float,
        typer.Option(
            "--delay-interval-ms",
            metavar="MS",
            help="Time in ms for which each delay of a LeoReplayer file holds.",
        ),
    ] = 10.0,
    json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON instead of a table.")
    ] = False,
    plot: PlotOption = None,
) -> None:
    """Summarise recordings of a link, or convert their format.

    \b
    crossfade trace cell.up cell.down --plot cell.png
    crossfade trace bw.txt delay.txt --to theaterq --out link.csv --lossy
    """
    if (to is None) != (out is None):
        raise TraceError("--to and --out: one needs the other")
    if direction not in (None, "up", "down"):
        raise TraceError(f"--direction {shortened(direction)}: must be up or down")
    for option, given in (("--direction", direction is not None), ("--lossy", lossy)):
        if given and to is None:
            raise TraceError(f"{option}: needs --to and --out")
    if json and to is not None:
        raise TraceError("--json: prints the summary of recordings; give it without --to")
    if not 1e-3 <= delay_interval_ms <= 3.6e6:
        raise TraceError(f"--delay-interval-ms {delay_interval_ms:g}: must be from 0.001 to 3600000")
    for file in files:
        refuse(file, [SCENARIO, RESULTS, JOURNAL, CAPTURE, FIGURE], TraceError)
    if plot is not None:
        check_plot_file(plot, *files)
    check_outputs([plot, out], *files)
    found = fitting.trace(*files, format=format, delay_interval_s=delay_interval_ms / 1e3)
    if to is not None and out is not None:
        losses = found.losses(to, direction)
        for path in found.convert(to, out, direction, lossy):
            messages.say(f"wrote {path}")
        if losses:
            messages.say(f"lost: {'; '.join(losses)}")
    elif json:
        messages.write_out(found.to_json() + "\n")
    else:
        terminal.print_trace(found, terminal.console())
    if plot is not None:
        found.plot(plot, title=", ".join(dict.fromkeys(file.path.name for file in found.files)))
        messages.say(f"wrote {plot}")
