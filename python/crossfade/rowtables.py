"""Rows in two tables of an SQLite database: shared by results files and the user's cache.

``metric_sets`` holds each list of metric names once, ``rows`` a line a finished run. Everything here raises
``sqlite3.Error``; whoever opens the database decides what that means: a cache may fail, a results file must
not.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from crossfade import _crossfade
from crossfade.rows import Row, names_of

Line = tuple[Any, ...]
"""A line of the table ``rows``, in the order of :data:`COLUMNS`."""

# How long to wait for another process that writes to the same file.
BUSY_TIMEOUT_S = 30.0
# SQLite binds at most 32766 values to a statement; any chunk well below that is as quick.
KEYS_PER_QUERY = 500
# Reading the whole table is quicker than asking for keys where it has less than so many lines for each.
SCAN_FACTOR = 4

METRIC_SETS = "CREATE TABLE IF NOT EXISTS metric_sets (id INTEGER PRIMARY KEY, names TEXT NOT NULL UNIQUE)"
ROWS = """CREATE TABLE IF NOT EXISTS rows (
    key BLOB NOT NULL UNIQUE,
    point BLOB NOT NULL,
    method TEXT NOT NULL,
    seed INTEGER NOT NULL,
    run INTEGER NOT NULL,
    metric_set INTEGER NOT NULL REFERENCES metric_sets,
    "values" BLOB NOT NULL,
    failure TEXT,
    results_version INTEGER NOT NULL,
    version TEXT NOT NULL,
    seconds REAL NOT NULL
)"""
COLUMNS = 'key, point, method, seed, run, metric_set, "values", failure, results_version, version, seconds'
INSERT_INTO_ROWS = "INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def connect(path: Path, synchronous: str) -> sqlite3.Connection:
    """Open a database to write to it, with a write-ahead log: a killed writer leaves it whole.

    ``synchronous`` is SQLite's: FULL waits for the disk at every commit, NORMAL does not. The connection may
    be used by several threads, one at a time.
    """
    database = sqlite3.connect(path, BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        _start_write_ahead_log(database)
        database.execute(f"PRAGMA synchronous = {synchronous}")
    except BaseException:
        database.close()
        raise
    return database


def _start_write_ahead_log(database: sqlite3.Connection) -> None:
    # Two processes that create the file at once: SQLite refuses one of them here without waiting.
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


@contextmanager
def transaction(database: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """All of what happens inside, or nothing; with ``kind`` DEFERRED, reading as of one moment."""
    database.execute(f"BEGIN {kind}")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # after some errors (a full disk) it is rolled back already
            database.execute("ROLLBACK")
        raise


def create_tables(database: sqlite3.Connection) -> None:
    """Make the tables where they are not there."""
    for statement in (METRIC_SETS, ROWS):
        database.execute(statement)


def put_rows(database: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Write rows that this version of the core has made, all or none of them."""
    with transaction(database):
        sets = {names: metric_set(database, names) for names in {row.names for row in rows}}
        # "or replace", not "or ignore": a row that was damaged on disk is mended by computing it again.
        database.executemany(
            f"INSERT OR REPLACE {INSERT_INTO_ROWS}",
            (
                (
                    bytes.fromhex(row.key),
                    bytes.fromhex(row.point),
                    row.method,
                    to_signed(row.seed),
                    row.run,
                    sets[row.names],
                    row.values,
                    row.failure,
                    _crossfade.RESULTS_VERSION,
                    _crossfade.__version__,
                    row.seconds,
                )
                for row in rows
            ),
        )


def metric_set(database: sqlite3.Connection, names: str) -> int:
    """The number of a list of metric names, which is added where it is not there."""
    database.execute("INSERT OR IGNORE INTO metric_sets (names) VALUES (?)", (names,))
    (number,) = database.execute("SELECT id FROM metric_sets WHERE names = ?", (names,)).fetchone()
    return int(number)


def get_rows(database: sqlite3.Connection, keys: Iterable[str]) -> dict[str, Row]:
    """The rows that are there, by key."""
    lines = whole_lines(database, {bytes.fromhex(key) for key in keys})
    return {row.key: row for row in (to_row(line, names) for line, names in lines)}


def to_row(line: Line, names: str) -> Row:
    """A line of the table as a row."""
    key, point, method, seed, run, _, values, failure, _, _, seconds = line
    return Row(key.hex(), point.hex(), method, seed % 2**64, run, names, values, failure, seconds)


def to_signed(seed: int) -> int:
    """A seed as SQLite keeps it: its integers have a sign."""
    return seed - 2**64 if seed >= 2**63 else seed


def whole_lines(database: sqlite3.Connection, wanted: set[bytes] | None = None) -> Iterator[tuple[Line, str]]:
    """The lines of the wanted keys (of all) as of one moment, each with the names of its metrics.

    A line without a value for each name counts as one that is not there: a disk may have torn it.
    """
    with transaction(database, "DEFERRED"):
        sets = {
            number: (names, 8 * len(names_of(names)))
            for number, names in database.execute("SELECT id, names FROM metric_sets")
        }
        for line in _lines(database, wanted):
            names, size = sets.get(line[5], ("", -1))
            if isinstance(line[6], bytes) and len(line[6]) == size:
                yield line, names


def _lines(database: sqlite3.Connection, wanted: set[bytes] | None) -> Iterator[Line]:
    everything = database.execute(f"SELECT {COLUMNS} FROM rows")
    if wanted is None:
        return everything
    (last,) = database.execute("SELECT max(rowid) FROM rows").fetchone()
    if (last or 0) <= SCAN_FACTOR * len(wanted):
        return (line for line in everything if line[0] in wanted)
    return lines_of_keys(database, list(wanted))


def lines_of_keys(database: sqlite3.Connection, keys: Sequence[bytes]) -> Iterator[Line]:
    """The lines of these keys that are there, in no particular order."""
    for start in range(0, len(keys), KEYS_PER_QUERY):
        chunk = keys[start : start + KEYS_PER_QUERY]
        marks = ",".join("?" * len(chunk))
        yield from database.execute(f"SELECT {COLUMNS} FROM rows WHERE key IN ({marks})", chunk)
