"""What several commands take: options, and how their values are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from crossfade import api
from crossfade.errors import ScenarioError, shortened
from crossfade.figures.wanted import condition
from crossfade.wording import METHODS


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{shortened(text)}: must be a whole number") from None


ScenarioArgument = Annotated[
    str,
    typer.Argument(metavar="SCENARIO", help="A scenario file, or the name of one that comes with crossfade."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Set a key (--set tcp.w_max=6). May be given several times."
    ),
]
OverOption = Annotated[
    list[str] | None,
    typer.Option(
        "--over",
        metavar="KEY=VALUES",
        help="Run over values of a key: a,b,c or start:stop:step or log:start:stop:points. "
        "Replaces the scenario's axis of that key. May be given several times.",
    ),
]
MethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="LIST",
        help=f"Methods, separated by commas: {', '.join(METHODS)}.",
    ),
]
RunsOption = Annotated[
    int | None, typer.Option("--runs", metavar="N", parser=whole, help="Replications of each point.")
]
PrecisionOption = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="SHARE",
        help="Run until the 95 % interval of the goodput is within this share of it (--precision 1%).",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="S", parser=whole, help="The seed of all random streams.")
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        parser=whole,
        help="Threads (default: all cores). Results do not depend on it.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print everything as JSON instead of tables.")]
CsvOption = Annotated[
    str | None,
    typer.Option("--csv", metavar="FILE", help="Write the exact numbers as CSV; - is standard output."),
]
PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw a figure: FILE ends in .png, .pdf or .svg."),
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Compute every run, and keep none in the user's cache.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print no table and no progress.")]
PlanOption = Annotated[
    str | None,
    typer.Option(
        "--plan",
        metavar="N",
        help="Which plan of a results file that has several: its number, 1 being the oldest, or its id "
        "(default: the one asked for last).",
    ),
]
XOption = Annotated[
    str | None, typer.Option("--x", metavar="COLUMN", help="What runs along the figure's x axis.")
]
YOption = Annotated[
    str | None,
    typer.Option(
        "--y",
        metavar="COLUMN",
        help="The metric on the figure's y axis, or the ratio of two (A/B); several, by commas, each with "
        "panels of its own.",
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="METRICS",
        help="These metrics alone in the table and in --csv, by commas (crossfade metrics lists all).",
    ),
]
LogYOption = Annotated[
    bool | None,
    typer.Option(
        "--log-y/--linear-y",
        help="How the figure's y axis runs (default: logarithmic for error rates over decades).",
        show_default=False,
    ),
]
ByOption = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMNS", help="What tells the figure's curves apart, by commas."),
]
PanelsOption = Annotated[
    str | None,
    typer.Option(
        "--panels",
        metavar="COLUMNS",
        help="A panel for each value of an axis; of two, by a comma, the first across, the second down.",
    ),
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE",
        help="These rows alone; with <, <=, > or >= those on one side (--where 'time_s<5'). May be given "
        "several times.",
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
WidthOption = Annotated[
    str | None,
    typer.Option(
        "--width",
        metavar="WIDTH",
        help="single (3.5 in) or double (7.16 in) column, or millimetres (default: as the panels need).",
    ),
]


def read_assignments(option: str, texts: Sequence[str] | None) -> dict[str, Any]:
    """``KEY=VALUE`` each, as keys and values."""
    return {key: api.parse_value(value) for key, value in read_pairs(option, texts)}


def read_axes(texts: Sequence[str] | None) -> dict[str, Any]:
    """``KEY=VALUES`` each, as axes."""
    # A list in brackets is TOML (its items may be tables); anything else is a range, which the core reads.
    return {
        key: api.parse_value(values) if values.lstrip().startswith("[") else values
        for key, values in read_pairs("--over", texts)
    }


def read_pairs(option: str, texts: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """``KEY=VALUE`` each, as texts."""
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not (key.strip() and equals and value.strip()):
            form = "KEY=VALUES with at least one value" if option == "--over" else "KEY=VALUE"
            raise ScenarioError(f"{option} {shortened(text)}: must be {form}")
        yield key.strip(), value


def read_conditions(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """``KEY=VALUE`` each, or with another comparison, which stays at the end of the column."""
    return dict(condition(option, text) for text in texts or ())


def read_methods(text: str | None) -> list[str] | None:
    """A list of methods."""
    return None if text is None else [method.strip() for method in text.split(",")]
