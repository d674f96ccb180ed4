"""Repair of a results file: detection of its damaged parts, and a new file without them.

A damaged page of the file makes the rows on it unreadable, and those that only it leads to. Rows are
therefore read by number in ranges, and a range that fails is halved, down to the row that cannot be read.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from crossfade.errors import OutputError, ResultsError
from crossfade.records import PARTS, draft, publish
from crossfade.results import plantable, rowtables, sidecars
from crossfade.results.file import ResultsFile, name_of
from crossfade.results.plantable import StoredPlan

ROWS_AT_ONCE = 1_000
# Least number of bytes of a row of any table, which bounds the number of rows in the file.
SMALLEST_ROW = 16
KINDS = {"rows": "a row", "plans": "a plan", "metric_sets": "a list of metrics"}


@dataclass
class Found:
    """Number of sound rows and plans, and a line for each damaged part."""

    rows: int = 0
    plans: int = 0
    has_checksums: bool = True
    damage: list[str] = field(default_factory=list)


def inspect(path: Path) -> Found:
    """Examine all of a results file; :class:`ResultsError` if it is none, or cannot be opened."""
    with ResultsFile.open(path) as file, file.unbounded() as database:
        found = Found(has_checksums=rowtables.columns_of(database) != rowtables.COLUMNS)
        found.rows = sum(1 for _ in _sound_rows(database, found.damage))
        found.plans = sum(1 for _ in _sound_plans(database, found.damage))
        try:
            for (line,) in database.execute("PRAGMA integrity_check(5)"):
                if line != "ok":
                    found.damage.append(f"the pages of the file ({line.splitlines()[-1]})")
        except sqlite3.DatabaseError as error:
            found.damage.append(f"the pages of the file ({error})")
        return found


def mend(path: Path) -> Path:
    """Replace a damaged results file by one with its sound parts; returns the new name of the old file.

    Raises :class:`OutputError` if a file cannot be written, or another process has the file open; the file is
    then unchanged.
    """
    kept = _free_name(path)
    with draft(path) as new:
        with ResultsFile.open(path) as file, file.unbounded() as database:
            _check_alone(path)
            with ResultsFile.create(new) as mended:
                rows = _sound_rows(database, [])
                while batch := list(islice(rows, ROWS_AT_ONCE)):
                    mended.put_lines(batch)
                mended.put_plans(list(_sound_plans(database, [])))
        try:
            for part in ("", *PARTS):
                if os.path.lexists(f"{path}{part}"):
                    os.rename(f"{path}{part}", f"{kept}{part}")
            if not publish(new, path):
                os.rename(new, path)
        except OSError as reason:
            raise OutputError(f"{path}: cannot be written ({reason.strerror})") from None
    return kept


def _free_name(path: Path) -> Path:
    number = 1
    while os.path.lexists(kept := Path(f"{path}.damaged{'' if number == 1 else f'-{number}'}")):
        number += 1
    return kept


def _check_alone(path: Path) -> None:
    """Refuse a file that another process has open, since its name is about to belong to another file."""
    if sidecars.in_use(path):
        raise ResultsError(f"{path}: in use; repair it when no other process has it open")


def _sound_rows(database: sqlite3.Connection, damage: list[str]) -> Iterator[tuple[rowtables.Line, str]]:
    sets = {
        number: names
        for _, number, names in _readable(database, "metric_sets", "id, names", damage)
        if isinstance(names, str)
    }
    seen: set[bytes] = set()
    for _, *cells in _readable(database, "rows", rowtables.columns_of(database), damage):
        line = tuple(cells)
        names = rowtables.names_in(sets, line)
        sound = (
            names is not None and rowtables.is_sound(line, names) and rowtables.are_numbers(line[6], names)
        )
        if names is None or not sound or line[0] in seen:
            damage.append(name_of(line))
        else:
            seen.add(line[0])
            yield line, names


def _sound_plans(database: sqlite3.Connection, damage: list[str]) -> Iterator[StoredPlan]:
    for _, *line in _readable(database, "plans", "*", damage):
        try:
            yield plantable.read_line(tuple(line))
        except ValueError as error:
            damage.append(f"plan {str(line[0])[:8]} ({error})")


def _readable(
    database: sqlite3.Connection, table: str, columns: str, damage: list[str]
) -> Iterator[tuple[Any, ...]]:
    """Readable lines of a table, each after its row number; ``damage`` gets the count of the others."""
    (pages,), (size,) = (database.execute(f"PRAGMA {of}").fetchone() for of in ("page_count", "page_size"))
    last = pages * size // SMALLEST_ROW
    with suppress(sqlite3.DatabaseError):
        (highest,) = database.execute(f"SELECT max(rowid) FROM {table}").fetchone()
        last = min(last, highest or 0)
    query = f"SELECT rowid, {columns} FROM {table} NOT INDEXED WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
    ranges = [(first, min(first + ROWS_AT_ONCE - 1, last)) for first in range(1, last + 1, ROWS_AT_ONCE)]
    ranges.reverse()
    unread = 0
    while ranges:
        first, end = ranges.pop()
        try:
            lines = database.execute(query, (first, end)).fetchall()
        except sqlite3.DatabaseError:
            if first == end:
                unread += 1
            else:
                middle = (first + end) // 2
                ranges += [(middle + 1, end), (first, middle)]
        else:
            yield from lines
    if unread:
        damage.append(f"{unread} times {KINDS[table]} that cannot be read")
