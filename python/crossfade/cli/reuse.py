"""Command ``crossfade reuse``, which computes the spatial reuse of a mesh."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossfade import api
from crossfade.cli import terminal
from crossfade.cli.groups import Asked, grouped
from crossfade.cli.options import CsvOption, ScenarioArgument
from crossfade.cli.outputs import Outputs, telling_what_is_left


@grouped("method", "precision")
def reuse(
    scenario: ScenarioArgument,
    asked: Asked,
    no_simulation: Annotated[
        bool, typer.Option("--no-simulation", help="Print only the exact number, without the simulated mean.")
    ] = False,
    csv: CsvOption = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw a map with the largest set (a scenario of one point)."
        ),
    ] = None,
) -> None:
    """Compute how many exchanges of a mesh can overlap in time.

    The table has the largest set of exchanges that do not disturb each other, over the links of the flows'
    routes, and the mean number in simulation. An array of n antennas nulls n - 1 of the nodes that it hears.

    \b
    crossfade reuse mesh-chain
    crossfade reuse mesh-chain --over mesh.mac=nulling --plot map.png
    crossfade reuse mesh-chain --over mesh.mac=plain,nulling --over mesh.hops=4,8,12 --no-simulation
    """
    outputs = Outputs(asked, scenario, csv=csv, plot=plot)
    if plot is not None:
        api.plot_mesh(scenario, plot, set=asked.keys, over=asked.axes)
    with telling_what_is_left(kept=not asked.no_cache):
        table = api.reuse_table(scenario, simulated=not no_simulation, **asked.options())
    outputs.print(lambda to: terminal.print_table(table, "exchanges at one time", to))
    outputs.write(table)
