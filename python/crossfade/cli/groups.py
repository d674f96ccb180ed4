"""Groups of options that several commands share: frozen dataclasses, each a parameter of a command.

A :func:`grouped` command has the fields of its groups among its own parameters for typer: ``--help`` of every
command lists shared options in the order of this module.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, ParamSpec, TypeVar, get_type_hints

import typer

from crossfade._crossfade import USUAL_METRIC
from crossfade.cli import completion
from crossfade.cli.options import (
    ByOption,
    PointOption,
    QuietOption,
    SeedOption,
    SetOption,
    WhereOption,
    XOption,
    YOption,
    read_assignments,
    read_axes,
    read_conditions,
    read_methods,
    whole,
)
from crossfade.figures.style import Page, width_in_inches
from crossfade.plans.options import RunOptions, Values
from crossfade.wording import METHODS

P = ParamSpec("P")
R = TypeVar("R")


def grouped(*without: str) -> Callable[[Callable[P, R]], Callable[..., R]]:
    """Decorator of a command that replaces each group by its fields, each an option of its own.

    Fields in ``without`` are no options of this command, and keep their defaults.
    """

    def of(command: Callable[P, R]) -> Callable[..., R]:
        hints = get_type_hints(command, include_extras=True)
        parameters: dict[str, inspect.Parameter] = {}
        groups: dict[str, list[str]] = {}
        for name, parameter in inspect.signature(command).parameters.items():
            # Keyword-only, since parameters without default may follow a group; typer calls by keyword.
            found = {name: parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY)}
            if is_dataclass(hints[name]):
                options = get_type_hints(hints[name], include_extras=True)
                found = {
                    field.name: inspect.Parameter(
                        field.name,
                        parameter.KEYWORD_ONLY,
                        default=field.default,
                        annotation=options[field.name],
                    )
                    for field in fields(hints[name])
                    if field.name not in without
                }
                groups[name] = list(found)
            parameters |= found

        @functools.wraps(command)
        def gathered(**given: Any) -> R:
            for name, options in groups.items():
                given[name] = hints[name](**{option: given.pop(option) for option in options})
            return command(**given)  # type: ignore[call-arg]

        gathered.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
        gathered.__annotations__ = {name: one.annotation for name, one in parameters.items()}
        return gathered

    return of


@dataclass(frozen=True)
class Asked:
    """Options that change a scenario, and that say how it is run."""

    set: SetOption = None
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="KEY=VALUES",
            autocompletion=completion.keys,
            help="Sweep a key over values: a,b,c or start:stop:step or log:start:stop:points. "
            "Replaces the scenario's axis of that key. May be given several times.",
        ),
    ] = None
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="LIST",
            help=f"Methods, separated by commas: {', '.join(METHODS)}.",
        ),
    ] = None
    runs: Annotated[
        int | None,
        typer.Option("--runs", metavar="N", parser=whole, help="Number of replications of each point."),
    ] = None
    precision: Annotated[
        str | None,
        typer.Option(
            "--precision",
            metavar="SHARE",
            help="Add runs until goodput's 95 % interval is within this share of its mean (--precision 1%).",
        ),
    ] = None
    seed: SeedOption = None
    point: PointOption = None
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="N",
            parser=whole,
            help="Number of threads (default: all cores). Results do not depend on it.",
        ),
    ] = None
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write the user's cache of finished runs.")
    ] = False
    quiet: QuietOption = False

    @functools.cached_property
    def keys(self) -> Values:
        """Keys and values of ``--set``."""
        return read_assignments("--set", self.set)

    @functools.cached_property
    def axes(self) -> Values:
        """Keys and values of ``--over``."""
        return read_axes(self.over)

    @property
    def methods(self) -> Sequence[str] | None:
        """Methods of ``--method``; None without the option."""
        return read_methods(self.method)

    def options(self, kind: type[Any] = RunOptions) -> dict[str, Any]:
        """Keyword arguments for a function with options of type ``kind`` (:mod:`crossfade.plans`)."""
        found: dict[str, Any] = {"set": self.keys or None, "over": self.axes or None, "seed": self.seed}
        found |= {"point": self.point}
        found |= {"runs": self.runs, "precision": self.precision, "jobs": self.jobs}
        found |= {"cache": not self.no_cache, "progress": not self.quiet}
        return {name: value for name, value in found.items() if name in kind.__optional_keys__}


@dataclass(frozen=True)
class Compared:
    """Options of a comparison: its metric, its rows, and whether all intervals hold together."""

    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Metric to compare, also that of one flow or link (reverse.queue_drops).",
            autocompletion=completion.metrics,
        ),
    ] = USUAL_METRIC
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="Widen the intervals so that all hold at once with 95 % (Bonferroni).",
        ),
    ] = False
    where: WhereOption = None

    def options(self) -> dict[str, Any]:
        """Keyword arguments for functions that compare."""
        return vars(self) | {"where": read_conditions("--where", self.where)}


@dataclass(frozen=True)
class Drawn:
    """Options of a figure."""

    x: XOption = None
    y: YOption = None
    by: ByOption = None
    panels: Annotated[
        str | None,
        typer.Option(
            "--panels",
            metavar="COLUMNS",
            help="Swept key with a panel for each value; of two (A,B) the first runs across.",
        ),
    ] = None
    where: WhereOption = None
    log_y: Annotated[
        bool | None,
        typer.Option(
            "--log-y/--linear-y",
            help="Scale of the y axis (default: logarithmic for error rates over decades).",
            show_default=False,
        ),
    ] = None
    width: Annotated[
        str | None,
        typer.Option(
            "--width",
            metavar="WIDTH",
            help="Width of the figure: single (3.5 in) or double (7.16 in) column, or millimetres (default: "
            "as the panels need).",
        ),
    ] = None

    font_size: Annotated[
        float | None,
        typer.Option("--font-size", metavar="POINTS", help="Font size of the figure (default: 7.5)."),
    ] = None
    no_markers: Annotated[
        bool, typer.Option("--no-markers", help="Draw lines without a mark at each value.")
    ] = False

    def check(self) -> None:
        """Raise an error for an invalid width or font size, before any run."""
        width_in_inches(Page(self.width or "single", self.font_size))

    def options(self) -> dict[str, Any]:
        """Keyword arguments for functions that draw."""
        own = {name: value for name, value in vars(self).items() if name != "no_markers"}
        return own | {"markers": not self.no_markers, "where": read_conditions("--where", self.where)}
