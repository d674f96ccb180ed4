"""Reading and writing files so that whatever is wrong with one is one clear line."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from crossfade.errors import CrossfadeError, OutputError, ScenarioError

# Far above any scenario, trace or results table; it keeps a device or a wrong file from filling the memory.
LARGEST_FILE = 256 * 1024 * 1024

# The scenarios that come with the package.
SCENARIOS = Path(__file__).parent / "scenarios"


def read_text(path: Path, error: type[CrossfadeError]) -> str:
    """The UTF-8 text of a file, unpacked where its name ends in ``.gz``; raises ``error`` with one line."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as reason:
        raise error(f"{path}: a damaged gzip file ({reason})") from None
    except OSError as reason:
        raise error(f"{path}: cannot be read ({reason.strerror or reason})") from None
    except ValueError as reason:  # a NUL in the name
        raise error(f"{str(path)!r}: cannot be read ({reason})") from None
    if len(data) > LARGEST_FILE:
        raise error(f"{path}: larger than {LARGEST_FILE // 1024**2} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as reason:
        if data.startswith(b"SQLite format 3\0"):
            raise error(
                f"{path}: not a text file (a results file? plot, report, export, best read those)"
            ) from None
        raise error(f"{path}: not a text file (byte {reason.start} is not UTF-8)") from None


def write_text(path: Path, text: str) -> None:
    """Write a file; ``OutputError`` where that fails."""
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except (OSError, ValueError) as reason:
        raise OutputError(cannot_write(path, reason)) from None


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file; ``OutputError`` where that fails."""
    try:
        path.write_bytes(data)
    except (OSError, ValueError) as reason:
        raise OutputError(cannot_write(path, reason)) from None


def check_writable(path: Path) -> None:
    """Raise ``OutputError`` now for a file that could not be written after a long run."""
    if path.is_dir():
        raise OutputError(f"{path}: cannot be written (it is a folder)")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: cannot be written (there is no folder {path.parent})")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise OutputError(f"{path}: cannot be written (no permission)")


def cannot_write(path: Path, reason: Exception) -> str:
    """The one line for a file that could not be written."""
    return f"{path}: cannot be written ({getattr(reason, 'strerror', None) or reason})"


def shipped_scenarios() -> list[str]:
    """The names of the scenarios that come with the package, as ``crossfade run`` takes them."""
    names = (path.relative_to(SCENARIOS).with_suffix("") for path in SCENARIOS.rglob("*.toml"))
    return sorted(name.as_posix() for name in names if name.name != "claims")


def read_scenario(scenario: str | os.PathLike[str]) -> tuple[str, str, Callable[[str], str]]:
    """The name and the text of a scenario: a file, a shipped one, or (with a line break in it) TOML itself.

    A file wins over a shipped scenario of the same name. With them comes what reads a file that the scenario
    names: in its folder, or else in the working directory.
    """
    if isinstance(scenario, str) and "\n" in scenario:
        return "scenario", scenario, _reader(Path())
    path = Path(scenario)
    name = path.as_posix().removesuffix(".toml")
    if not os.path.isfile(path) and name in shipped_scenarios():
        path = SCENARIOS / f"{name}.toml"
        return name, path.read_text(encoding="utf-8"), _reader(path.parent)
    if not os.path.exists(path):
        raise ScenarioError(f"{path}: no such file, and no shipped scenario of that name ({_nearest(name)})")
    return str(path), read_text(path, ScenarioError), _reader(path.parent)


def _reader(folder: Path) -> Callable[[str], str]:
    """What reads the files that a scenario in ``folder`` names.

    Who sets such a key on the command line stands elsewhere: what is not there is looked for in the working
    directory.
    """

    def read(name: str) -> str:
        beside = folder / name
        here = not beside.exists() and Path(name).exists()
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
    for known in shipped:
        folder, _, last = known.rpartition("/")
        folders.setdefault(folder, []).append(last)
    groups = [f"{folder}/{{{','.join(names)}}}" for folder, names in folders.items() if folder]
    return f"there are: {', '.join([*folders.get('', []), *groups])}"
