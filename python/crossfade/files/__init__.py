"""Reading and writing of files; any problem with a file becomes an error of one line."""

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

# Largest file that is read into memory, in bytes: far above any scenario, trace or results table, so a wrong
# file cannot fill the memory.
LARGEST_FILE = 256 * 1024 * 1024

# Largest text of a scenario, in characters; one of 100,000 points with several keys each is smaller. Reading
# takes some hundred times this size in memory.
LARGEST_SCENARIO = 8 * 1024 * 1024

# Longest line of a text that is read line by line, in bytes.
LONGEST_LINE = 1024 * 1024

# Longest name of a file, in bytes (NAME_MAX of all usual file systems).
LONGEST_NAME = 255

# Longest silence of a pipe, and longest time to read it to its end, in seconds.
PIPE_WAITS_S = 10.0
PIPE_TAKES_S = 60.0

# Folder of the scenarios that come with the package.
SCENARIOS = Path(__file__).parents[1] / "scenarios"

# File that makes a folder of scenarios a suite.
SUITE_FILE = "suite.toml"

# Folder of the profiles of links, and prefix of a profile's name in a scenario.
PROFILES = "profiles"
PROFILE = "profile:"

# Names of TOML files in the scenarios' folders that are no scenarios.
NO_SCENARIOS = ("claims", "readings", "suite")


def as_path(name: object, value: object, error: type[CrossfadeError]) -> Path:
    """Path of a file given as argument ``name``; raises ``error`` if the value is no name of a file."""
    if not isinstance(value, str | os.PathLike) or isinstance(os.fspath(value), bytes):
        raise error(f"{name} = {shortened(repr(value))}: must be the name of a file")
    return Path(value)


@contextmanager
def reading(path: Path, error: type[CrossfadeError]) -> Iterator[None]:
    """Context in which a failure to read or unpack a file becomes ``error`` with one line."""
    name = shortened(path)
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as reason:
        raise error(f"{name}: a damaged gzip file ({reason})") from None
    except OSError as reason:
        raise error(f"{name}: cannot be read ({reason.strerror or reason})") from None
    except ValueError as reason:  # NUL in the file name
        raise error(f"{name!r}: cannot be read ({reason})") from None


def read_text(path: Path, error: type[CrossfadeError]) -> str:
    """UTF-8 text of a file, unpacked if its name ends in ``.gz``; raises ``error`` with one line.

    A pipe is read to its end, if that comes in time; a device is refused, since it may have no end.
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
    """Lines of a text file, read one at a time, so a regular file may be of any size; otherwise like
    :func:`read_text`.
    """
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
    """Bytes of a file or pipe; raises ``error`` with one line."""
    try:
        data = _read_bytes(path)
    except OSError as reason:
        raise error(f"{shortened(path)}: cannot be read ({reason.strerror or reason})") from None
    if len(data) > LARGEST_FILE:
        raise error(f"{shortened(path)}: larger than {LARGEST_FILE // 1024**2} MiB")
    return data


def _read_bytes(path: Path) -> bytes:
    """Content of a file, at most one byte more than :data:`LARGEST_FILE`: then it is too large."""
    # Without O_NONBLOCK, opening a pipe would wait for a writer, and reading some system files for an event.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb", buffering=0) as file:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISREG(kind):
            found = file.read(LARGEST_FILE + 1)
            if found is None:
                raise OSError("it does not end")
            while more := file.read(
                LARGEST_FILE + 1 - len(found)
            ):  # one read ends at a signal, or after 2 GiB
                found += more
            return found
        if not stat.S_ISFIFO(kind):
            raise OSError("a folder" if stat.S_ISDIR(kind) else "a device, not a file")
        return _read_pipe(file)


@contextmanager
def regular_file(path: Path) -> Iterator[io.BufferedReader]:
    """Context of an open regular file, to be read in pieces, several times; ``OSError`` for a folder, pipe or
    device.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(kind):
            raise OSError("a folder" if stat.S_ISDIR(kind) else "a pipe or a device, not a file")
        yield file


def _unpacked(data: bytes) -> bytes:
    """Content of a gzip file; raises ``OSError`` if it is too large."""
    # A small file may unpack to a huge one, so the size is determined first, without keeping the content.
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
    """Write a text file as UTF-8; ``OutputError`` if that fails, or if the path is a record
    (:mod:`crossfade.records`).
    """
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file; ``OutputError`` if that fails, or if the path is a record (:mod:`crossfade.records`)."""
    with whole_file(path) as file:
        file.write_bytes(data)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Context with a temporary name to write to; the file gets the name ``path`` only once it is complete.

    Raises ``OutputError`` if it cannot be written (an existing file then stays unchanged), or if ``path`` is
    a record.
    """
    check_own_way(path)
    check_not_kept(path)
    try:
        target = Path(os.path.realpath(path))
        # A pipe, a device, and a file in a folder without write permission are written in place.
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
    """Raise ``OutputError`` for an output that cannot be written, is a record, or is one of the ``inputs``.

    Every function that writes a file for the user calls this before its work, with the files that it reads.
    """
    check_writable(path)
    check_not_kept(path, inputs)


def check_outputs(paths: Iterable[Path | None], *inputs: Input) -> None:
    """Check all outputs of a command like :func:`check_output`; two outputs must be different files."""
    seen: set[str] = set()
    for path in paths:
        if path is None:
            continue
        check_output(path, *inputs)
        name = os.path.realpath(path)
        # Two outputs may share a device or a pipe (/dev/null), where nothing is overwritten.
        if name in seen and (os.path.isfile(name) or not os.path.exists(name)):
            raise OutputError(f"{shortened(path)}: not written twice (two outputs have this name)")
        seen.add(name)


def check_writable(path: Path) -> None:
    """Raise ``OutputError`` before a long run for a file that cannot, or must not, be written at its end."""
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
    """One-line message for a file that could not be written."""
    return f"{shortened(path)}: cannot be written ({getattr(reason, 'strerror', None) or reason})"


def shipped_scenarios() -> list[str]:
    """Names of the scenarios that come with the package, as ``crossfade run`` takes them."""
    return list(_shipped_scenarios())


@cache
def _shipped_scenarios() -> list[str]:
    names = (path.relative_to(SCENARIOS).with_suffix("") for path in SCENARIOS.rglob("*.toml"))
    found = (name for name in names if name.name not in NO_SCENARIOS and name.parts[0] != PROFILES)
    return sorted(name.as_posix() for name in found)


def shipped_profiles() -> list[str]:
    """Names of the profiles of links that come with the package (``link = "profile:NAME"``)."""
    return sorted(file.stem for file in (SCENARIOS / PROFILES).glob("*.toml"))


def profile_text(name: str) -> str:
    """Text of a shipped profile, or of a CSV table beside it; :class:`ScenarioError` names the nearest
    profile if there is none.
    """
    file = SCENARIOS / PROFILES / (name if name.endswith(".csv") else f"{name}.toml")
    if "/" in name or not file.is_file():
        known = shipped_profiles()
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean profile:{near[0]}?" if near else f"there are: {', '.join(known)}"
        raise ScenarioError(f"no shipped profile of that name ({hint})")
    return read_text(file, ScenarioError)


def shipped_suites() -> list[str]:
    """Names of the suites that come with the package, as ``crossfade suite`` takes them."""
    return sorted(file.parent.name for file in (SCENARIOS / "suites").glob(f"*/{SUITE_FILE}"))


def shipped_file(name: str) -> Path:
    """File of a shipped scenario; :class:`ScenarioError` names the nearest if there is no such scenario."""
    if name not in shipped_scenarios():
        raise ScenarioError(f"{shortened(name)}: no shipped scenario of that name ({_nearest(name)})")
    return SCENARIOS / f"{name}.toml"


def inputs_of(scenario: object, *options: object) -> list[Input]:
    """Files that a run may read: the scenario (or results file), and those that it or ``options`` name.

    Which keys name files is known only once the scenario is read, so every text in it counts as a possible
    file name.
    """
    if not isinstance(scenario, str | os.PathLike) or "\n" in str(scenario):
        return []
    file = _shipped(Path(scenario)) or Path(scenario)
    values = [*options]
    # Errors are left to the later reading of the scenario. A pipe is skipped here: it can be read only once.
    with suppress(CrossfadeError, ValueError):
        if os.path.isfile(file) and begins(file, len(SQLITE_MAGIC)) != SQLITE_MAGIC:
            text = _checked_size(file.name, read_text(file, ScenarioError))
            values.append(tomllib.loads(text))
    # On the command line, a list of names is one text with commas.
    names = [name.strip() for value in values for text in _texts(value) for name in (text, *text.split(","))]
    return [file, *(folder / name for name in names for folder in (file.parent, Path()))]


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value of TOML, those in tables and lists included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def read_scenario(scenario: str | os.PathLike[str]) -> tuple[str, str, Callable[[str], str]]:
    """Name and text of a scenario, and a reader of the files that it names.

    ``scenario`` is a file, the name of a shipped scenario, or (with a line break in it) TOML text; a file
    takes precedence over a shipped scenario of its name. The reader looks in the scenario's folder, then in
    the working folder.
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
    """The text of a scenario; :class:`ScenarioError` if it is longer than :data:`LARGEST_SCENARIO`."""
    if len(text) > LARGEST_SCENARIO:
        raise ScenarioError(f"{name}: larger than {LARGEST_SCENARIO // 1024**2} MiB, which no scenario is")
    return text


def _shipped(path: Path) -> Path | None:
    """File of a shipped scenario; None if there is none, or if a file of the user has this name."""
    name = path.as_posix().removesuffix(".toml")
    return SCENARIOS / f"{name}.toml" if not os.path.isfile(path) and name in shipped_scenarios() else None


def _reader(folder: Path) -> Callable[[str], str]:
    """Reader of the files that a scenario in ``folder`` names.

    A file that is not in ``folder`` is looked for in the working folder, since keys set on the command line
    name files from there.
    """

    def read(name: str) -> str:
        if name.startswith(PROFILE):
            return profile_text(name.removeprefix(PROFILE))
        beside = folder / name
        here = not os.path.exists(beside) and os.path.exists(name)
        return read_text(Path(name) if here else beside, ScenarioError)

    return read


def _nearest(name: str) -> str:
    """Hint with the shipped scenarios that may be meant; without a similar name, a list of all, grouped by
    folder.
    """
    shipped = shipped_scenarios()
    meant = [known for known in shipped if known.rsplit("/", 1)[-1] == name]
    meant = meant or get_close_matches(name, shipped, cutoff=0.7)
    if meant:
        return f"did you mean {' or '.join(meant)}?"
    folders: dict[str, list[str]] = {}
    # ``quickstart`` comes first, since a long list is cut.
    for known in sorted(shipped, key=lambda known: known != "quickstart"):
        folder, _, last = known.rpartition("/")
        folders.setdefault(folder, []).append(last)
    groups = [f"{folder}/{{{','.join(names)}}}" for folder, names in folders.items() if folder]
    return f"crossfade list names all: {shortened(', '.join([*folders.get('', []), *groups]))}"
