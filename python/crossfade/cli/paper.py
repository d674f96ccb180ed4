"""``crossfade paper``."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from crossfade.cli import terminal
from crossfade.cli.options import (
    CsvOption,
    JobsOption,
    MethodOption,
    NoCacheOption,
    Outputs,
    PlotOption,
    QuietOption,
    RunsOption,
    SeedOption,
    SetOption,
    read_assignments,
    read_axes,
    read_methods,
    stop,
)
from crossfade.errors import ScenarioError
from crossfade.figures.plot import plot as draw
from crossfade.papers import PAPERS, claims, find, verdict_table
from crossfade.papers import paper as paper_table
from crossfade.papers import readings as judged_by_readings
from crossfade.results.interrupted import Interrupted


def paper(
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY", help="A paper. Without it: what there is.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[FIGURE]]", help="A figure or table. Without it: the paper's claims."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Runs half as long, for a first look.")] = False,
    method: MethodOption = None,
    set: SetOption = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over", metavar="COLUMN=VALUES", help="Replace an axis, named as its column (p_e=0.01,0.1)."
        ),
    ] = None,
    reading: Annotated[
        str | None,
        typer.Option("--reading", metavar="NAME", help="Decide what the paper leaves open as this reading."),
    ] = None,
    readings: Annotated[
        bool, typer.Option("--readings", help="The claims under each reading of the paper.")
    ] = False,
    claim: Annotated[
        list[str] | None, typer.Option("--claim", metavar="ID", help="Judge this claim alone (repeatable).")
    ] = None,
    runs: RunsOption = None,
    seed: SeedOption = None,
    jobs: JobsOption = None,
    csv: CsvOption = None,
    plot: PlotOption = None,
    no_cache: NoCacheOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compute a figure or table of a paper, or verdicts on its claims.

    \b
    crossfade paper                                      what there is
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
    outputs = Outputs(csv, plot, json=False)
    chosen = find(key)
    options: dict[str, Any] = {
        "quick": quick,
        "set": read_assignments("--set", set),
        "runs": runs,
        "seed": seed,
        "methods": read_methods(method),
        "jobs": jobs,
        "cache": not no_cache,
        "progress": not quiet,
    }
    try:
        if name is None:
            if over or plot:
                raise ScenarioError(
                    f"{'--over' if over else '--plot'}: needs a figure ({', '.join(chosen.FIGURES)})"
                )
            if readings:
                _matrix(key, reading, claim, outputs, options)
                return
            verdicts = claims(key, reading=reading, only=claim, **options)
            if not (quiet or outputs.on_stdout):
                terminal.print_verdicts(chosen, verdicts, terminal.console())
            outputs.write_table(verdict_table(verdicts))
        elif readings or claim:
            raise ScenarioError(f"{'--readings' if readings else '--claim'}: is about claims, not a figure")
        else:
            table = paper_table(key, name, reading=reading, over=read_axes(over), **options)
            figure = chosen.FIGURES[name]
            if not (quiet or outputs.on_stdout):
                terminal.print_table(table, figure.caption, terminal.console())
            outputs.write_table(table)
            outputs.draw(lambda file: draw(figure.to_draw(table), str(file), **figure.asked(table)))
    except Interrupted as error:
        console = terminal.console(stderr=outputs.on_stdout)
        show = partial(terminal.print_table, title="what is finished", to=console)
        raise stop(error, not no_cache, lambda left: show(left.table)) from None


def _matrix(
    key: str, reading: str | None, only: list[str] | None, outputs: Outputs, options: dict[str, Any]
) -> None:
    """The claims of a paper under each of its readings."""
    if reading is not None:
        raise ScenarioError(f"--reading {reading}: --readings is about all of them")
    matrix = judged_by_readings(key, only=only, **options)
    if options["progress"] and not outputs.on_stdout:
        terminal.print_matrix(find(key), matrix, terminal.console())
    outputs.write_table(matrix.table())
