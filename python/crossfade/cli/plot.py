"""Command ``crossfade plot``, which draws results and events."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossfade.cli import messages
from crossfade.cli.groups import Drawn, grouped
from crossfade.cli.options import PlanOption
from crossfade.cli.outputs import beside
from crossfade.figures.phases import Measured
from crossfade.files.kinds import JOURNAL, RESULTS, TABLE, expect
from crossfade.pictures import drawing, folds


@grouped()
def plot(
    results: Annotated[
        Path,
        typer.Argument(
            metavar="RESULTS",
            help="A results file, or a CSV file written by --csv, --events, --link-events, --transfers "
            "or --delays.",
        ),
    ],
    drawn: Drawn,
    cdf: Annotated[
        str | None,
        typer.Option(
            "--cdf",
            metavar="COLUMN",
            help="Draw the distribution of a column, with bands over runs: completion_time_s of --transfers, "
            "rtt_s or one_way_delay_s of --delays, user_goodput_bps (over users) of results of a cell. "
            "--log-y draws the share of larger values.",
        ),
    ] = None,
    log_x: Annotated[
        bool | None,
        typer.Option(
            "--log-x/--linear-x",
            help="Scale of the x axis (default: as its values are spaced).",
            show_default=False,
        ),
    ] = None,
    intervals: Annotated[
        str, typer.Option("--intervals", metavar="HOW", help="Draw 95 % intervals as bars, bands or none.")
    ] = "bars",
    fold: Annotated[
        str | None,
        typer.Option(
            "--fold",
            metavar="PERIOD",
            help='Draw samples over their phase in a period ("15 s", or "15 s from 8.76 s"), and print the '
            "mean of each quantity over whole periods and the time goodput takes to recover.",
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(
            "--title", metavar="TEXT", help="Title of the figure (default: the scenario's; '' for none)."
        ),
    ] = None,
    plan: PlanOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="File of the figure: .png, .pdf or .svg (default: RESULTS as .png)."
        ),
    ] = None,
) -> None:
    """Draw a figure of results, or of events over time.

    Results of simulation are marks with 95 % intervals, those of analysis lines. Events show the sender, or
    links, over time.

    \b
    crossfade plot results.sqlite --y goodput_bps --width double --out goodput.pdf
    crossfade plot results.sqlite --where tcp.variant=reno --panels tcp.w_max
    crossfade run quickstart --csv results.csv
    crossfade plot results.csv --y timeouts --intervals bands --log-y
    crossfade run classics/slow-start --events events.csv
    crossfade plot events.csv              cwnd and ssthresh
    crossfade plot events.csv --y seq      the time-sequence plot
    crossfade plot events.csv --where "time_s>=1" --where "time_s<2"    a part of it
    crossfade run satellite/one-user-down --samples samples.csv --set run.sample="100 ms"
    crossfade plot samples.csv --fold "15 s" --y goodput_bps,rtt_mean_s --where flow=0
    crossfade run wifi-like-arq --link-events links.csv --over link.arq.max_retransmissions=3
    crossfade plot links.csv --where link=forward
    crossfade sweep lte-like-cell --out cell.sqlite
    crossfade plot cell.sqlite --cdf user_goodput_bps --by flow
    """
    expect(results, [RESULTS, TABLE, JOURNAL])
    file = out or beside(results, ".png")
    drawable: Path | Measured = results
    if fold is not None:
        # Read once for both the figure and the printed lines.
        drawable = folds.measured(results, drawn.options()["where"], drawn.y)
    drawing.draw_any(
        drawable,
        file,
        plan=plan,
        title=title,
        cdf=cdf,
        log_x=log_x,
        intervals=intervals,
        fold=fold,
        **drawn.options(),
    )
    if fold is not None:
        say_periods(drawable, fold)
    messages.say(f"wrote {file}")


def say_periods(samples: Path | Measured, period: str) -> None:
    """Print the mean of each quantity over whole periods, and the recovery time of goodput."""
    found = folds.folded_table(samples, period, slots=True)
    folds.warn_of_few(found, period)
    for row in found.records():
        axes = [f"{name} {row[name]}" for name in found.columns[: found.columns.index("quantity")]]
        whose = ", ".join(
            words for words, name in zip(axes, found.columns, strict=False) if row[name] not in (None, "")
        )
        line = (
            f"{row['quantity']} of {whose}: {row['mean']:.5g}, 95 % from {row['ci95_low']:.5g} to "
            f"{row['ci95_high']:.5g} ({row['periods']} periods)"
        )
        if row["recovery_s"] is not None:
            line += f"; back at 90 % after {row['recovery_s']:.3g} s"
        messages.say(line)
