"""Options that several commands share, and parsers of their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from crossfade import api, plans
from crossfade.cli import completion
from crossfade.errors import ScenarioError, shortened
from crossfade.figures.wanted import condition
from crossfade.plans.options import Options
from crossfade.plans.selection import axis_of


def whole(text: str) -> int:
    """Parse a whole number."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{shortened(text)}: must be a whole number") from None


ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A scenario file, or the name of one that comes with crossfade.",
        autocompletion=completion.scenarios,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a key of the scenario (--set tcp.w_max=6). May be given several times.",
        autocompletion=completion.keys,
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="S", parser=whole, help="The seed of all random streams.")
]
PointOption = Annotated[
    int | None,
    typer.Option(
        "--point",
        metavar="N",
        parser=whole,
        help="Take only point N of the sweep, counted from 0 (crossfade check --points lists all).",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print everything as JSON instead of tables.")]
CsvOption = Annotated[
    str | None,
    typer.Option("--csv", metavar="FILE", help="Write unrounded numbers as CSV; - is standard output."),
]
PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw a figure: FILE ends in .png, .pdf or .svg."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print no table and no progress.")]
PlanOption = Annotated[
    str | None,
    typer.Option(
        "--plan",
        metavar="N",
        help="Plan to read from a results file that has several, one per sweep: its number, 1 being the "
        "oldest, or its id (default: the one used last).",
    ),
]
XOption = Annotated[
    str | None,
    typer.Option("--x", metavar="COLUMN", help="Column on the figure's x axis: a swept key or a metric."),
]
YOption = Annotated[
    str | None,
    typer.Option(
        "--y",
        metavar="COLUMN",
        help="Metric on the figure's y axis, or the ratio of two (A/B). Several, separated by commas, have "
        "panels of their own.",
    ),
]
ByOption = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="COLUMNS",
        help="Swept keys that distinguish the figure's curves, separated by commas.",
    ),
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE",
        help="Keep only rows with this value; <, <=, > and >= keep a range (--where 'time_s<5'). May be "
        "given several times.",
    ),
]


def read_assignments(option: str, texts: Sequence[str] | None) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` items as keys and values."""
    return {key: api.parse_value(value) for key, value in read_pairs(option, texts)}


def read_axes(texts: Sequence[str] | None) -> dict[str, Any]:
    """Parse ``KEY=VALUES`` items as axes."""
    # A list in brackets is TOML (its items may be tables); anything else is a range, which the core reads.
    return {
        key: api.parse_value(values) if values.lstrip().startswith("[") else values
        for key, values in read_pairs("--over", texts)
    }


def read_pairs(option: str, texts: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Parse ``KEY=VALUE`` items as keys and texts."""
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not (key.strip() and equals and value.strip()):
            form = "KEY=VALUES with at least one value" if option == "--over" else "KEY=VALUE"
            raise ScenarioError(f"{option} {shortened(text)}: must be {form}")
        yield key.strip(), value


def read_conditions(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """Parse conditions ``KEY=VALUE``; another comparison stays at the end of the key."""
    return dict(condition(option, text) for text in texts or ())


def chosen_points(scenario: str, conditions: Mapping[str, str], set: Any, over: Any) -> dict[str, str]:
    """The conditions whose columns are axes, which choose points."""
    if not conditions:
        return {}
    axes = plans.load(scenario, Options(set or None, over or None)).description["axes"]
    return {name: value for name, value in conditions.items() if axis_of(name) in axes}


def read_methods(text: str | None) -> list[str] | None:
    """Parse a list of methods; None without the option."""
    return None if text is None else [method.strip() for method in text.split(",")]
