"""Rows in two tables of an SQLite database, used by results files and the user's cache.

Table ``metric_sets`` has each list of metric names once, ``rows`` a line for each finished run. All functions
raise ``sqlite3.Error``, which the caller handles: a cache may fail, a results file must not.
"""

from __future__ import annotations

import math
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import crossfade._crossfade as _crossfade
from crossfade.files.version import version
from crossfade.results import sidecars
from crossfade.results.rows import Row, names_of

Line = tuple[Any, ...]
"""Line of the table ``rows`` in the order of :data:`COLUMNS`; a checksum, if any, is last."""

# Longest wait in seconds for another process that writes to the file.
BUSY_TIMEOUT_S = 30.0
# Keys in a query: SQLite binds at most 32766 values, and smaller chunks are as fast.
KEYS_PER_QUERY = 500
# Number of rows that are read, or get checksums, at once.
ROWS_AT_ONCE = 4_000

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
    seconds REAL NOT NULL,
    checksum INTEGER NOT NULL
)"""
COLUMNS = 'key, point, method, seed, run, metric_set, "values", failure, results_version, version, seconds'
INSERT_INTO_ROWS = "INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

# Types of the cells of a sound line: with or without a failure, and (in older files) without a checksum.
KINDS = frozenset(
    (bytes, bytes, str, int, int, int, bytes, failure, int, str, float, *checksum)
    for failure, checksum in product((str, type(None)), ((), (int,)))
)
ID_BYTES = 16
# Greatest length of a text or blob: a plan with the greatest number of points is shorter.
MOST_BYTES = 256 * 2**20
# Bound far above any metric; sums of squares of smaller values stay finite.
LARGEST_VALUE = 1e100


def connect(path: Path, synchronous: str) -> sqlite3.Connection:
    """Open a database for writing, with a write-ahead log, so that a killed writer leaves it whole.

    ``synchronous`` is SQLite's setting: FULL waits for the disk at every commit, NORMAL does not. Several
    threads may use the connection, one at a time.
    """
    # An absolute path, since ":memory:" and "file:NAME" have a special meaning for SQLite.
    with sidecars.guarded(path):
        database = sqlite3.connect(
            path.absolute(), BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            guard(database)
            _start_write_ahead_log(database)
            sidecars.check_log(path, to_write=True)
            database.execute(f"PRAGMA synchronous = {synchronous}")
        except BaseException:
            database.close()
            raise
    return database


def guard(database: sqlite3.Connection) -> None:
    """Restrict SQLite on an untrusted file: no code in its schema, checked pages, tolerant text."""
    sidecars.harden(database, MOST_BYTES)
    # Damaged text is decoded to other text, which fails its checksum, instead of ending the query.
    database.text_factory = partial(str, encoding="utf-8", errors="replace")


def _start_write_ahead_log(database: sqlite3.Connection) -> None:
    # If two processes create the file at once, SQLite refuses one of them here without waiting.
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
    """Transaction: all statements inside take effect, or none; kind DEFERRED reads from one snapshot."""
    database.execute(f"BEGIN {kind}")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # after some errors (a full disk) SQLite has rolled back already
            database.execute("ROLLBACK")
        raise


def create_tables(database: sqlite3.Connection) -> None:
    """Create the tables if they do not exist, and add checksums to the rows of an older file."""
    for statement in (METRIC_SETS, ROWS):
        database.execute(statement)
    if columns_of(database) == COLUMNS:
        sets = metric_sets(database)
        database.execute("ALTER TABLE rows ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")
        last = 0
        while lines := database.execute(
            f"SELECT rowid, {COLUMNS} FROM rows WHERE rowid > ? ORDER BY rowid LIMIT {ROWS_AT_ONCE}", (last,)
        ).fetchall():
            sums = [
                (checksum(line, names), number)
                for number, *line in lines
                if (names := names_in(sets, line)) is not None and is_sound(tuple(line), names)
            ]
            database.executemany("UPDATE rows SET checksum = ? WHERE rowid = ?", sums)
            last = lines[-1][0]


def put_rows(database: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Write rows made by this version of the core, all or none of them."""
    with transaction(database):
        sets = {names: metric_set(database, names) for names in {row.names for row in rows}}
        # "or replace", not "or ignore", so that a recomputed row replaces a damaged one.
        lines = ((to_line(row, sets[row.names]), row.names) for row in rows)
        database.executemany(f"INSERT OR REPLACE {INSERT_INTO_ROWS}", (sealed(*line) for line in lines))


def to_line(row: Row, metric_set: int) -> Line:
    """Row made by this version of the core as a line of the table, without a checksum."""
    return (
        bytes.fromhex(row.key),
        bytes.fromhex(row.point),
        row.method,
        to_signed(row.seed),
        row.run,
        metric_set,
        row.values,
        row.failure,
        _crossfade.RESULTS_VERSION,
        version(),
        float(row.seconds),
    )


def sealed(line: Line, names: str) -> Line:
    """Line with a new checksum."""
    return (*line[:11], checksum(line, names))


def checksum(line: Line, names: str) -> int:
    """CRC-32 of a line and the names of its metrics, in the order that docs/sweeps.md gives.

    The version of the program and the seconds of the run are left out: rows that differ only in these are the
    same. The checksum detects damage, including every single bit; it does not prevent forgery.
    """
    key, point, method, seed, run, _, values, failure, results_version = line[:9]
    numbers = struct.pack("<16s16sqqq", key, point, seed, run, results_version)
    texts = f"{method}\0" if failure is None else f"{method}\0{failure}\0"
    return zlib.crc32(values, zlib.crc32(texts.encode(), zlib.crc32(numbers, _checksum_of(names))))


@lru_cache(maxsize=4096)
def _checksum_of(names: str) -> int:
    return zlib.crc32(names.encode())


def is_sound(line: Line, names: str | None) -> bool:
    """True if a line is undamaged: its types, a value for each name, and its checksum.

    ``names`` is None if the line's ``metric_set`` does not exist.
    """
    if names is None or tuple(map(type, line)) not in KINDS:
        return False
    if not (len(line[0]) == len(line[1]) == ID_BYTES and line[4] >= 0 and math.isfinite(line[10])):
        return False
    size = 8 * len(names_of(names))
    if len(line) == 11:
        return len(line[6]) == size  # rows without a checksum have no distributions
    return len(line[6]) >= size and bool(line[11] == checksum(line, names))


def are_numbers(values: bytes, names: str) -> bool:
    """True if the values of a row are finite, and small enough to be summed."""
    found = struct.unpack_from(f"<{len(names_of(names))}d", values)
    return all(-LARGEST_VALUE < value < LARGEST_VALUE for value in found)


def metric_set(database: sqlite3.Connection, names: str) -> int:
    """Number of a list of metric names, which is added if it is new."""
    database.execute("INSERT OR IGNORE INTO metric_sets (names) VALUES (?)", (names,))
    (number,) = database.execute("SELECT id FROM metric_sets WHERE names = ?", (names,)).fetchone()
    return int(number)


def get_rows(
    database: sqlite3.Connection, keys: Iterable[str], damaged: list[Line] | None = None
) -> dict[str, Row]:
    """Undamaged rows of these keys, by key; damaged lines are added to ``damaged``."""
    lines = whole_lines(database, {bytes.fromhex(key) for key in keys}, damaged)
    return {row.key: row for row in (to_row(line, names) for line, names in lines)}


def scan_rows(database: sqlite3.Connection, damaged: list[Line] | None = None) -> Iterator[list[Row]]:
    """All undamaged rows in portions; damaged lines are added to ``damaged``.

    Other processes may write in between.
    """
    last = -(2**63)
    while True:
        with transaction(database, "DEFERRED"):
            sets = metric_sets(database)
            query = f"SELECT rowid, {columns_of(database)} FROM rows WHERE rowid > ? ORDER BY rowid LIMIT ?"
            lines = database.execute(query, (last, ROWS_AT_ONCE)).fetchall()
        if not lines:
            return
        last = lines[-1][0]
        sound = _sound((line[1:] for line in lines), sets, damaged)
        yield [to_row(line, names) for line, names in sound]


def size(database: sqlite3.Connection) -> int:
    """Number of rows, or an upper bound of it."""
    (last,) = database.execute("SELECT max(rowid) FROM rows").fetchone()
    return int(last or 0)


def to_row(line: Line, names: str) -> Row:
    """Convert a line of the table to a row."""
    key, point, method, seed, run, _, values, failure, _, _, seconds = line[:11]
    return Row(key.hex(), point.hex(), method, seed % 2**64, run, names, values, failure, seconds)


def to_signed(seed: int) -> int:
    """Seed as a signed integer of SQLite."""
    return seed - 2**64 if seed >= 2**63 else seed


def metric_sets(database: sqlite3.Connection) -> dict[int, str]:
    """Lists of metric names by number; unsorted ones, which no program writes, are left out."""
    return {
        number: names
        for number, names in database.execute("SELECT id, names FROM metric_sets")
        if isinstance(names, str) and names_of(names) == tuple(sorted(set(names_of(names))))
    }


def names_in(sets: dict[int, str], line: Sequence[Any]) -> str | None:
    """Names of a line's metrics; None if its ``metric_set`` does not exist."""
    return sets.get(line[5]) if isinstance(line[5], int) else None


def columns_of(database: sqlite3.Connection) -> str:
    """Names of the columns of ``rows`` in this file; older files have no checksum."""
    there = {column for _, column, *_ in database.execute("PRAGMA table_info(rows)")}
    return COLUMNS + ", checksum" * ("checksum" in there)


def whole_lines(
    database: sqlite3.Connection, wanted: set[bytes] | None = None, damaged: list[Line] | None = None
) -> Iterator[tuple[Line, str]]:
    """Undamaged lines of the wanted keys (None: all) of one snapshot, each with the names of its metrics.

    Damaged lines are left out, and added to ``damaged``.
    """
    with transaction(database, "DEFERRED"):
        if wanted is None:
            lines: Iterator[Line] = database.execute(f"SELECT {columns_of(database)} FROM rows")
        else:
            lines = lines_of_keys(database, list(wanted))
        yield from _sound(lines, metric_sets(database), damaged)


def _sound(
    lines: Iterable[Line], sets: dict[int, str], damaged: list[Line] | None
) -> Iterator[tuple[Line, str]]:
    for line in lines:
        names = names_in(sets, line)
        if names is not None and is_sound(line, names) and are_numbers(line[6], names):
            yield line, names
        elif damaged is not None:
            damaged.append(line)


def lines_of_keys(database: sqlite3.Connection, keys: Sequence[bytes]) -> Iterator[Line]:
    """Lines of these keys, in no particular order."""
    columns = columns_of(database)
    for start in range(0, len(keys), KEYS_PER_QUERY):
        chunk = keys[start : start + KEYS_PER_QUERY]
        marks = ",".join("?" * len(chunk))
        yield from database.execute(f"SELECT {columns} FROM rows WHERE key IN ({marks})", chunk)
