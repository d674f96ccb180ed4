"""Registry of commands, each of which is loaded from its module only when it is needed.

``crossfade run`` needs no paper, suite or page; loading them would take as long as a short run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

# Commands in the order of ``--help``: module below crossfade.cli, and function in it.
COMMANDS = {
    "run": "run:run",
    "sweep": "sweep:sweep",
    "merge": "sweep:merge",
    "plot": "plot:plot",
    "report": "report:report",
    "export": "export:export",
    "compare": "compare:compare",
    "best": "compare:best",
    "suite": "suite:suite",
    "paper": "paper:paper",
    "phy": "phy:phy",
    "fit": "fit:fit",
    "record": "record:record",
    "trace": "trace:trace",
    "reuse": "reuse:reuse",
    "explore": "explore:explore",
    "list": "scenarios:list_scenarios",
    "copy": "scenarios:copy",
    "check": "scenarios:check",
    "explain": "scenarios:explain",
    "metrics": "scenarios:metrics",
    "schema": "scenarios:schema",
    "verify": "verify:verify",
    "control": "control:control",
    "doctor": "live.doctor:doctor",
    "cite": "cite:cite",
    "complete": "completion:complete",
    "live": "live.command:live",
}
# Class of a command other than :class:`Command`, in the module of the command.
CLASSES = {"live": "LiveCommand"}


def _load(name: str) -> Any:
    """Load the command of this name from its module, as typer's object."""
    module, _, function = COMMANDS[name].partition(":")
    found = import_module(f"crossfade.cli.{module}")
    cls = getattr(found, CLASSES[name]) if name in CLASSES else Command
    info = CommandInfo(name=name, callback=getattr(found, function), cls=cls)
    return get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode=None)


class _Given:
    """Conversion of a parameter that leaves out what is absent, and texts that stay texts.

    typer converts every parameter, also an absent one, by pydantic; loading that takes a third of the start.
    """

    def __init__(self, usual: Callable[[], Any]) -> None:
        """``usual`` gives typer's conversion."""
        self._usual = usual

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of a parameter, as typer's conversion gives it."""
        of = param.type_descriptor
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if (parser := of.parameter_info.parser) is not None and not param.multiple and param.nargs == 1:
            with suppress(ValueError):  # which typer turns into its error
                return parser(value)
        # What is no text is the parameter's default.
        elif isinstance(value, (str, int, float)) and of.annotation is type(value):
            return value
        elif (
            of.annotation == list[str] and isinstance(value, (list, tuple)) and set(map(type, value)) == {str}
        ):
            return list(value)
        return self._usual().coerce(value, param=param, ctx=ctx)


class _Light:
    """Part of a command, before typer's class: its parameters are converted by :class:`_Given`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Parameters with the option ``--help``."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            usual = parameter.get_runtime_param
            if not isinstance(usual, partial):
                parameter.get_runtime_param = partial(_Given, usual)
        return found


class Command(_Light, TyperCommand):
    """Command with options."""


class _Commands(MutableMapping[str, Any]):
    """Mapping of command names to commands, each loaded at its first access."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        if name not in self._loaded:
            self._loaded[name] = _load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class Group(_Light, TyperGroup):
    """Command group whose subcommands are loaded on access."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _Commands()
