"""Real transports, each as two commands, a client and a server; some common ones are known by name."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any

from crossfade.errors import ScenarioError, shortened

PORT = 4433
"""Default port of a server."""


@dataclass(frozen=True)
class Stack:
    """A real transport under test.

    ``client`` and ``server`` are shell commands, which find their parameters in the environment
    (:mod:`crossfade.suite.harness`). ``has_qlog`` is true if both must write a qlog into $QLOGDIR,
    ``has_file`` if the client must leave its copy of the file in $CROSSFADE_DOWNLOAD.
    """

    name: str
    client: str
    server: str
    port: int = PORT
    has_qlog: bool = False
    has_file: bool = True


def known_stacks() -> dict[str, str]:
    """Names of the known stacks, with a description of each."""
    return {name: str(table["title"]) for name, table in _tables().items()}


def known_stack(name: str) -> Stack:
    """Known stack of this name; :class:`ScenarioError` if there is none."""
    tables = _tables()
    if name not in tables:
        near = get_close_matches(name, tables, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(tables)}"
        raise ScenarioError(f"stack {shortened(name)}: not known ({hint})")
    table = tables[name]
    python, folder = shlex.quote(sys.executable), shlex.quote(str(Path(__file__).parent))

    def command(key: str) -> str:
        return str(table[key]).replace("{python}", python).replace("{folder}", folder)

    return Stack(
        name=name,
        client=command("client"),
        server=command("server"),
        port=int(table.get("port", PORT)),
        has_qlog=bool(table.get("qlog", False)),
        has_file=bool(table.get("file", True)),
    )


def own_stack(client: str, server: str, port: int, has_qlog: bool) -> Stack:
    """Stack of two commands; :class:`ScenarioError` for an empty command."""
    for option, command in (("--client", client), ("--server", server)):
        if not command.strip():
            raise ScenarioError(f"{option} {command!r}: must be a shell command")
    if not 1 <= port <= 65535:
        raise ScenarioError(f"--port {port}: must be between 1 and 65535")
    words = client.split()
    name = words[0].rpartition("/")[2] if words else client
    return Stack(name=shortened(name), client=client, server=server, port=port, has_qlog=has_qlog)


def _tables() -> Mapping[str, Mapping[str, Any]]:
    text = resources.files("crossfade.suite").joinpath("stacks.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
