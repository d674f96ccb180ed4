"""``crossfade compare`` and ``crossfade best``."""

from __future__ import annotations

from typing import Annotated

import typer

from crossfade._crossfade import USUAL_METRIC
from crossfade.cli import terminal
from crossfade.cli.groups import AskedOfCache
from crossfade.cli.options import (
    CsvOption,
    JobsOption,
    MethodOption,
    NoCacheOption,
    Outputs,
    OverOption,
    PlotOption,
    PrecisionOption,
    QuietOption,
    RunsOption,
    SeedOption,
    SetOption,
    WhereOption,
    read_conditions,
    read_methods,
    stop,
)
from crossfade.comparison.best import best as find_best
from crossfade.comparison.compare import compare as compare_pairs
from crossfade.results.interrupted import Interrupted

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO|RESULTS",
        help="A scenario file, the name of one that comes with crossfade, or a results file.",
    ),
]
MetricOption = Annotated[
    str, typer.Option("--metric", metavar="NAME", help="What is compared, also of a flow or link.")
]
TogetherOption = Annotated[
    bool,
    typer.Option(
        "--together", help="Let all intervals hold at once with 95 % (Bonferroni), instead of each by itself."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print everything as JSON instead of tables.")]


def compare(
    source: SourceArgument,
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="KEYS", help="The axes whose values are compared, by commas; or method."
        ),
    ],
    metric: MetricOption = USUAL_METRIC,
    together: TogetherOption = False,
    where: WhereOption = None,
    set: SetOption = None,
    over: OverOption = None,
    method: MethodOption = None,
    runs: RunsOption = None,
    precision: PrecisionOption = None,
    seed: SeedOption = None,
    jobs: JobsOption = None,
    json: JsonOption = False,
    csv: CsvOption = None,
    no_cache: NoCacheOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say which curve is higher, by how much, and where two cross.

    Differences are taken run by run (all points share their random numbers); a verdict is given where the
    95 % interval of the difference does not contain 0.

    \b
    crossfade compare quickstart --by tcp.variant
    crossfade compare quickstart --by method --method analysis,simulation --metric throughput_per_slot
    crossfade compare results.sqlite --by tcp.variant --together --csv -
    crossfade compare results.sqlite --by tcp.variant --where "channel.p_e<0.05"
    """
    asked = AskedOfCache(set, over, runs, precision, seed, jobs, quiet, no_cache)
    outputs = Outputs(csv, None, json, source, asked.keys, asked.axes)
    try:
        found = compare_pairs(
            source,
            by,
            metric=metric,
            methods=read_methods(method),
            together=together,
            where=read_conditions("--where", where),
            **asked.options(),
        )
    except Interrupted as error:
        raise stop(error, kept=not no_cache) from None
    if json:
        terminal.write_out(found.to_json() + "\n")
    elif not (quiet or outputs.on_stdout):
        terminal.print_comparison(found, terminal.console())
    terminal.print_warnings(found.warnings, terminal.console(stderr=True))
    outputs.write(found.table(), None, None, None, "")


def best(
    source: SourceArgument,
    choose: Annotated[
        str,
        typer.Option("--choose", metavar="KEYS", help="The axes whose values are the choices, by commas."),
    ],
    metric: MetricOption = USUAL_METRIC,
    lowest: Annotated[
        bool | None,
        typer.Option(
            "--lowest/--highest", help="Which is best, if not the side that is the better one of the metric."
        ),
    ] = None,
    subject_to: Annotated[
        list[str] | None,
        typer.Option(
            "--subject-to",
            metavar="LIMIT",
            help='What a choice must keep to ("rtt_p95_s<0.8"). May be given several times.',
        ),
    ] = None,
    switching: Annotated[
        bool,
        typer.Option("--switching", help="Let --csv write the ranges of each axis with the choice to use."),
    ] = False,
    together: TogetherOption = False,
    where: WhereOption = None,
    set: SetOption = None,
    over: OverOption = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method", metavar="NAME", help="The method that decides (default: simulation, if there is one)."
        ),
    ] = None,
    runs: RunsOption = None,
    precision: PrecisionOption = None,
    seed: SeedOption = None,
    jobs: JobsOption = None,
    json: JsonOption = False,
    csv: CsvOption = None,
    plot: PlotOption = None,
    no_cache: NoCacheOption = False,
    quiet: QuietOption = False,
) -> None:
    """Find the best choice at every point, and where to change it.

    A choice is called best where no other one can be, by the 95 % intervals of the differences run by run;
    otherwise all that cannot be told from it are named.

    \b
    crossfade best quickstart --choose tcp.variant
    crossfade best classics/bufferbloat --choose link.queue.discipline --subject-to "rtt_p95_s<0.1"
    crossfade best results.sqlite --choose tcp.variant,tcp.w_max --switching --csv switching.csv
    crossfade best mimo-arq --choose phy.scheme,phy.detector --plot best.png
    """
    asked = AskedOfCache(set, over, runs, precision, seed, jobs, quiet, no_cache)
    outputs = Outputs(csv, plot, json, source, asked.keys, asked.axes)
    try:
        found = find_best(
            source,
            choose,
            metric=metric,
            lowest=lowest,
            subject_to=subject_to or [],
            method=method,
            together=together,
            where=read_conditions("--where", where),
            **asked.options(),
        )
    except Interrupted as error:
        raise stop(error, kept=not no_cache) from None
    if json:
        terminal.write_out(found.to_json() + "\n")
    elif not (quiet or outputs.on_stdout):
        terminal.print_best(found, terminal.console())
        terminal.print_switching(found, terminal.console())
    terminal.print_warnings(found.warnings, terminal.console(stderr=True))
    outputs.write_table(found.switching_table() if switching else found.table())
    if plot is not None:
        found.plot(plot, title=found.results.title)
        terminal.say(f"wrote {plot}")
