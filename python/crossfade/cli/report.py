"""Command ``crossfade report``, which writes results as an HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossfade.cli import messages
from crossfade.cli.options import ByOption, PlanOption, WhereOption, XOption, read_conditions
from crossfade.cli.outputs import beside
from crossfade.files.kinds import JOURNAL, RESULTS, expect
from crossfade.reports import page


def report(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="A results file, as crossfade sweep writes it.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="File of the page (default: RESULTS as .html)."),
    ] = None,
    y: Annotated[
        list[str] | None,
        typer.Option(
            "--y",
            metavar="METRIC",
            help="Metric a figure shows at first, or the ratio of two (A/B). May be given several times.",
        ),
    ] = None,
    x: XOption = None,
    by: ByOption = None,
    where: WhereOption = None,
    plan: PlanOption = None,
) -> None:
    """Write results as one interactive HTML page.

    The page has figures, a table, the scenario, provenance and warnings, in one file that needs no network.
    Hover over a point for its value, interval and number of runs; zoom, switch curves on and off, choose
    the metric, sort the table.

    \b
    crossfade report results.sqlite
    crossfade report results.sqlite --y goodput_bps --y timeouts --out report.html
    """
    expect(results, [RESULTS, JOURNAL])
    file = out or beside(results, ".html")
    page.report(
        results, file, plan=plan, metrics=y or None, x=x, by=by, where=read_conditions("--where", where)
    )
    messages.say(f"wrote {file}")
