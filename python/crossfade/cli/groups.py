"""Options that go together: frozen dataclasses of options, each of which commands take as one parameter.

A command that is :func:`grouped` is to typer as if it had the fields of its groups among its own parameters:
``--help`` of every command lists shared options in the order in which they stand here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ParamSpec, TypeVar, get_type_hints

from crossfade._crossfade import USUAL_METRIC
from crossfade.cli.options import (
    ByOption,
    JobsOption,
    LogYOption,
    MethodOption,
    MetricOption,
    NoCacheOption,
    OverOption,
    PanelsOption,
    PrecisionOption,
    QuietOption,
    RunsOption,
    SeedOption,
    SetOption,
    TogetherOption,
    WhereOption,
    WidthOption,
    XOption,
    YOption,
    read_assignments,
    read_axes,
    read_conditions,
    read_methods,
)
from crossfade.plans.options import RunOptions, Values

P = ParamSpec("P")
R = TypeVar("R")


def grouped(*without: str) -> Callable[[Callable[P, R]], Callable[..., R]]:
    """A command with the fields of its groups in their place, each an option of its own.

    Fields ``without`` are no options of this command, and keep their defaults.
    """

    def of(command: Callable[P, R]) -> Callable[..., R]:
        hints = get_type_hints(command, include_extras=True)
        parameters: dict[str, inspect.Parameter] = {}
        groups: dict[str, list[str]] = {}
        for name, parameter in inspect.signature(command).parameters.items():
            # Those of a command may follow a group, though they have no default: typer calls by name.
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
    """What is asked for on top of a scenario, and how it is carried out."""

    set: SetOption = None
    over: OverOption = None
    method: MethodOption = None
    runs: RunsOption = None
    precision: PrecisionOption = None
    seed: SeedOption = None
    jobs: JobsOption = None
    no_cache: NoCacheOption = False
    quiet: QuietOption = False

    @functools.cached_property
    def keys(self) -> Values:
        """Keys and values of ``--set``."""
        return read_assignments("--set", self.set)

    @functools.cached_property
    def axes(self) -> Values:
        """Axes of ``--over``."""
        return read_axes(self.over)

    @property
    def methods(self) -> Sequence[str] | None:
        """The list of ``--method``."""
        return read_methods(self.method)

    def options(self, kind: type[Any] = RunOptions) -> dict[str, Any]:
        """As the keyword arguments of a function that takes options of this kind (:mod:`crossfade.plans`)."""
        found: dict[str, Any] = {"set": self.keys or None, "over": self.axes or None, "seed": self.seed}
        found |= {"runs": self.runs, "precision": self.precision, "jobs": self.jobs}
        found |= {"cache": not self.no_cache, "progress": not self.quiet}
        return {name: value for name, value in found.items() if name in kind.__optional_keys__}


@dataclass(frozen=True)
class Compared:
    """Which metric is compared where, and what its intervals hold for."""

    metric: MetricOption = USUAL_METRIC
    together: TogetherOption = False
    where: WhereOption = None

    def options(self) -> dict[str, Any]:
        """As the keyword arguments of functions that compare."""
        return vars(self) | {"where": read_conditions("--where", self.where)}


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

    def options(self) -> dict[str, Any]:
        """As the keyword arguments of functions that draw."""
        return vars(self) | {"where": read_conditions("--where", self.where)}
