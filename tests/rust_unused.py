"""Public functions of the crates that no other file uses, found by name with a simple reader, not a compiler.

A function is used if its name is called, or occurs in a path or a ``use`` list, in another file: in a crate's
``src`` except tests, in a bench, an example, a fuzz target, or a Rust block of a page that documents an
interface. A re-export (``pub use``) alone is no use. For two functions of one name, a use of one counts for
both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.rust_modules import without_tests, without_words

PROGRAMS = ("crates/*/benches", "crates/*/examples", "examples", "fuzz")
PUBLIC = re.compile(r"\bpub (?:const |unsafe )*fn (\w+)")
HANDED_ON = re.compile(r"\bpub use [^;]+;")
USE = re.compile(
    r"\.\s*(\w+)\s*(?:\(|::\s*<)"  # value.name(
    r"|::\s*(\w+)"  # Type::name, module::name
    r"|(?<!fn )(?<![\w.:])(\w+)\s*(?:\(|::\s*<)"  # name(
    r"|[{,]\s*(\w+)\s*(?=[,}])"  # use module::{name, other};
)


def unused(root: Path, pages: list[Path]) -> set[str]:
    """Public functions that no other file uses, as ``crates/link/src/hop.rs delay``."""
    sources = {path: _code(path.read_text()) for path in root.glob("crates/*/src/**/*.rs")}
    programs = [
        without_words(path.read_text())
        for folder in PROGRAMS
        for path in root.glob(f"{folder}/**/*.rs")
        if "target" not in path.parts
    ]
    blocks = [
        block for page in pages for block in re.findall(r"```rust\n(.*?)```", page.read_text(), re.DOTALL)
    ]
    outside = {name for code in [*programs, *blocks] for name in _used(code)}
    used = {path: set(_used(code)) for path, code in sources.items()}
    files: dict[str, int] = {}
    for names in used.values():
        for name in names:
            files[name] = files.get(name, 0) + 1
    return {
        f"{path.relative_to(root).as_posix()} {name}"
        for path, code in sources.items()
        for name in PUBLIC.findall(code)
        if name not in outside and files.get(name, 0) == (name in used[path])
    }


def _code(text: str) -> str:
    return HANDED_ON.sub(" ", without_tests(without_words(text)))


def _used(code: str) -> Iterator[str]:
    for found in USE.finditer(code):
        yield from (name for name in found.groups() if name)
