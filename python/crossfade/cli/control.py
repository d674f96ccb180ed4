"""Command ``crossfade control``, which compiles congestion controls from one Rust file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crossfade.errors import OutputError, ScenarioError, one_line, shortened
from crossfade.files import read_text
from crossfade.files.compiled import CompiledControl, rust_version


class Action(StrEnum):
    """Actions of ``crossfade control``."""

    BUILD = "build"


def control(
    action: Annotated[Action, typer.Argument(metavar="build", help="Compile the file.", show_default=False)],
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.rs", help="Rust file with the congestion control.", show_default=False),
    ],
    anew: Annotated[
        bool, typer.Option("--anew", help="Compile even if a compiled library is in the cache.")
    ] = False,
    crate: Annotated[
        Path | None,
        typer.Option("--crate", metavar="DIR", help="Also write the file as a crate, for cargo and editors."),
    ] = None,
) -> None:
    """Compile a congestion control of your own, a Rust file.

    A scenario names the file (tcp.congestion = "mine.rs"), and a run compiles it when needed. This command
    compiles it beforehand and prints the path of the library, which is cached by the hash of source, compiler
    and interface. Only rustc is needed: no network, no other crate.

    \b
    crossfade control build mine.rs
    crossfade run quickstart --set tcp.variant=sack --set tcp.congestion=mine.rs
    crossfade control build mine.rs --crate mine
    """
    if file.suffix != ".rs":
        raise ScenarioError(f"{shortened(file)}: must be a Rust file, FILE.rs")
    control = CompiledControl(str(file), read_text(file, ScenarioError))
    if crate is not None:
        _check_empty(crate)
    path, is_new = control.build(anew=anew)
    control.table()
    word = "compiled" if is_new else "was compiled before"
    print(one_line(f"{file.name}: {word} ({rust_version() or 'elsewhere'}): {path}"))
    if crate is not None:
        try:
            control.crate(crate)
        except OSError as reason:
            raise _cannot_write(crate, reason) from None
        print(one_line(f"{crate}: a crate; cargo build --offline there"))


def _check_empty(crate: Path) -> None:
    try:
        is_empty = not (crate.exists() and any(crate.iterdir()))
    except OSError as reason:
        raise _cannot_write(crate, reason) from None
    if not is_empty:
        raise OutputError(f"{shortened(crate)}: is there already, and not empty")


def _cannot_write(crate: Path, reason: OSError) -> OutputError:
    return OutputError(f"{shortened(crate)}: cannot be written ({reason.strerror or reason})")
