"""Congestion controls in one Rust file: compiled when a connection begins, and cached.

The name of a compiled library contains the SHA-256 of its source and of the ``crossfade-control`` crate, and
that of the compiler's version. The source is one file: a control of which the compiler read other files is
refused. The hash of a library lies beside it, so that an incomplete library is never loaded. Libraries lie in
a folder that only this user can write (:mod:`crossfade.files.private`), and exactly the checked bytes are
loaded.

The compiler is run by its absolute name, outside the working folder, so that no ``rust-toolchain.toml`` of
another user chooses the compiler.
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
from crossfade.files.private import as_file, passing_folder, private_folder, read_private

SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
# Part of a library's hash: the rule for sources, "one file". Earlier libraries could include other files.
SOURCES = b"\0one file"
# File to which the compiler writes the list of files that it read.
DEPENDENCIES = "library.d"
EXPORT = "crossfade_control::export!(Mine);"
INSTALL = "install one (https://rustup.rs), or write the control in Python (mine.py)"

# Manifests of a crate for editors and cargo, with the control's only dependency.
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

# Lock so that one compiler runs at a time, and no library is built twice.
_building = threading.Lock()


class CompiledControl:
    """A congestion control in a Rust file, of which each connection gets its own instance.

    Raises :class:`ScenarioError` for a source text that exports no control.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = PurePath(name).name
        self._text = text
        if self.name.startswith(("-", "@")):
            raise ScenarioError(f"{self.name}: rustc takes such a name for an option; give it another one")
        if not re.search(r"\bexport!\s*[({\[]", text):
            raise ScenarioError(f"{self.name} exports no control: it must end with {EXPORT}")

    def table(self) -> int:
        """Address of the table of C functions that the control's library exports."""
        path = self.build()[0]
        try:
            library = _opened(path)
            return ctypes.addressof(ctypes.c_char.in_dll(library, _crossfade.CONTROL_SYMBOL))
        except (OSError, ValueError) as reason:
            raise ScenarioError(f"{path}: cannot be loaded ({reason}); remove it") from None

    def build(self, *, anew: bool = False) -> tuple[Path, bool]:
        """Path of the library, and whether it was compiled now: if there was none, or with ``anew``."""
        with _building:
            compiler = _compiler()
            there = [path for path in self._libraries(compiler) if os.path.lexists(path)]
            if there and not anew:
                _checked(there[0])
                return there[0], False
            if compiler is None:
                raise ScenarioError(f"{self.name}: needs a Rust compiler, rustc is not found; {INSTALL}")
            library = self._compile(compiler)
            _checked.cache_clear()
            _opened.cache_clear()
            return library, True

    def crate(self, folder: Path) -> None:
        """Write the control and the crate it depends on into ``folder``, as a crate that cargo builds
        offline.
        """
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
        """Paths that the control's library may have: for this compiler, or for any if there is no
        compiler.
        """
        of = hashlib.sha256(self._text.encode())
        of.update(SOURCES)
        for name, text in _crossfade.CONTROL_CRATE:
            of.update(f"\0{name}\0{text}".encode())
        # The hash identifies the library; the name is for people, so part of a long one is enough.
        stem = f"{PurePath(self.name).stem[:32]}-{of.hexdigest()[:32]}"
        folder = _folder()
        if compiler is None:
            return sorted(folder.glob(f"{stem}-*{SUFFIX}"))
        return [folder / f"{stem}-{hashlib.sha256(compiler.encode()).hexdigest()[:16]}{SUFFIX}"]

    def _compile(self, compiler: str) -> Path:
        [library] = self._libraries(compiler)
        with tempfile.TemporaryDirectory(
            prefix="build-", dir=library.parent, ignore_cleanup_errors=True
        ) as temporary:
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
            both = [f"--emit=link={out},dep-info={DEPENDENCIES}"]
            self._rustc([self.name, "--crate-type=cdylib", *extern, *kind, *both], temporary)
            self._refuse_others((Path(temporary) / DEPENDENCIES).read_text("utf-8", "surrogateescape"))
            data = (Path(temporary) / out).read_bytes()
        try:
            # A temporary name until the file is complete, since other processes may build the library too.
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

    def _refuse_others(self, dependencies: str) -> None:
        """Raise :class:`ScenarioError` if the compiler read more than the control's file: the hash that
        identifies rows of results would not change with the other files.
        """
        whole = "a control is one file, so that its hash tells results apart; write it into that"
        for line in dependencies.splitlines():
            if line.startswith("# env-dep:"):
                name = line.removeprefix("# env-dep:").partition("=")[0]
                raise ScenarioError(f"{self.name}: reads the environment variable {shortened(name)}: {whole}")
            # Each file that was read has its own line, as a target without dependencies.
            name = line.removesuffix(":").replace("\\ ", " ")
            if line.endswith(":") and name != self.name:
                raise ScenarioError(f"{self.name}: reads {shortened(name)}: {whole}")

    def _rustc(self, arguments: list[str], folder: str) -> None:
        command = [rustc_path() or "rustc", "--color=never", "--error-format=short", *arguments]
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
        """One-line message for an exception in the control."""
        said = str(error) or type(error).__name__
        return said if self.name in said else f"{self.name}: {said}"


def rustc_path() -> str | None:
    """Absolute path of the Rust compiler, None if there is none; of a rustup proxy, that of the compiler it
    runs.

    A proxy would choose the compiler by a ``rust-toolchain.toml`` in the working folder or above, which may
    belong to another user; the proxy is therefore asked in the root folder. ``RUSTC`` and
    ``RUSTUP_TOOLCHAIN`` are respected: the user sets them.
    """
    found = shutil.which(os.environ.get("RUSTC") or "rustc")
    return found and _behind(os.path.abspath(found))


@cache
def _behind(path: str) -> str:
    """Compiler in the toolchain folder (sysroot) that the program ``path`` reports; ``path`` itself if there
    is none.
    """
    said = _asked(path, "--print", "sysroot")
    own = Path((said or "").strip(), "bin", Path(path).name)
    return str(own) if said and os.access(own, os.X_OK) else path


def _asked(path: str, *arguments: str) -> str | None:
    """Output of the compiler ``path`` with some arguments, run in the root folder; None if it fails."""
    try:
        done = subprocess.run(
            [path, *arguments], cwd=os.path.abspath(os.sep), capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


@cache
def _said_by(path: str) -> str | None:
    return _asked(path, "--version", "--verbose")


def _compiler() -> str | None:
    """Version text of the Rust compiler; None if there is none."""
    path = rustc_path()
    return path and _said_by(path)


def rust_version() -> str | None:
    """First line of the Rust compiler's version text, and its path; None if there is no compiler."""
    said = _compiler()
    return said and f"{said.splitlines()[0]}, {rustc_path()}"


@cache
def _opened(path: Path) -> ctypes.CDLL:
    """Library loaded from exactly the checked bytes; it is never closed."""
    return ctypes.CDLL(as_file(_checked(path), SUFFIX))


@cache
def _passing_folder() -> Path:
    """Temporary folder of libraries for a user without a home; it lasts as long as this process."""
    return Path(passing_folder("crossfade-controls-"))


def _folder() -> Path:
    """Folder of libraries; :class:`ScenarioError` if other users could write to it."""
    folder = cache_folder()
    return private_folder(folder / "controls") if folder else _passing_folder()


def _hash_of(library: Path) -> Path:
    return library.with_suffix(".sha256")


@cache
def _checked(library: Path) -> bytes:
    """Bytes of a library; :class:`ScenarioError` if they do not have the stored hash, or others could write
    the file.
    """
    again = "build it again: crossfade control build --anew"
    try:
        data, wanted = read_private(library), read_private(_hash_of(library))
    except OSError:
        raise ScenarioError(f"{library}: cannot be read, or its hash is gone; {again}") from None
    if hashlib.sha256(data).hexdigest().encode() != wanted:
        raise ScenarioError(f"{library}: damaged ({len(data):,} bytes, not those that were written); {again}")
    return data
