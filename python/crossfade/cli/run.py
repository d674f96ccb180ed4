"""``crossfade run``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from crossfade import api, pictures
from crossfade.cli import terminal
from crossfade.cli.intervals import print_intervals
from crossfade.cli.options import (
    ByOption,
    ColumnsOption,
    CsvOption,
    JobsOption,
    LogYOption,
    MethodOption,
    NoCacheOption,
    Outputs,
    OverOption,
    PanelsOption,
    PlotOption,
    PrecisionOption,
    QuietOption,
    RunsOption,
    SeedOption,
    SetOption,
    WhereOption,
    WidthOption,
    XOption,
    YOption,
    read_assignments,
    read_axes,
    read_conditions,
    read_methods,
    stop,
    whole,
)
from crossfade.errors import ScenarioError, one_line, shortened
from crossfade.figures import linkevents, timelines
from crossfade.files import check_outputs, write_bytes, write_text
from crossfade.plans import Values
from crossfade.results.interrupted import Interrupted
from crossfade.results.metrics import near_metrics, not_metrics

# What goes with --replay.
WITH_REPLAY = ("replay", "events", "link_events", "quiet")


# To lay out a table takes a millisecond a line; nobody reads so many, and --csv has all.
MOST_POINTS = 1_000


def run(
    context: typer.Context,
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO", help="A scenario file, or the name of one that comes with crossfade."
        ),
    ] = None,
    set: SetOption = None,
    over: OverOption = None,
    method: MethodOption = None,
    runs: RunsOption = None,
    precision: PrecisionOption = None,
    seed: SeedOption = None,
    jobs: JobsOption = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON instead of a table.")
    ] = False,
    csv: CsvOption = None,
    columns: ColumnsOption = None,
    plot: PlotOption = None,
    x: XOption = None,
    y: YOption = None,
    by: ByOption = None,
    panels: PanelsOption = None,
    where: WhereOption = None,
    log_y: LogYOption = None,
    width: WidthOption = None,
    events: Annotated[
        Path | None,
        typer.Option(
            "--events",
            metavar="FILE",
            help="Write every event of the first run of each point as CSV (at most 20 points).",
        ),
    ] = None,
    link_events: Annotated[
        Path | None,
        typer.Option(
            "--link-events",
            metavar="FILE",
            help="Write what happened inside links in the first run of each point as CSV: frames, queues, "
            "slots, the air (at most 20 points).",
        ),
    ] = None,
    transfers: Annotated[
        Path | None,
        typer.Option(
            "--transfers",
            metavar="FILE",
            help="Write a row for each transfer, in every run of each point, as CSV (at "
            "most 100 runs of 20 points).",
        ),
    ] = None,
    delays: Annotated[
        Path | None,
        typer.Option(
            "--delays",
            metavar="FILE",
            help="Write how round trips and one-way delays are distributed in every run as CSV, likewise.",
        ),
    ] = None,
    samples: Annotated[
        Path | None,
        typer.Option(
            "--samples",
            metavar="FILE",
            help="Write what flows and links did over time in the first run of each point as CSV, every "
            "run.sample (at most 20 points).",
        ),
    ] = None,
    trace_out: Annotated[
        Path | None,
        typer.Option(
            "--trace-out",
            metavar="FILE",
            help="Write when a flow was delivered each 1500 bytes in the first run, a line of milliseconds "
            "each: delivery opportunities, which link.trace and other emulators replay (a scenario of one "
            "point).",
        ),
    ] = None,
    trace_user: Annotated[
        int,
        typer.Option(
            "--trace-user",
            metavar="NUMBER",
            parser=whole,
            help="Which flow --trace-out is about, counted from 0; in a cell, which user.",
        ),
    ] = 0,
    interval: Annotated[
        str | None,
        typer.Option(
            "--interval",
            metavar="TIME",
            help="Print a line for every so many seconds of the first run (1, or '100 ms'); for a scenario "
            "of one point.",
        ),
    ] = None,
    pcap: Annotated[
        Path | None,
        typer.Option(
            "--pcap",
            metavar="FILE",
            help="Write what the senders' network interfaces see in the first run as a pcap file, for "
            "Wireshark and tshark (a scenario of one point).",
        ),
    ] = None,
    air_pcap: Annotated[
        Path | None,
        typer.Option(
            "--air-pcap",
            metavar="FILE",
            help="Write the frames of a mesh in the first run as a pcap file with radiotap headers (a "
            "scenario of one point).",
        ),
    ] = None,
    ipv6: Annotated[bool, typer.Option("--ipv6", help="Let --pcap write IPv6.")] = False,
    snaplen: Annotated[
        int | None,
        typer.Option(
            "--snaplen",
            metavar="BYTES",
            parser=whole,
            help="How many bytes of each packet --pcap keeps (default: all).",
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            "--replay",
            metavar="FILE",
            help="In place of a scenario: put the packets of a journal (crossfade live --record) through its "
            "links once more; the exit code is 1 where one of them fares differently. --events and "
            "--link-events write what the kernel's TCP and the links did in that run.",
        ),
    ] = None,
    no_cache: NoCacheOption = False,
    quiet: QuietOption = False,
) -> int:
    """Run a scenario and print each metric with its 95 % interval.

    Finished runs are kept in the user's cache: the same run again is instant, and one that was stopped by
    Ctrl-C goes on where it was.

    \b
    crossfade run quickstart --plot throughput.png
    crossfade run quickstart --set tcp.w_max=6 --over channel.p_e=log:0.001:0.1:5 --csv -
    crossfade run my.toml --precision 1% --json
    crossfade run quickstart --columns goodput_bps,rtt_mean_s
    crossfade run classics/slow-start --interval 0.5
    crossfade run my.toml --set run.sample="100 ms" --samples samples.csv
    crossfade run lte-like-cell --trace-out cell.up --trace-user 12
    """
    if replay is not None:
        if scenario is not None:
            raise ScenarioError("--replay: the journal has its scenario; give none")
        for option in context.command.params:
            source = context.get_parameter_source(str(option.name))
            if source and source.name == "COMMANDLINE" and option.name not in WITH_REPLAY:
                raise ScenarioError(f"{option.opts[0]}: --replay is of the run as it was; give it without")
        return _replay(replay, events, link_events)
    if scenario is None:
        raise ScenarioError("SCENARIO: missing (or --replay FILE)")
    keys, axes = read_assignments("--set", set), read_axes(over)
    wanted = read_conditions("--where", where)
    others = (events, link_events, samples, transfers, delays, trace_out, pcap, air_pcap)
    outputs = Outputs(csv, plot, json, scenario, keys, axes, others=others)
    _check_metrics("--y", y, scenario, keys, axes)
    _check_metrics("--columns", columns, scenario, keys, axes)
    only = [name.strip() for name in columns.split(",")] if columns is not None else None
    if events is not None:
        api.write_events(events, scenario, set=keys, over=axes, seed=seed)
    if link_events is not None:
        api.write_events(link_events, scenario, set=keys, over=axes, seed=seed, of_links=True)
    if transfers is not None:
        found = api.transfers(scenario, set=keys, over=axes, runs=runs, seed=seed)
        write_text(transfers, found.to_csv())
    if delays is not None:
        found = api.delays(scenario, set=keys, over=axes, runs=runs, seed=seed)
        write_text(delays, found.to_csv())
    if samples is not None:
        api.write_samples(samples, scenario, set=keys, over=axes, seed=seed)
    if interval is not None:
        print_intervals(scenario, interval, keys, axes, seed, sys.stderr if outputs.on_stdout else sys.stdout)
    if trace_out is not None:
        write_text(trace_out, api.opportunities(scenario, trace_user, set=keys, over=axes, seed=seed))
    if pcap is not None:
        api.write_pcap(pcap, scenario, set=keys, over=axes, seed=seed, ipv6=ipv6, snaplen=snaplen)
    if air_pcap is not None:
        write_bytes(air_pcap, api.air_pcap(scenario, set=keys, over=axes, seed=seed))
    try:
        results = api.run(
            scenario,
            set=keys,
            over=axes,
            runs=runs,
            precision=precision,
            seed=seed,
            methods=read_methods(method),
            jobs=jobs,
            cache=not no_cache,
            progress=not quiet,
        )
    except Interrupted as error:
        console = terminal.console(stderr=outputs.on_stdout)
        raise stop(error, not no_cache, lambda left: terminal.print_results(left.results, console)) from None
    if json:
        terminal.write_out(results.to_json() + "\n")
    elif not (quiet or outputs.on_stdout):
        drawn = y or ",".join(results.figure.y or [])
        if only is None and len(results.points) > MOST_POINTS:
            terminal.print_some_results(results, terminal.console(), MOST_POINTS)
        else:
            terminal.print_results(results, terminal.console(), drawn, only)
    terminal.print_warnings(results.warnings, terminal.console(stderr=True))
    outputs.write_table(results.table(only))
    outputs.draw(
        lambda file: pictures.draw(
            scenario,
            file,
            results=results,
            set=keys,
            over=axes,
            seed=seed,
            x=x,
            y=y,
            by=by,
            panels=panels,
            where=wanted,
            log_y=log_y,
            width=width,
        )
    )
    return 0


def _check_metrics(option: str, y: str | None, scenario: str, keys: Values, axes: Values) -> None:
    """Refuse before anything runs what no result has; which flows and links there are is seen later."""
    over_time = (*timelines.CHOICES, *linkevents.DRAWN)
    for name in not_metrics(y):
        if name not in ("runs", *over_time, *api.check(scenario, set=keys, over=axes).axes):
            hint = near_metrics(name) or "crossfade metrics lists all"
            raise ScenarioError(f"{option} {shortened(name)}: no metric ({hint})")


def _replay(journal: Path, events: Path | None, link_events: Path | None) -> int:
    """One line a link."""
    check_outputs((events, link_events), journal)
    found = api.replay(journal)
    if events is not None:
        write_text(events, api.journal_events(journal).to_csv())
    if link_events is not None:
        write_text(link_events, api.journal_link_events(journal))
    for lane in found:
        verdict = "identical" if lane.difference is None else f"differs {lane.difference}"
        counts = f"{lane.packets:,} packets, {lane.arrived:,} arrived, {lane.lost:,} lost"
        counts += f", {lane.dropped:,} dropped"
        print(one_line(f"{lane.link}: {counts}: {verdict}"))
    return 1 if any(lane.difference for lane in found) else 0
