"""Kinds of files by their first bytes, and the commands that read each kind."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path

from crossfade.errors import CrossfadeError, ResultsError, shortened

SCENARIO, RESULTS, JOURNAL, CAPTURE, TABLE = "scenario", "results file", "journal", "packet capture", "table"
FIGURE = "figure"

TAKEN_BY = {
    SCENARIO: "a scenario: run, sweep, check, compare, best and live take it",
    RESULTS: "a results file: plot, report, export, compare, best and check take it",
    JOURNAL: "a journal of a live run: run --replay, plot and report take it",
    CAPTURE: "a packet capture: fit, Wireshark and tshark take it",
    TABLE: "a table of CSV: plot takes it, and trace and fit the recordings of links",
    FIGURE: "a figure: --plot and plot write figures, and no command reads one",
}
_MAGIC = {
    b"SQLite format 3\0": RESULTS,
    b"\xd4\xc3\xb2\xa1": CAPTURE,
    b"\xa1\xb2\xc3\xd4": CAPTURE,
    b"\x4d\x3c\xb2\xa1": CAPTURE,
    b"\xa1\xb2\x3c\x4d": CAPTURE,
    b"\x0a\x0d\x0d\x0a": CAPTURE,
    b"\x89PNG\r\n\x1a\n": FIGURE,
    b"%PDF-": FIGURE,
}
# Kind of file that a suffix of the name announces.
_NAMED = {".sqlite": RESULTS, ".cfj": JOURNAL, ".pcap": CAPTURE, ".pcapng": CAPTURE}
MOST_BYTES = 1_000_000


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """Kind of a file by its first bytes or its suffix; None if it is unknown or there is no such file."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            start = file.read(MOST_BYTES)
    except OSError:
        return None
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return kind
    if Path(path).suffix == ".cfj":
        return JOURNAL
    try:
        text = start.decode()
    except UnicodeDecodeError:
        return None
    try:
        return SCENARIO if "schema" in tomllib.loads(text) else None
    except tomllib.TOMLDecodeError:
        pass
    if Path(path).suffix == ".toml":
        return SCENARIO
    first = text.partition("\n")[0]
    return TABLE if first.count(",") >= 2 and any(letter.isalpha() for letter in first) else None


def expect(
    path: str | os.PathLike[str], kinds: Sequence[str], error: type[CrossfadeError] = ResultsError
) -> None:
    """Raise ``error`` if a file is surely of no kind in ``kinds``; the message names its kind and the
    commands that read it.
    """
    found = kind_of(path)
    if found is not None and found not in kinds:
        raise error(f"{shortened(path)}: is {TAKEN_BY[found]}")
    promised = _NAMED.get(Path(path).suffix)
    if found is None and promised in kinds and (held := _held(path)):
        raise error(f"{shortened(path)}: not a {promised}, as its name says: it holds {held}")


def refuse(path: str | os.PathLike[str], kinds: Sequence[str], error: type[CrossfadeError]) -> None:
    """Raise ``error`` if a file is surely of one of ``kinds``; the message names the kind and the commands
    that read it.
    """
    found = kind_of(path)
    if found is not None and found in kinds:
        raise error(f"{shortened(path)}: is {TAKEN_BY[found]}")


def _held(path: str | os.PathLike[str]) -> str:
    """Description of the content of a file of unknown kind; empty if it is unreadable or endless."""
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, "rb") as file:
            start = file.read(MOST_BYTES)
    except OSError:
        return ""
    if not start:
        return "nothing"
    return "other data" if b"\0" in start else "text"
