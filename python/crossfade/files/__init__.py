"""Reading and writing files so that whatever is wrong with one is one clear line."""

from __future__ import annotations

import gzip
import io
import os
import select
import shutil
import stat
import time
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from crossfade.errors import CrossfadeError, OutputError, ScenarioError, shortened
from crossfade.files.foreign import check_own_way
from crossfade.records import SQLITE_MAGIC, Input, begins, check_not_kept, draft

# Far above any scenario, trace or results table; it keeps a device or a wrong file from filling the memory.
LARGEST_FILE = 256 * 1024 * 1024

# A scenario of 100,000 points with several keys each is smaller. What is larger would take some hundred times
# its size to read.
LARGEST_SCENARIO = 8 * 1024 * 1024

# Bytes of a line of a text that is read line by line.
LONGEST_LINE = 1024 * 1024

# Bytes of the name of a file (NAME_MAX of all usual file systems).
LONGEST_NAME = 255

# How long a pipe may be silent, and how long it may take in all.
PIPE_WAITS_S = 10.0
PIPE_TAKES_S = 60.0

# The scenarios that come with the package.
SCENARIOS = Path(__file__).parents[1] / "scenarios"

# What says of a folder of scenarios that it is a suite.
SUITE_FILE = "suite.toml"

# The folder of profiles of links, and what names one in a scenario.
PROFILES = "profiles"
PROFILE = "profile:"

# Files beside the scenarios that are none.
NO_SCENARIOS = ("claims", "readings", "suite")


def as_path(name: object, value: object, error: type[CrossfadeError]) -> Path:
    """A file that a function was given as ``name``; ``error`` for what can be no file."""
    if not isinstance(value, str | os.PathLike) or isinstance(os.fspath(value), bytes):
        raise error(f"{name} = {shortened(repr(value))}: must be the name of a file")
    return Path(value)


@contextmanager
def reading(path: Path, error: type[CrossfadeError]) -> Iterator[None]:
    """Raise ``error`` with one line if the file cannot be read or unpacked."""
    name = shortened(path)
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as reason:
        raise error(f"{name}: a damaged gzip file ({reason})") from None
    except OSError as reason:
        raise error(f"{name}: cannot be read ({reason.strerror or reason})") from None
    except ValueError as reason:  # a NUL in the name
        raise error(f"{name!r}: cannot be read ({reason})") from None


def read_text(path: Path, error: type[CrossfadeError]) -> str:
    """The UTF-8 text of a file, unpacked where its name ends in ``.gz``; raises ``error`` with one line.

    A pipe is read to its end, where that comes in time; a device has none.
    """
    name = shortened(path)
    with reading(path, error):
        data = _read_bytes(path)
        if path.suffix == ".gz":
            data = _unpacked(data)
    if len(data) > LARGEST_FILE:
        raise error(f"{name}: larger than {LARGEST_FILE // 1024**2} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as reason:
        if data.startswith(SQLITE_MAGIC):
            raise error(
                f"{name}: not a text file (a results file? plot, report, export, best read those)"
            ) from None
        raise error(f"{name}: not a text file (byte {reason.start} is not UTF-8)") from None


def text_lines(path: Path, error: type[CrossfadeError]) -> Iterator[str]:
    """The lines of what :func:`read_text` reads, one at a time: a regular file may be of any size."""
    name = shortened(path)
    with reading(path, error):
        is_regular = stat.S_ISREG(os.stat(path).st_mode)
    if not is_regular:
        yield from io.StringIO(read_text(path, error))
        return
    with reading(path, error), regular_file(path) as file:
        packed = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else None
        offset = 0
        while data := (packed or file).readline(LONGEST_LINE):
            if len(data) == LONGEST_LINE:
                raise error(f"{name}: a line of more than {LONGEST_LINE // 1024**2} MiB")
            try:
                yield data.decode("utf-8")
            except UnicodeDecodeError as reason:
                raise error(f"{name}: not a text file (byte {offset + reason.start} is not UTF-8)") from None
            offset += len(data)
            if packed is not None and offset > LARGEST_FILE:
                raise error(f"{name}: larger than {LARGEST_FILE // 1024**2} MiB when it is unpacked")


def read_bytes(path: Path, error: type[CrossfadeError]) -> bytes:
    """The bytes of a file; raises ``error`` with one line."""
    try:
        data = _read_bytes(path)
    except OSError as reason:
        raise error(f"{shortened(path)}: cannot be read ({reason.strerror or reason})") from None
    if len(data) > LARGEST_FILE:
        raise error(f"{shortened(path)}: larger than {LARGEST_FILE // 1024**2} MiB")
    return data


def _read_bytes(path: Path) -> bytes:
    """Content of a file, up to one byte more than the largest size that is read."""
    # To open a pipe waits for who writes to it, and to read some files of the system for what happens there.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb", buffering=0) as file:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISREG(kind):
            found = file.read(LARGEST_FILE + 1)
            if found is None:
                raise OSError("it does not end")
            while more := file.read(
                LARGEST_FILE + 1 - len(found)
            ):  # a read stops at a signal, or after 2 GiB
                found += more
            return found
        if not stat.S_ISFIFO(kind):
            raise OSError("a folder" if stat.S_ISDIR(kind) else "a device, not a file")
        return _read_pipe(file)


@contextmanager
def regular_file(path: Path) -> Iterator[io.BufferedReader]:
    """A file that is read in pieces, several times over; ``OSError`` for a folder, a pipe or a device."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(kind):
            raise OSError("a folder" if stat.S_ISDIR(kind) else "a pipe or a device, not a file")
        yield file


def _unpacked(data: bytes) -> bytes:
    """Content of a gzip file; raises ``OSError`` if it is too large."""
    # A small file may be packed from a large one: first the size, without keeping anything.
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        size = 0
        while size <= LARGEST_FILE and (chunk := packed.read(1 << 20)):
            size += len(chunk)
        if size > LARGEST_FILE:
            raise OSError(f"larger than {LARGEST_FILE // 1024**2} MiB when it is unpacked")
        packed.seek(0)
        return packed.read()


def _read_pipe(pipe: io.FileIO) -> bytes:
    chunks, size, deadline = [], 0, time.monotonic() + PIPE_TAKES_S
    events = select.poll()
    events.register(pipe, select.POLLIN)
    while size <= LARGEST_FILE:
        left = deadline - time.monotonic()
        if left <= 0 or not events.poll(1000 * min(left, PIPE_WAITS_S)):
            raise OSError(f"a pipe to which nothing was written for {PIPE_WAITS_S:g} s, or that does not end")
        chunk = pipe.read(1 << 20)
        if chunk == b"":
            break
        chunks.append(chunk or b"")
        size += len(chunk or b"")
    return b"".join(chunks)


def write_text(path: Path, text: str) -> None:
    """Write a file, but no record; ``OutputError`` where that fails."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, but no record; ``OutputError`` where that fails."""
    with whole_file(path) as file:
        file.write_bytes(data)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """The name under which to write a file that gets the name ``path`` when it is whole, and never before.

    Raises ``OutputError`` where it cannot be written (then what was there is there still), and for a record.
    """
    check_own_way(path)
    check_not_kept(path)
    try:
        target = Path(os.path.realpath(path))
        # A pipe or a device is written to; so is a file in a folder where there can be no other one.
        if (target.exists() and not target.is_file()) or not os.access(target.parent, os.W_OK):
            yield path
            return
        with draft(target) as file:
            yield file
            if target.exists():
                shutil.copymode(target, file)
            os.replace(file, target)
    except OutputError as error:
        raise OutputError(str(error).replace(str(target), str(path))) from None
    except (OSError, ValueError) as reason:
        raise OutputError(cannot_write(path, reason)) from None


def check_output(path: Path, *inputs: Input) -> None:
    """Raise ``OutputError`` now for a file that cannot be written later, or must not be: a record, the input.

    What writes a file for the user asks here first, with the files that it reads.
    """
    check_writable(path)
    check_not_kept(path, inputs)


def check_outputs(paths: Iterable[Path | None], *inputs: Input) -> None:
    """Check of all outputs of a command, as :func:`check_output`; two outputs need different files."""
    seen: set[str] = set()
    for path in paths:
        if path is None:
            continue
        check_output(path, *inputs)
        name = os.path.realpath(path)
        # A device or a pipe (/dev/null) loses nothing.
        if name in seen and (os.path.isfile(name) or not os.path.exists(name)):
            raise OutputError(f"{shortened(path)}: not written twice (two outputs have this name)")
        seen.add(name)


def check_writable(path: Path) -> None:
    """Raise ``OutputError`` now for a file that could not, or must not, be written after a long run."""
    check_own_way(path)
    if os.path.isdir(path):
        raise OutputError(f"{shortened(path)}: cannot be written (it is a folder)")
    if not os.path.isdir(path.parent):
        what = f"there is no folder {shortened(path.parent)}"
        raise OutputError(f"{shortened(path)}: cannot be written ({what})")
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        raise OutputError(f"{shortened(path)}: cannot be written (its name is too long)")
    if not os.access(path if os.path.exists(path) else path.parent, os.W_OK):
        raise OutputError(f"{shortened(path)}: cannot be written (no permission)")


def cannot_write(path: Path, reason: Exception) -> str:
    """The one line for a file that could not be written."""
    return f"{shortened(path)}: cannot be written ({getattr(reason, 'strerror', None) or reason})"


def shipped_scenarios() -> list[str]:
    """The names of the scenarios that come with the package, as ``crossfade run`` takes them."""
    return list(_shipped_scenarios())


@cache
def _shipped_scenarios() -> list[str]:
    names = (path.relative_to(SCENARIOS).with_suffix("") for path in SCENARIOS.rglob("*.toml"))
    found = (name for name in names if name.name not in NO_SCENARIOS and name.parts[0] != PROFILES)
    return sorted(name.as_posix() for name in found)


def shipped_profiles() -> list[str]:
    """The names of the profiles of links that come with the package (``link = "profile:NAME"``)."""
    return sorted(file.stem for file in (SCENARIOS / PROFILES).glob("*.toml"))


def profile_text(name: str) -> str:
    """The text of a shipped profile, or of a table beside it; ``ScenarioError`` names the nearest."""
    file = SCENARIOS / PROFILES / (name if name.endswith(".csv") else f"{name}.toml")
    if "/" in name or not file.is_file():
        known = shipped_profiles()
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean profile:{near[0]}?" if near else f"there are: {', '.join(known)}"
        raise ScenarioError(f"no shipped profile of that name ({hint})")
    return read_text(file, ScenarioError)


def shipped_suites() -> list[str]:
    """The names of the suites that come with the package, as ``crossfade suite`` takes them."""
    return sorted(file.parent.name for file in (SCENARIOS / "suites").glob(f"*/{SUITE_FILE}"))


def shipped_file(name: str) -> Path:
    """The file of a shipped scenario; ``ScenarioError`` names the nearest where there is none."""
    if name not in shipped_scenarios():
        raise ScenarioError(f"{shortened(name)}: no shipped scenario of that name ({_nearest(name)})")
    return SCENARIOS / f"{name}.toml"


def inputs_of(scenario: object, *options: object) -> list[Input]:
    """The files that a run reads: a scenario (or a results file), and those that it or ``options`` name.

    Which keys mean a file is known only when all is read; so any text counts that is the name of one.
    """
    if not isinstance(scenario, str | os.PathLike) or "\n" in str(scenario):
        return []
    file = _shipped(Path(scenario)) or Path(scenario)
    values = [*options]
    # Whatever is wrong with a scenario is said by what reads it in earnest. A pipe can be read but once.
    with suppress(CrossfadeError, ValueError):
        if os.path.isfile(file) and begins(file, len(SQLITE_MAGIC)) != SQLITE_MAGIC:
            text = _checked_size(file.name, read_text(file, ScenarioError))
            values.append(tomllib.loads(text))
    # A list on the command line is one text.
    names = [name.strip() for value in values for text in _texts(value) for name in (text, *text.split(","))]
    return [file, *(folder / name for name in names for folder in (file.parent, Path()))]


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value of TOML."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def read_scenario(scenario: str | os.PathLike[str]) -> tuple[str, str, Callable[[str], str]]:
    """The name and the text of a scenario: a file, a shipped one, or (with a line break in it) TOML itself.

    A file wins over a shipped scenario of the same name. With them comes what reads a file that the scenario
    names: in its folder, or else in the working directory.
    """
    if not isinstance(scenario, str | os.PathLike):
        raise ScenarioError(
            f"scenario = {shortened(repr(scenario))}: must be a file, a shipped scenario's name, "
            "a text of TOML with a line break in it, a mapping or a Scenario"
        )
    if isinstance(scenario, str) and "\n" in scenario:
        return "scenario", _checked_size("scenario", scenario), _reader(Path())
    path = Path(scenario)
    name = path.as_posix().removesuffix(".toml")
    if shipped := _shipped(path):
        return name, shipped.read_text(encoding="utf-8"), _reader(shipped.parent)
    if not os.path.exists(path):
        raise ScenarioError(
            f"{shortened(path)}: no such file, and no shipped scenario of that name ({_nearest(name)})"
        )
    text = _checked_size(shortened(path), read_text(path, ScenarioError))
    return str(path), text, _reader(path.parent)


def _checked_size(name: str, text: str) -> str:
    """A scenario's text, if it can be one; ``ScenarioError`` for too much of it."""
    if len(text) > LARGEST_SCENARIO:
        raise ScenarioError(f"{name}: larger than {LARGEST_SCENARIO // 1024**2} MiB, which no scenario is")
    return text


def _shipped(path: Path) -> Path | None:
    """The file of a shipped scenario, where there is no other one of that name."""
    name = path.as_posix().removesuffix(".toml")
    return SCENARIOS / f"{name}.toml" if not os.path.isfile(path) and name in shipped_scenarios() else None


def _reader(folder: Path) -> Callable[[str], str]:
    """Reader of the files that a scenario in ``folder`` names.

    Who sets such a key on the command line stands elsewhere: what is not there is looked for in the working
    directory.
    """

    def read(name: str) -> str:
        if name.startswith(PROFILE):
            return profile_text(name.removeprefix(PROFILE))
        beside = folder / name
        here = not os.path.exists(beside) and os.path.exists(name)
        return read_text(Path(name) if here else beside, ScenarioError)

    return read


def _nearest(name: str) -> str:
    """The shipped scenarios that may have been meant, else all, those of a folder together."""
    shipped = shipped_scenarios()
    meant = [known for known in shipped if known.rsplit("/", 1)[-1] == name]
    meant = meant or get_close_matches(name, shipped, cutoff=0.7)
    if meant:
        return f"did you mean {' or '.join(meant)}?"
    folders: dict[str, list[str]] = {}
    # Whoever needs all names needs the first one most, and a long list is cut.
    for known in sorted(shipped, key=lambda known: known != "quickstart"):
        folder, _, last = known.rpartition("/")
        folders.setdefault(folder, []).append(last)
    groups = [f"{folder}/{{{','.join(names)}}}" for folder, names in folders.items() if folder]
    return f"crossfade list names all: {shortened(', '.join([*folders.get('', []), *groups]))}"
