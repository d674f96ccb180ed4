"""Command ``crossfade paper``, which computes figures and verdicts of papers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from crossfade.cli import terminal
from crossfade.cli.groups import Asked, grouped
from crossfade.cli.options import CsvOption, PlotOption
from crossfade.cli.outputs import Outputs, telling_what_is_left
from crossfade.errors import ScenarioError
from crossfade.figures.plot import plot as draw
from crossfade.papers import PAPERS, claims, find, paper_table
from crossfade.papers import readings as judged_by_readings
from crossfade.papers.matrix import matrix_table
from crossfade.papers.verdicts import verdict_table


@dataclass(frozen=True)
class AskedOfFigures(Asked):
    """Options of a paper's figure, whose axes have the names of its columns."""

    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over", metavar="COLUMN=VALUES", help="Replace an axis, named as its column (p_e=0.01,0.1)."
        ),
    ] = None


@grouped("precision")
def paper(
    *,
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY", help="A paper (default: list all papers and figures).")
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[FIGURE]]", help="A figure or table (default: judge the paper's claims)."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Halve the duration of runs, for a first look.")
    ] = False,
    reading: Annotated[
        str | None,
        typer.Option(
            "--reading",
            metavar="NAME",
            help="Reading of the paper: one way to decide what its text leaves open.",
        ),
    ] = None,
    readings: Annotated[
        bool, typer.Option("--readings", help="Judge the claims under each reading of the paper.")
    ] = False,
    claim: Annotated[
        list[str] | None,
        typer.Option("--claim", metavar="ID", help="Judge only this claim. May be given several times."),
    ] = None,
    asked: AskedOfFigures,
    csv: CsvOption = None,
    plot: PlotOption = None,
) -> None:
    """Compute a figure or table of a paper, or verdicts on its claims.

    \b
    crossfade paper                                      all papers and their figures
    crossfade paper tcp-markov                           the claims, each with its verdict
    crossfade paper tcp-rlp --readings                   the claims under each reading of the text
    crossfade paper tcp-markov fig2 --plot fig2.png
    crossfade paper tcp-markov fig2 --over p_e=0.001,0.01,0.1 --over channel=iid,0.08 --csv -
    """
    if key is None:
        for listed in PAPERS.values():
            print(f"{listed.KEY}: {listed.CITATION}")
            for name, figure in listed.FIGURES.items():
                print(f"  {name:<8}{figure.caption}")
        return
    outputs = Outputs(asked, csv=csv, plot=plot)
    chosen = find(key)
    options: dict[str, Any] = {"quick": quick, "methods": asked.methods, **asked.options()}
    with telling_what_is_left(
        not asked.no_cache,
        lambda left: terminal.print_table(left.table, "what is finished", outputs.console),
    ):
        if name is None:
            if asked.over or plot:
                raise ScenarioError(
                    f"{'--over' if asked.over else '--plot'}: needs a figure ({', '.join(chosen.FIGURES)})"
                )
            if readings:
                _matrix(key, reading, claim, outputs, options)
                return
            verdicts = claims(key, reading=reading, only=claim, **options)
            outputs.print(lambda to: terminal.print_verdicts(chosen, verdicts, to))
            outputs.write(verdict_table(verdicts))
            return
        if readings or claim:
            raise ScenarioError(f"{'--readings' if readings else '--claim'}: is about claims, not a figure")
        table = paper_table(key, name, reading=reading, **options)
        figure = chosen.FIGURES[name]
        outputs.print(lambda to: terminal.print_table(table, figure.caption, to))
        outputs.write(table)
        outputs.draw(lambda file: draw(figure.to_draw(table), str(file), **figure.asked(table)))


def _matrix(
    key: str, reading: str | None, only: list[str] | None, outputs: Outputs, options: dict[str, Any]
) -> None:
    """Print the verdicts on a paper's claims under each of its readings."""
    if reading is not None:
        raise ScenarioError(f"--reading {reading}: --readings is about all of them")
    matrix = judged_by_readings(key, only=only, **options)
    outputs.print(lambda to: terminal.print_matrix(find(key), matrix, to))
    outputs.write(matrix_table(matrix))
