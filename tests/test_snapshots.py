"""Interfaces that users rely on, as text: names and signatures, commands and options, JSON of a run.

A change of these files is visible to users. With ``CROSSFADE_SNAPSHOTS=write`` in the environment the tests
rewrite them; then review the difference.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

import crossfade as cf
from crossfade.cli.app import app
from tests.conftest import Cli

FOLDER = Path(__file__).parent / "data" / "snapshots"


def check(name: str, text: str) -> None:
    """Compare a text with its snapshot, or write the snapshot if requested."""
    path = FOLDER / name
    if os.environ.get("CROSSFADE_SNAPSHOTS") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_names_and_signatures_of_the_package() -> None:
    """All published names: functions with their parameters, classes with parameters and members."""
    names = {name: getattr(cf, name) for name in cf.__all__ if name not in cf.MODULES}
    for module in cf.MODULES:
        there = getattr(cf, module)
        names |= {f"{module}.{name}": getattr(there, name) for name in there.__all__}
    lines = [line for name in sorted(names) for line in described(name, names[name])]
    check("package.txt", "\n".join(lines) + "\n")


def described(name: str, thing: Any) -> Iterator[str]:
    if inspect.isfunction(thing):
        yield f"{name}{parameters(thing)}"
    elif not inspect.isclass(thing):
        yield f"{name}: {type(thing).__name__}"
    elif issubclass(thing, BaseException):
        yield f"{name}({', '.join(base.__name__ for base in thing.__mro__[1:-1])})"
    else:
        yield f"{name}{parameters(thing)}"
        held = {field.name for field in fields(thing)} if is_dataclass(thing) else set()
        for part, found in sorted(vars(thing).items()):
            if part.startswith("_") or part in held:
                continue
            if isinstance(found, property | cached_property):
                yield f"  .{part}"
            elif callable(getattr(thing, part)):
                yield f"  .{part}{parameters(getattr(thing, part))}"


def parameters(thing: Any) -> str:
    """Names, kinds and defaults of parameters; annotations are left out, since they can be spelled in several
    ways.
    """
    known = inspect.signature(thing).parameters.values()
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in known]
    return str(inspect.Signature(bare)).replace("<factory>", "...")


def test_commands_and_options() -> None:
    commands = typer.main.get_command(app)
    assert isinstance(commands, TyperGroup)
    lines = []
    for name, command in commands.commands.items():
        options = [part for part in command.params if part.opts[0].startswith("-")]
        arguments = [part for part in command.params if part not in options]
        lines.append(" ".join([name, *(str(part.metavar or part.name) for part in arguments)]))
        lines += [
            f"  {'/'.join([*part.opts, *part.secondary_opts])}{' ...' * part.multiple}" for part in options
        ]
    check("commands.txt", "\n".join(lines) + "\n")


def test_json_of_a_run(cli: Cli) -> None:
    """One point of the quickstart, simulated and solved; numbers have nine digits, equal on any machine."""
    over = ["--over", "tcp.variant=newreno", "--over", "channel.p_e=0.01"]
    how = ["--set", "run.duration=5000 slots", "--runs", "2", "--method", "simulation,analysis,formula"]
    found = cli("run", "quickstart", "--json", *over, *how)
    assert found.code == 0, found.err
    shown = json.loads(found.out)
    for point in shown:
        del point["provenance"]["version"]  # the version of the package
    check("quickstart.json", json.dumps(rounded(shown), indent=1, ensure_ascii=False) + "\n")


def test_json_of_each_kind_of_network(cli: Cli) -> None:
    """Facts and short results of a mesh, of a cell and of links."""
    said = {}
    for name, axes in {
        "mesh-chain": ["mesh.mac=nulling"],
        "lte-like-cell": [],
        "classics/rtt-unfairness": ["tcp.variant=sack", "flows.far.access_delay=10 ms"],
    }.items():
        how = ["--set", "run.duration=1 s", "--set", "run.warmup=0 s", "--runs", "2"]
        how += [word for axis in axes for word in ("--over", axis)]
        facts, run = cli("check", name, *how), cli("run", name, "--json", *how)
        assert (facts.code, run.code) == (0, 0), facts.err + run.err
        found = json.loads(run.out)
        points = found if isinstance(found, list) else [found]
        for point in points:
            del point["provenance"]["version"]
        said[name] = {"check": (facts.out + facts.err).splitlines(), "run": points}
    check("networks.json", json.dumps(rounded(said), indent=1, ensure_ascii=False) + "\n")


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def test_the_page_of_the_metrics() -> None:
    """docs/metrics.md lists the core's metrics, below its introduction."""
    page = FOLDER.parents[2] / "docs" / "metrics.md"
    introduction, mark, _ = page.read_text(encoding="utf-8").partition("| metric |")
    lines = ["| metric | in figures | unit | what it counts |", "|---|---|---|---|"]
    lines += [f"| `{m.name}` | {m.words} | {m.unit} | {m.meaning} |" for m in cf.reference.metrics()]
    assert mark
    assert not any("|" in m.words + m.meaning for m in cf.reference.metrics())
    check(str(page), introduction + "\n".join(lines) + "\n")
