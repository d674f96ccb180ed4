"""``crossfade compare`` and ``crossfade best``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from crossfade.cli import terminal
from crossfade.cli.groups import Asked, Compared, grouped
from crossfade.cli.options import CsvOption, JsonOption, PlotOption
from crossfade.cli.outputs import Outputs, telling_what_is_left
from crossfade.comparison.best import best as find_best
from crossfade.comparison.compare import compare as compare_pairs

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO|RESULTS",
        help="A scenario file, the name of one that comes with crossfade, or a results file.",
    ),
]


@grouped()
def compare(
    source: SourceArgument,
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="KEYS", help="The axes whose values are compared, by commas; or method."
        ),
    ],
    compared: Compared,
    asked: Asked,
    json: JsonOption = False,
    csv: CsvOption = None,
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
    outputs = Outputs(asked, source, csv=csv, json=json)
    with telling_what_is_left(kept=not asked.no_cache):
        found = compare_pairs(source, by, methods=asked.methods, **compared.options(), **asked.options())
    outputs.print(lambda to: terminal.print_comparison(found, to), found)
    terminal.print_warnings(found.warnings)
    outputs.write(found.table())


@dataclass(frozen=True)
class AskedOfOneMethod(Asked):
    """What is asked for where a single method decides."""

    method: Annotated[
        str | None,
        typer.Option(
            "--method", metavar="NAME", help="The method that decides (default: simulation, if there is one)."
        ),
    ] = None


@grouped()
def best(
    source: SourceArgument,
    *,
    choose: Annotated[
        str,
        typer.Option("--choose", metavar="KEYS", help="The axes whose values are the choices, by commas."),
    ],
    compared: Compared,
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
    asked: AskedOfOneMethod,
    json: JsonOption = False,
    csv: CsvOption = None,
    plot: PlotOption = None,
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
    outputs = Outputs(asked, source, csv=csv, plot=plot, json=json)
    with telling_what_is_left(kept=not asked.no_cache):
        found = find_best(
            source,
            choose,
            lowest=lowest,
            subject_to=subject_to or [],
            method=asked.method,
            **compared.options(),
            **asked.options(),
        )
    outputs.print(lambda to: terminal.print_best(found, to), found)
    terminal.print_warnings(found.warnings)
    outputs.write(found.switching_table() if switching else found.table())
    outputs.draw(lambda file: found.plot(file, title=found.results.title))
