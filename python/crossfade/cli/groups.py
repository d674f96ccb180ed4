"""Options that go together: frozen dataclasses of options, each of which commands take as one parameter.

A command that is :func:`grouped` is to typer as if it had the fields of its groups among its own parameters.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ParamSpec, TypeVar, get_type_hints

from crossfade.cli.options import (
    ByOption,
    JobsOption,
    LogYOption,
    NoCacheOption,
    OverOption,
    PanelsOption,
    PrecisionOption,
    QuietOption,
    RunsOption,
    SeedOption,
    SetOption,
    WhereOption,
    WidthOption,
    XOption,
    YOption,
    read_assignments,
    read_axes,
    read_conditions,
)
from crossfade.plans import Values

P = ParamSpec("P")
R = TypeVar("R")


def grouped(command: Callable[P, R]) -> Callable[..., R]:
    """The command with the fields of its groups in their place, each an option of its own."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind))
            continue
        groups[name] = kind  # type: ignore[assignment]
        options = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                parameter.POSITIONAL_OR_KEYWORD,
                default=field.default,
                annotation=options[field.name],
            )
            for field in fields(kind)
        ]

    @functools.wraps(command)
    def gathered(**given: Any) -> R:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        return command(**given)  # type: ignore[call-arg]

    gathered.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    gathered.__annotations__ = {one.name: one.annotation for one in parameters}
    return gathered


@dataclass(frozen=True)
class Asked:
    """What is asked for on top of a scenario, and how it is carried out."""

    set: SetOption = None
    over: OverOption = None
    runs: RunsOption = None
    precision: PrecisionOption = None
    seed: SeedOption = None
    jobs: JobsOption = None
    quiet: QuietOption = False

    @functools.cached_property
    def keys(self) -> Values:
        """Keys and values of ``--set``."""
        return read_assignments("--set", self.set)

    @functools.cached_property
    def axes(self) -> Values:
        """Axes of ``--over``."""
        return read_axes(self.over)

    def viewed(self) -> dict[str, Any]:
        """As :class:`crossfade.plans.ViewOptions`."""
        return {"set": self.keys or None, "over": self.axes or None, "seed": self.seed}

    def options(self) -> dict[str, Any]:
        """As the keyword arguments of a function of this package that runs scenarios."""
        how = {"runs": self.runs, "precision": self.precision, "jobs": self.jobs, "progress": not self.quiet}
        return self.viewed() | how


@dataclass(frozen=True)
class AskedOfCache(Asked):
    """Likewise, where finished runs are kept in the user's cache."""

    no_cache: NoCacheOption = False

    def options(self) -> dict[str, Any]:
        """As :class:`crossfade.plans.RunOptions`."""
        return super().options() | {"cache": not self.no_cache}


@dataclass(frozen=True)
class Drawn:
    """What a figure shows."""

    x: XOption = None
    y: YOption = None
    by: ByOption = None
    panels: PanelsOption = None
    where: WhereOption = None
    log_y: LogYOption = None
    width: WidthOption = None

    @functools.cached_property
    def conditions(self) -> dict[str, str]:
        """Conditions of ``--where``."""
        return read_conditions("--where", self.where)

    def options(self) -> dict[str, Any]:
        """As the keyword arguments of functions that draw."""
        return {field.name: getattr(self, field.name) for field in fields(Drawn)} | {"where": self.conditions}
