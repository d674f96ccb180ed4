"""Recordings of other tools: read, written in their own format, read again; and with a wrong line in them.

Usage: python bench/round_trips.py FILE ...

Prints a row for each file: its format, its bytes, how many facts it states, whether what is written is the
same to the byte or states the same facts, the time of reading, and the answer to a copy with a line "x y z"
in its middle. A format that is read and not written is taken through a table of rates (or delays) of each of
its ways, which holds all that a link follows.
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
    """What a file states, without its name."""
    return cf.fit.trace(path).frame().drop(columns="file")


def own_format(path: Path, folder: Path) -> str:
    """How a file comes back in its own format."""
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
    """What is said of a copy with a wrong line in its middle."""
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
    """A row a file."""
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
