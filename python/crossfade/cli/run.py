"""Command ``crossfade run``, which runs a scenario."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crossfade import api, pictures
from crossfade.cli import completion, terminal
from crossfade.cli.groups import Asked, Drawn, grouped
from crossfade.cli.options import CsvOption, JsonOption, PlotOption, chosen_points
from crossfade.cli.outputs import Outputs, telling_what_is_left
from crossfade.cli.records import Records
from crossfade.errors import ScenarioError, one_line, shortened
from crossfade.figures import linkevents, timelines
from crossfade.figures.choice import column_list
from crossfade.figures.wanted import OVER_TIME, Wanted
from crossfade.files import check_outputs, write_text
from crossfade.plans.options import ViewOptions
from crossfade.results.metrics import near_metrics, not_metrics
from crossfade.results.results import Results

if TYPE_CHECKING:
    from rich.console import Console

# Options that are allowed with --replay.
WITH_REPLAY = ("replay", "events", "link_events", "quiet")


# Largest number of printed points, as layout takes a millisecond a line; --csv writes all rows.
MOST_POINTS = 1_000


@grouped()
def run(
    context: typer.Context,
    *,
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO",
            help="A scenario file, or the name of one that comes with crossfade.",
            autocompletion=completion.scenarios,
        ),
    ] = None,
    asked: Asked,
    drawn: Drawn,
    json: JsonOption = False,
    csv: CsvOption = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="METRICS",
            autocompletion=completion.metrics,
            help="Metrics in the table and in --csv, separated by commas (crossfade metrics lists all).",
        ),
    ] = None,
    plot: PlotOption = None,
    records: Records,
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay",
            metavar="FILE",
            help="In place of a scenario: pass the packets of a journal (crossfade live --record) through "
            "its links again; the exit code is 1 if a packet has another fate or time. --events and "
            "--link-events then write the events of the kernel's TCP and of the links.",
        ),
    ] = None,
) -> int:
    """Run a scenario and print each metric with its 95 % interval.

    Finished runs are kept in the user's cache: repeating the command is instant, and a command that Ctrl-C
    stopped continues where it was.

    \b
    crossfade run quickstart --plot throughput.png
    crossfade run quickstart --set tcp.w_max=6 --over channel.p_e=log:0.001:0.1:5 --csv -
    crossfade run my.toml --precision 1% --json
    crossfade run quickstart --columns goodput_bps,rtt_mean_s
    crossfade run classics/slow-start --interval 0.5
    crossfade run quickstart --where tcp.variant=reno --where "channel.p_e<0.01"
    crossfade run quickstart --point 5 --run 7 --pcap run7.pcap
    crossfade run my.toml --set run.sample="100 ms" --samples samples.csv
    crossfade run lte-like-cell --trace-out cell.up --trace-user 12
    """
    if replay is not None:
        return _replay(replay, scenario, context, records)
    if scenario is None:
        raise ScenarioError("SCENARIO: missing (or --replay FILE)")
    outputs = Outputs(asked, scenario, csv=csv, plot=plot, json=json, others=records.files())
    figure = drawn.options()
    at = figure["where"] or {}
    if plot is not None:  # conditions on other columns select rows of the figure
        at = chosen_points(scenario, at, asked.keys, asked.axes)
    viewed = asked.options(ViewOptions) | {"at": at or None}
    if records.run is not None and plot is None and not records.shows_a_run():
        raise ScenarioError(f"--run {records.run}: needs an output of that run, such as --events or --pcap")
    _check_metrics("--y", drawn.y, scenario, asked)
    _check_metrics("--columns", columns, scenario, asked)
    if plot is not None:
        drawn.check()
        _check_columns(drawn, scenario, asked)
    only = [name.strip() for name in columns.split(",")] if columns is not None else None
    records.write(scenario, asked, at, sys.stderr if outputs.on_stdout else sys.stdout)
    with telling_what_is_left(
        not asked.no_cache, lambda left: terminal.print_results(left.results, outputs.console)
    ):
        results = api.run(scenario, methods=asked.methods, **asked.options() | {"at": at or None})
    outputs.print(lambda to: _print(results, drawn.y, only, to), results)
    terminal.print_warnings(results.warnings)
    outputs.write(results.table(only))
    outputs.draw(
        lambda file: pictures.draw(scenario, file, results=results, run=records.run or 0, **viewed, **figure)
    )
    return 0


def _print(results: Results, y: str | None, only: list[str] | None, to: Console) -> None:
    """Print a table of the requested metrics, or else of those of the figure."""
    if only is None and len(results.points) > MOST_POINTS:
        terminal.print_some_results(results, to, MOST_POINTS)
    else:
        terminal.print_results(results, to, y or ",".join(results.figure.y or []), only)


def _check_metrics(option: str, y: str | None, scenario: str, asked: Asked) -> None:
    """Raise an error for an unknown metric before any run; names of flows and links are checked later."""
    over_time = (*timelines.CHOICES, *linkevents.DRAWN)
    for name in not_metrics(y):
        if name not in ("runs", *over_time, *api.check(scenario, **asked.options(ViewOptions)).axes):
            hint = near_metrics(name) or "crossfade metrics lists all"
            raise ScenarioError(f"{option} {shortened(name)}: no metric ({hint})")


def _check_columns(drawn: Drawn, scenario: str, asked: Asked) -> None:
    """Raise an error, before any run, for columns of --by and --panels that are not axes."""
    checked = api.check(scenario, **asked.options(ViewOptions))
    axes = [key for keys in checked.axes for key in keys.split(",")]
    if not axes or Wanted.read(checked.scenario).of in OVER_TIME:  # columns of events are not axes
        return
    for option, text in (("--by", drawn.by), ("--panels", drawn.panels)):
        for name in column_list(text) or []:
            is_axis = any(name == axis or name.startswith(f"{axis}.") for axis in axes)
            if not is_axis and name not in ("method", "runs") and name in not_metrics(name):
                there = shortened(", ".join([*axes, "method"]))
                raise ScenarioError(f"{option} {shortened(name)}: not an axis (there are: {there})")


def _replay(journal: Path, scenario: str | None, context: typer.Context, records: Records) -> int:
    """Replay a journal, print a line for each link, and return the exit code."""
    if scenario is not None:
        raise ScenarioError("--replay: takes no SCENARIO, which the journal contains")
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        if source and source.name == "COMMANDLINE" and option.name not in WITH_REPLAY:
            raise ScenarioError(f"{option.opts[0]}: not taken with --replay, which repeats the recorded run")
    events, link_events = records.events, records.link_events
    check_outputs((events, link_events), journal)
    found = api.replay(journal)
    if events is not None:
        write_text(events, api.journal_table(journal).to_csv())
    if link_events is not None:
        write_text(link_events, api.journal_link_text(journal))
    for lane in found:
        verdict = "identical" if lane.difference is None else f"differs {lane.difference}"
        counts = f"{lane.packets:,} packets, {lane.arrived:,} arrived, {lane.lost:,} lost"
        counts += f", {lane.dropped:,} dropped"
        print(one_line(f"{lane.link}: {counts}: {verdict}"))
    return 1 if any(lane.difference for lane in found) else 0
