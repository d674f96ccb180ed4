"""Command ``crossfade complete``, and shell completion of commands, options, scenarios, keys, metrics."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script

VARIABLE = "_CROSSFADE_COMPLETE"


class Shell(StrEnum):
    """Shells with a completion script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def complete(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="The shell.", show_default=False)],
) -> None:
    """Print a script that lets a shell complete commands.

    It completes commands, options, scenarios, keys and metrics.

    \b
    source <(crossfade complete bash)        in ~/.bashrc
    source <(crossfade complete zsh)         in ~/.zshrc, after compinit
    crossfade complete fish | source         in ~/.config/fish/config.fish
    """
    print(get_completion_script(prog_name="crossfade", complete_var=VARIABLE, shell=shell.value))


def begin() -> None:
    """Set up completion if a shell requests completions."""
    if os.environ.get(VARIABLE):
        completion_init()


def scenarios(incomplete: str) -> list[str]:
    """Completions of a scenario: shipped scenarios, and files that end in ``.toml`` or are results files."""
    from crossfade.files import shipped_scenarios

    folder = Path(incomplete).parent if "/" in incomplete else Path()
    files = [path.as_posix() for end in ("*.toml", "*.sqlite") for path in sorted(folder.glob(end))]
    folders = [f"{path.as_posix()}/" for path in sorted(folder.glob("*/"))]
    return [name for name in [*shipped_scenarios(), *files, *folders] if name.startswith(incomplete)]


def suites(incomplete: str) -> list[str]:
    """Completions of a suite: the shipped suites."""
    from crossfade.files import shipped_suites

    return [name for name in shipped_suites() if name.startswith(incomplete)]


def keys(incomplete: str) -> list[str]:
    """Completions of a key: dotted keys with a following ``=``."""
    return [f"{key}=" for key in _keys() if key.startswith(incomplete)]


def metrics(incomplete: str) -> list[str]:
    """Completions of the last name in a list of metrics."""
    from crossfade.results.metrics import metrics as known

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{metric.name}" for metric in known() if metric.name.startswith(last)]


@cache
def _keys() -> list[str]:
    import crossfade._crossfade as _crossfade

    return list(dotted_keys(json.loads(_crossfade.schema())))


def dotted_keys(schema: Mapping[str, Any], table: str = "") -> Iterator[str]:
    """Dotted keys of a schema that are not tables."""
    tables = [schema, *schema.get("anyOf", [])]
    properties: Mapping[str, Any] = next((one["properties"] for one in tables if "properties" in one), {})
    for name, inner in properties.items():
        key = f"{table}.{name}" if table else name
        found = list(dotted_keys(inner, key))
        yield from found or [key]
