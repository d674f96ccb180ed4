"""Recordings of other tools: read, written in their own format, and read once more; and with a wrong line.

Usage: python bench/round_trips.py FILE ...

Prints a row for each FILE: its format, its bytes, the number of facts it states (rows of its table), whether
writing it in its own format gives the same bytes or the same facts, the seconds of reading, and the error for
a copy with a line "x y z" in its middle. If Crossfade reads a format but does not write it, each direction is
converted to a table of rates (or delays), which has all that a link needs, and that table makes the round
trip.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

import crossfade as cf
from crossfade.errors import TraceError
from crossfade.fitting import traces

WRITTEN = {row["name"] for row in traces.formats() if row["written"]}


def facts(path: Path) -> pd.DataFrame:
    """The table of a file, without its name."""
    return cf.fit.trace(path).frame().drop(columns="file")


def own_format(path: Path, folder: Path) -> str:
    """What a file is after a round trip: the same bytes, the same facts, a table, or different."""
    found = cf.fit.trace(path)
    format = found.files[0].format
    if format in WRITTEN:
        again = found.convert(format, folder / "again")
        if len(again) == 1 and again[0].read_bytes() == path.read_bytes():
            return "the same bytes"
        return "the same facts" if facts(again[0]).equals(facts(path)) else "DIFFERENT"
    to = "delays" if format == "cellreplay-light" else "rates"
    for way in found.ways or [None]:
        (first,) = found.convert(to, folder / f"{way}-1", direction=way, lossy=True)
        (second,) = cf.fit.trace(first).convert(to, folder / f"{way}-2")
        if first.read_bytes() != second.read_bytes():
            return "DIFFERENT"
    return f"a table of {to}"


def refusal(path: Path, folder: Path) -> str:
    """The error for a copy of a file with a wrong line in its middle."""
    lines = path.read_text().splitlines()
    middle = (len(lines) + 1) // 2
    wrong = folder / "wrong"
    wrong.write_text("\n".join([*lines[:middle], "x y z", *lines[middle:]]) + "\n")
    try:
        cf.fit.trace(wrong).frame()
    except TraceError as error:
        said = str(error).removeprefix(f"{wrong}: ")
        return said if f"line {middle + 1}" in said else f"{said} (wrong: line {middle + 1})"
    return "ACCEPTED"


def main() -> None:
    """Print a row for each file."""
    print("| file | format | bytes | facts | comes back as | s | a wrong line in the middle |")
    print("|---|---|---|---|---|---|---|")
    for path in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            before = time.perf_counter()
            found = cf.fit.trace(path)
            rows = len(found.frame())
            took = time.perf_counter() - before
            cells = (path.name, found.files[0].format, path.stat().st_size, rows)
            back, said = own_format(path, folder), refusal(path, folder)
            print("| " + " | ".join(map(str, cells)) + f" | {back} | {took:.2f} | {said} |", flush=True)


if __name__ == "__main__":
    main()
