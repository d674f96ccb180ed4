"""What a scenario is: ``crossfade check``, ``schema`` and ``explain``."""

from __future__ import annotations

from typing import Annotated

import typer

from crossfade import api, terminal
from crossfade.commands.options import (
    MethodOption,
    OverOption,
    PrecisionOption,
    RunsOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    read_assignments,
    read_axes,
    read_methods,
)


def check(
    scenario: ScenarioArgument,
    set: SetOption = None,
    over: OverOption = None,
    method: MethodOption = None,
    runs: RunsOption = None,
    precision: PrecisionOption = None,
    seed: SeedOption = None,
) -> None:
    """Read a scenario, say what it would run, and run nothing.

    \b
    crossfade check quickstart
    crossfade check my.toml --over tcp.w_max=6,24
    """
    found = api.check(
        scenario,
        set=read_assignments("--set", set),
        over=read_axes(over),
        runs=runs,
        precision=precision,
        seed=seed,
        methods=read_methods(method),
    )
    axes = "".join(f", {name}: {count}" for name, count in found.axes.items())
    points = f"{found.points} point{'s' if found.points > 1 else ''}"
    stop = ", ".join(f"{name} {value:g}" for name, value in found.stop.items())
    methods = ", ".join(found.methods)
    print(f"ok: {found.title or scenario}: {points}{axes} ({methods}; {stop}, seed {found.seed})")
    terminal.print_warnings(found.warnings, terminal.console(stderr=True))


def schema() -> None:
    """Print the JSON Schema of a scenario, for editors.

    \b
    crossfade schema > crossfade.schema.json
    """
    print(api.schema())


def explain(key: Annotated[str, typer.Argument(metavar="KEY", help="A dotted key of a scenario.")]) -> None:
    """Say what a key of a scenario means, and what is allowed.

    \b
    crossfade explain channel.fd_t
    crossfade explain tcp
    """
    print(api.explain(key))
