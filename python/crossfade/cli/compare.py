"""Commands ``crossfade compare`` and ``crossfade best``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, get_args

import typer

from crossfade.cli import messages, terminal
from crossfade.cli.groups import Asked, Compared, grouped
from crossfade.cli.options import CsvOption, JsonOption, PlotOption
from crossfade.cli.outputs import Outputs, telling_what_is_left
from crossfade.cli.traced import Traced, failed_decision, failed_pair, worst_decision, worst_pair
from crossfade.comparison.best import Verdict as Decided
from crossfade.comparison.best import best as find_best
from crossfade.comparison.best import decisions_table, ranges_table
from crossfade.comparison.compare import compare as compare_pairs
from crossfade.comparison.compare import pairs_table
from crossfade.comparison.gates import Gate
from crossfade.comparison.paired import Verdict
from crossfade.errors import ScenarioError
from crossfade.files.kinds import RESULTS, SCENARIO, expect

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO|RESULTS",
        help="A scenario file, the name of one that comes with crossfade, or a results file.",
    ),
]


FailOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="CONDITION",
        help="Exit with 1 if this condition holds (see above), and name the run. May be given several times.",
    ),
]


def check_gates(number: str, conditions: list[str] | None) -> None:
    """Raise an error for an invalid condition of ``--fail-if``, before any run."""
    verdicts = get_args(Verdict if number == "difference" else Decided)
    for text in conditions or []:
        Gate.parse(text, number, verdicts)


@grouped("point")
def compare(
    source: SourceArgument,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="KEYS",
            help="Swept keys whose values are compared, separated by commas; or method.",
        ),
    ],
    compared: Compared,
    asked: Asked,
    fail_if: FailOption = None,
    json: JsonOption = False,
    csv: CsvOption = None,
) -> int:
    """Compare curves: which is higher, by how much, where they cross.

    Differences are taken run by run, since all points share their random numbers. A curve is called higher
    where the 95 % interval of the difference excludes 0. Of each pair, the run in which the first does worst
    is named, with the command that traces it.

    With --fail-if the exit code is 1 where a pair meets a condition: a verdict (lower, higher, equal, "too
    close to call"), or a limit of the mean difference ("difference<-2%" of the second, "difference<-1e5").

    \b
    crossfade compare quickstart --by tcp.variant
    crossfade compare quickstart --by method --method analysis,simulation --metric throughput_per_slot
    crossfade compare results.sqlite --by tcp.variant --together --csv -
    crossfade compare results.sqlite --by tcp.variant --where "channel.p_e<0.05"
    crossfade compare results.sqlite --by tcp.variant --fail-if "difference<-50%"
    """
    check_gates("difference", fail_if)
    expect(source, [SCENARIO, RESULTS])
    outputs = Outputs(asked, source, csv=csv, json=json)
    with telling_what_is_left(kept=not asked.no_cache):
        found = compare_pairs(source, by, methods=asked.methods, **compared.options(), **asked.options())
    outputs.print(lambda to: terminal.print_comparison(found, to), found)
    terminal.print_warnings(found.warnings)
    outputs.write(pairs_table(found))
    failures = found.failures(fail_if or [])
    for gate, pair in failures:
        messages.say(failed_pair(found, pair, gate, Traced(source, asked)))
    if not failures and not asked.quiet and (worst := found.worst) is not None:
        messages.say(worst_pair(found, worst, Traced(source, asked)))
    return 1 if failures else 0


@dataclass(frozen=True)
class AskedOfOneMethod(Asked):
    """Options for a scenario whose points are decided by a single method."""

    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Method that decides (default: simulation, if the scenario has it).",
        ),
    ] = None


@grouped("point")
def best(
    source: SourceArgument,
    *,
    choose: Annotated[
        str,
        typer.Option(
            "--choose", metavar="KEYS", help="Swept keys whose values are the choices, separated by commas."
        ),
    ],
    compared: Compared,
    lowest: Annotated[
        bool | None,
        typer.Option(
            "--lowest/--highest",
            help="Whether the lowest or highest value is best (default: as suits the metric).",
        ),
    ] = None,
    subject_to: Annotated[
        list[str] | None,
        typer.Option(
            "--subject-to",
            metavar="LIMIT",
            help='Limit that a choice must meet ("rtt_p95_s<0.8"). May be given several times.',
        ),
    ] = None,
    switching: Annotated[
        bool,
        typer.Option("--switching", help="Write to --csv the ranges of each axis with the choice to use."),
    ] = False,
    within: Annotated[
        str | None,
        typer.Option(
            "--within",
            metavar="SHARE",
            help="Find the first choice, in the order of the axis, that loses at most this share against the "
            "best (--within 2%). List the choices from cheap to costly.",
        ),
    ] = None,
    asked: AskedOfOneMethod,
    fail_if: FailOption = None,
    json: JsonOption = False,
    csv: CsvOption = None,
    plot: PlotOption = None,
) -> int:
    """Find the best choice at every point, and where to change it.

    A choice is called best if the 95 % intervals of the differences, taken run by run, rule out all others;
    otherwise every choice that may be the best is named.

    With --fail-if the exit code is 1 where a decision meets a condition: a verdict ("too close to call", "no
    feasible choice"), a limit of the margin over the runner-up ("margin<2%"), or a choice ("choice!=reno").

    \b
    crossfade best quickstart --choose tcp.variant
    crossfade best classics/bufferbloat --choose link.queue.discipline --subject-to "rtt_p95_s<0.1"
    crossfade best results.sqlite --choose tcp.variant,tcp.w_max --switching --csv switching.csv
    crossfade best mimo-arq --choose phy.scheme,phy.detector --plot best.png
    crossfade best results.sqlite --choose tcp.w_max --within 2%
    crossfade best results.sqlite --choose tcp.variant --fail-if "no feasible choice"
    """
    check_gates("margin", fail_if)
    expect(source, [SCENARIO, RESULTS])
    if switching and csv is None:
        raise ScenarioError("--switching: needs --csv FILE, which it changes")
    outputs = Outputs(asked, source, csv=csv, plot=plot, json=json)
    with telling_what_is_left(kept=not asked.no_cache):
        found = find_best(
            source,
            choose,
            lowest=lowest,
            within=within,
            subject_to=subject_to or [],
            method=asked.method,
            **compared.options(),
            **asked.options(),
        )
    outputs.print(lambda to: terminal.print_best(found, to), found)
    terminal.print_warnings(found.warnings)
    outputs.write(ranges_table(found) if switching else decisions_table(found))
    outputs.draw(lambda file: found.plot(file, title=found.results.title))
    failures = found.failures(fail_if or [])
    for gate, at in failures:
        messages.say(failed_decision(found, at, gate, Traced(source, asked)))
    if not failures and not asked.quiet and (line := worst_decision(found, Traced(source, asked))):
        messages.say(line)
    return 1 if failures else 0
