"""Build backend (PEP 517) that pip calls: maturin, with the locked crates and the commit.

``pyproject.toml`` names this module; ``pip install .`` and ``pip wheel .`` run it. A wheel is built with
``--locked`` from the Cargo.lock that ``locks/rust.txt`` describes, and holds the commit in
``crossfade/files/commit.txt``. A source archive holds every file in git, Cargo.lock, commit.txt and PKG-INFO.
"""

from __future__ import annotations

import gzip
import importlib.util
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import maturin

sys.path.insert(0, str(Path(__file__).parent))

from locks import ROOT, LockError, write_cargo_lock

PACKAGE = ROOT / "python" / "crossfade"
Settings = Mapping[str, Any] | None


def commits() -> ModuleType:
    """The module ``crossfade.files.commit``, loaded from its file, because the package is not built yet."""
    spec = importlib.util.spec_from_file_location("commit", PACKAGE / "files" / "commit.py")
    if spec is None or spec.loader is None:
        raise LockError("python/crossfade/files/commit.py: is not there")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


COMMIT = PACKAGE / commits().WRITTEN

get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_editable = maturin.get_requires_for_build_wheel
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = maturin.prepare_metadata_for_build_wheel


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    """No requirements, since an archive compiles nothing."""
    return []


def build_wheel(directory: str, config_settings: Settings = None, metadata: str | None = None) -> str:
    """Build a wheel from the locked crates; returns its file name."""
    write_cargo_lock(ROOT)
    with written_commit():
        return str(maturin.build_wheel(directory, locked(config_settings), metadata))


def build_editable(directory: str, config_settings: Settings = None, metadata: str | None = None) -> str:
    """Build an editable wheel, which links to this clone; git knows its commit. Returns the file name."""
    write_cargo_lock(ROOT)
    return str(maturin.build_editable(directory, locked(config_settings), metadata))


def build_sdist(directory: str, config_settings: Settings = None) -> str:
    """Write a source archive: files in git, Cargo.lock, the commit, PKG-INFO; returns its file name."""
    write_cargo_lock(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        about = Path(folder) / maturin.prepare_metadata_for_build_wheel(folder) / "METADATA"
        metadata = about.read_text("utf-8")
    version = re.search(r"^Version: (\S+)$", metadata, re.MULTILINE)
    if version is None:
        raise LockError("METADATA: has no version")
    name = f"crossfade-{version[1]}"
    when = int(git("log", "-1", "--format=%ct"))
    path = Path(directory) / f"{name}.tar.gz"
    # The archive of a commit is identical byte by byte everywhere: all times are the commit's, no users.
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", 9, raw, when) as packed,
        written_commit(),
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        tracked = git("ls-files", "-z").rstrip("\0").split("\0")
        for file in sorted({*tracked, "Cargo.lock", COMMIT.relative_to(ROOT).as_posix()}):
            if not (ROOT / file).is_symlink() and not (ROOT / file).exists():
                raise LockError(f"{file}: is in git and not here")
            entry = plain(archive.gettarinfo(ROOT / file, f"{name}/{file}"), when)
            with (ROOT / file).open("rb") if entry.isreg() else io.BytesIO() as content:
                archive.addfile(entry, content)
        about_it = tarfile.TarInfo(f"{name}/PKG-INFO")
        about_it.size = len(metadata.encode())
        archive.addfile(plain(about_it, when), io.BytesIO(metadata.encode()))
    return path.name


def plain(entry: tarfile.TarInfo, when: int) -> tarfile.TarInfo:
    """An entry without owners, and with the time ``when`` (s since 1970): the same on every machine."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = when
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry


def git(*words: str) -> str:
    """Output of git; :class:`LockError` outside a clone."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LockError("no git on the PATH: a source archive is what git has") from None
    if done.returncode:
        raise LockError(f"a source archive is made in a clone: {done.stderr.strip()}")
    return done.stdout


def locked(settings: Settings) -> dict[str, Any]:
    """The settings of pip, with ``--locked`` among the arguments of cargo."""
    given = dict(settings or {})
    arguments = given.pop("maturin.build-args", given.pop("build-args", ""))
    return {
        **given,
        "build-args": [*(arguments.split() if isinstance(arguments, str) else arguments), "--locked"],
    }


@contextmanager
def written_commit() -> Iterator[None]:
    """Keep ``commit.txt`` with the clone's commit during a build; a source archive has the file already."""
    commit = commits().head_of(ROOT)
    if commit is None:
        yield
        return
    COMMIT.write_text(f"{commit}\n")
    try:
        yield
    finally:
        COMMIT.unlink()
