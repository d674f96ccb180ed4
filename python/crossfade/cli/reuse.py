"""``crossfade reuse``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossfade import api
from crossfade.cli import terminal
from crossfade.cli.options import (
    CsvOption,
    JobsOption,
    NoCacheOption,
    Outputs,
    OverOption,
    QuietOption,
    RunsOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    read_assignments,
    read_axes,
    stop,
)
from crossfade.results.interrupted import Interrupted


def reuse(
    scenario: ScenarioArgument,
    set: SetOption = None,
    over: OverOption = None,
    runs: RunsOption = None,
    seed: SeedOption = None,
    jobs: JobsOption = None,
    csv: CsvOption = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw a map with the largest set, of a scenario of one point."
        ),
    ] = None,
    no_simulation: Annotated[
        bool, typer.Option("--no-simulation", help="The exact figure alone, without the simulated mean.")
    ] = False,
    no_cache: NoCacheOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say how many exchanges of a mesh can go on at once.

    Beside it stands how many do in simulation.

    The largest set is searched over the links of the flows' routes: no node of one exchange disturbs a node
    of another, where an array of n antennas nulls n - 1 of those that it can hear.

    \b
    crossfade reuse mesh-chain
    crossfade reuse mesh-chain --over mesh.mac=nulling --plot map.png
    crossfade reuse mesh-chain --over mesh.mac=plain,nulling --over mesh.hops=4,8,12 --no-simulation
    """
    keys, axes = read_assignments("--set", set), read_axes(over)
    outputs = Outputs(csv, plot, False, scenario, keys, axes)
    if plot is not None:
        api.plot_mesh(scenario, plot, set=keys, over=axes)
    try:
        table = api.reuse(
            scenario,
            set=keys,
            over=axes,
            runs=runs,
            seed=seed,
            jobs=jobs,
            cache=not no_cache,
            progress=not quiet,
            simulated=not no_simulation,
        )
    except Interrupted as error:
        raise stop(error, kept=not no_cache) from None
    if not (quiet or outputs.on_stdout):
        terminal.print_table(table, "exchanges at one time", terminal.console())
    outputs.write_table(table)
