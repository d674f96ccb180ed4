"""``crossfade control``: congestion controls in one Rust file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crossfade.errors import OutputError, ScenarioError
from crossfade.files import read_text
from crossfade.files.compiled import CompiledRule, rust_version

control = typer.Typer(
    name="control", help="Congestion controls of your own in one Rust file.", no_args_is_help=True
)


@control.callback()
def _control() -> None:
    """Congestion controls in one Rust file, which a scenario names: tcp.congestion = "mine.rs"."""


@control.command()
def build(
    file: Annotated[Path, typer.Argument(metavar="FILE.rs", help="The control.")],
    anew: Annotated[bool, typer.Option("--anew", help="Compile it even if that was done before.")] = False,
    crate: Annotated[
        Path | None,
        typer.Option("--crate", metavar="DIR", help="Write it as a crate, too, for cargo and editors."),
    ] = None,
) -> None:
    """Compile a control, and say where its library is: what a run does that needs it.

    The library is kept by the hash of the source, the compiler and the interface. It takes rustc, and nothing
    else: no network, no other crate.

    \b
    crossfade control build mine.rs
    crossfade run quickstart --set tcp.congestion=mine.rs
    crossfade control build mine.rs --crate mine
    """
    if file.suffix != ".rs":
        raise ScenarioError(f"{file}: must be a Rust file, FILE.rs")
    rule = CompiledRule(str(file), read_text(file, ScenarioError))
    path, is_new = rule.build(anew=anew)
    rule.table()
    word = "compiled" if is_new else "was compiled before"
    print(f"{file.name}: {word} ({rust_version() or 'elsewhere'}): {path}")
    if crate is not None:
        if crate.exists() and any(crate.iterdir()):
            raise OutputError(f"{crate}: is there already, and not empty")
        try:
            rule.crate(crate)
        except OSError as reason:
            raise OutputError(f"{crate}: cannot be written ({reason.strerror or reason})") from None
        print(f"{crate}: a crate; cargo build --offline there")
