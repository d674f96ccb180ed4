"""Congestion controls in one Rust file: compiled when a connection begins, and kept.

A library is known by the SHA-256 of its source with that of the crate it is compiled with, and by its
compiler. Beside it lies its own hash, so that half a library is never loaded.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import types
from functools import cache
from pathlib import Path, PurePath

import crossfade._crossfade as _crossfade
from crossfade.errors import ScenarioError, shortened
from crossfade.files.places import cache_folder

SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
EXPORT = "crossfade_control::export!(Mine);"
INSTALL = "install one (https://rustup.rs), or write the control in Python (mine.py)"

# A crate for editors and for cargo; the control needs no other.
MANIFEST = """\
[package]
name = "{name}"
version = "0.0.0"
edition = "2024"
publish = false

[lib]
path = {file}
crate-type = ["cdylib"]

[dependencies]
crossfade-control = {{ path = "crossfade-control" }}

[workspace]
"""
CONTROL_MANIFEST = """\
[package]
name = "crossfade-control"
version = "0.0.0"
edition = "2024"
publish = false
"""

# One compiler at a time, and one library of a name.
_building = threading.Lock()


class CompiledRule:
    """A control in a Rust file, of which each connection gets one of its own.

    Raises :class:`ScenarioError` for a text that exports none.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = PurePath(name).name
        self._text = text
        if self.name.startswith(("-", "@")):
            raise ScenarioError(f"{self.name}: rustc takes such a name for an option; give it another one")
        if not re.search(r"\bexport!\s*[({\[]", text):
            raise ScenarioError(f"{self.name} exports no control: {EXPORT} at its end does")

    def table(self) -> int:
        """The address of the table of C functions that its library exports."""
        path = self.build()[0]
        try:
            library = _opened(str(path))
            return ctypes.addressof(ctypes.c_char.in_dll(library, _crossfade.CONTROL_SYMBOL))
        except (OSError, ValueError) as reason:
            raise ScenarioError(f"{path}: cannot be loaded ({reason}); remove it") from None

    def build(self, *, anew: bool = False) -> tuple[Path, bool]:
        """Its library, and whether it was compiled now; it is where there is none, or ``anew``."""
        with _building:
            compiler = _compiler()
            there = [path for path in self._libraries(compiler) if path.exists()]
            if there and not anew:
                _check(there[0])
                return there[0], False
            if compiler is None:
                raise ScenarioError(f"{self.name}: needs a Rust compiler, rustc is not found; {INSTALL}")
            return self._compile(compiler), True

    def crate(self, folder: Path) -> None:
        """Write what it is compiled of, as a crate that cargo builds without a network."""
        stem = re.sub(r"[^a-z0-9_]", "_", PurePath(self.name).stem.lower())
        manifest = MANIFEST.format(name=f"control_{stem}", file=json.dumps(self.name))
        sources = {f"crossfade-control/src/{name}": text for name, text in _crossfade.CONTROL_CRATE}
        for name, text in {
            self.name: self._text,
            "Cargo.toml": manifest,
            "crossfade-control/Cargo.toml": CONTROL_MANIFEST,
            **sources,
        }.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")

    def _libraries(self, compiler: str | None) -> list[Path]:
        """Where its library may lie: of this compiler, or of any where there is none."""
        of = hashlib.sha256(self._text.encode())
        for name, text in _crossfade.CONTROL_CRATE:
            of.update(f"\0{name}\0{text}".encode())
        # The hash tells files apart, their names people: a part of a long one will do.
        stem = f"{PurePath(self.name).stem[:32]}-{of.hexdigest()[:32]}"
        folder = _folder()
        if compiler is None:
            return sorted(folder.glob(f"{stem}-*{SUFFIX}"))
        return [folder / f"{stem}-{hashlib.sha256(compiler.encode()).hexdigest()[:16]}{SUFFIX}"]

    def _compile(self, compiler: str) -> Path:
        [library] = self._libraries(compiler)
        with tempfile.TemporaryDirectory(prefix="crossfade-control-") as temporary:
            self.crate(Path(temporary))
            kind = [
                "--edition=2024",
                "-Copt-level=3",
                "-Cdebuginfo=0",
                "-Cstrip=symbols",
                "--cap-lints=allow",
            ]
            lib = ["crossfade-control/src/lib.rs", "--crate-name=crossfade_control", "--crate-type=rlib"]
            self._rustc([*lib, *kind, "-o", "libcrossfade_control.rlib"], temporary)
            extern = ["--extern", "crossfade_control=libcrossfade_control.rlib", "--crate-name=control"]
            out = f"library{SUFFIX}"
            self._rustc([self.name, "--crate-type=cdylib", *extern, *kind, "-o", out], temporary)
            data = (Path(temporary) / out).read_bytes()
        try:
            library.parent.mkdir(parents=True, exist_ok=True)
            # A name of its own until it is whole: other processes build it, too.
            for path, content in (
                (_hash_of(library), hashlib.sha256(data).hexdigest().encode()),
                (library, data),
            ):
                with tempfile.NamedTemporaryFile(dir=library.parent, delete=False) as file:
                    file.write(content)
                os.replace(file.name, path)
        except OSError as reason:
            raise ScenarioError(f"{library}: cannot be written ({reason.strerror or reason})") from None
        return library

    def _rustc(self, arguments: list[str], folder: str) -> None:
        command = [_rustc_path() or "rustc", "--color=never", "--error-format=short", *arguments]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        except OSError as reason:
            raise ScenarioError(f"{self.name}: rustc cannot be run ({reason.strerror or reason})") from None
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if re.search(r"\berror\b", line)]
            said = " ".join(
                (lines or done.stderr.splitlines() or [f"rustc ended with {done.returncode}"])[0].split()
            )
            place = "" if said.startswith(self.name) else f"{self.name}: "
            raise ScenarioError(f"{place}{shortened(said)}")

    def problem(self, error: BaseException, _traceback: types.TracebackType | None, *_where: object) -> str:
        """An exception as one line."""
        said = str(error) or type(error).__name__
        return said if self.name in said else f"{self.name}: {said}"


def _rustc_path() -> str | None:
    return shutil.which(os.environ.get("RUSTC", "rustc"))


@cache
def _said_by(path: str) -> str | None:
    done = subprocess.run([path, "--version", "--verbose"], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def _compiler() -> str | None:
    """What the compiler says of itself, None where there is none."""
    path = _rustc_path()
    try:
        return path and _said_by(path)
    except OSError:
        return None


def rust_version() -> str | None:
    """The first line of what the compiler says of itself, None where there is none."""
    said = _compiler()
    return said and said.splitlines()[0]


@cache
def _opened(path: str) -> ctypes.CDLL:
    """A library, which is never closed."""
    return ctypes.CDLL(path)


@cache
def _passing_folder() -> Path:
    """Of a user without a home, for as long as this process lives; nobody else may write to it."""
    return Path(tempfile.mkdtemp(prefix="crossfade-controls-"))


def _folder() -> Path:
    """Where libraries are kept."""
    folder = cache_folder()
    return folder / "controls" if folder else _passing_folder()


def _hash_of(library: Path) -> Path:
    return library.with_suffix(".sha256")


@cache
def _check(library: Path) -> None:
    """:class:`ScenarioError` for a library that is not what was written."""
    again = "build it again: crossfade control build --anew"
    try:
        data, wanted = library.read_bytes(), _hash_of(library).read_text()
    except (OSError, ValueError):
        raise ScenarioError(f"{library}: cannot be read, or its hash is gone; {again}") from None
    if hashlib.sha256(data).hexdigest() != wanted:
        raise ScenarioError(f"{library}: damaged ({len(data):,} bytes, not those that were written); {again}")
