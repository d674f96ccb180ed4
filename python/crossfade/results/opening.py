"""Opening of a results file for reading; nothing in it is trusted before it is checked.

The file may be another program's database, have a newer format, be tampered with, be damaged so that queries
never end, or lie in a read-only place. Each of these gives a one-line error.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from crossfade.errors import OutputError, ResultsError, shortened
from crossfade.records import APPLICATION_ID, SQLITE_MAGIC, begins
from crossfade.results import rowtables, sidecars

# Format 1 had no checksums, format 2 no distributions.
FORMAT_VERSION = 3

# Columns and types of all tables of a results file.
SCHEMA = {
    "plans": "id TEXT, added REAL, description TEXT, warnings TEXT",
    "metric_sets": "id INTEGER, names TEXT",
    "rows": "key BLOB, point BLOB, method TEXT, seed INTEGER, run INTEGER, metric_set INTEGER, values BLOB, "
    "failure TEXT, results_version INTEGER, version TEXT, seconds REAL",
}
SEALED = ("plans", "rows")

# Greatest number of steps of SQLite's machine in a query, and further steps for each byte of the file. A row
# takes about twenty steps and at least a hundred bytes; a query with more steps is taken for endless.
STEPS = 20_000_000
STEPS_PER_BYTE = 5
STEPS_AT_ONCE = 1_000_000


def is_results_file(path: str | PathLike[str]) -> bool:
    """True if a file begins as an SQLite database does."""
    return isinstance(path, str | PathLike) and begins(Path(path), len(SQLITE_MAGIC)) == SQLITE_MAGIC


def connect_to_read(path: Path) -> tuple[sqlite3.Connection, sidecars.State | None]:
    """Connection that only reads, also beside a sweep that writes.

    SQLite never gets the right to write in the file's folder, since it could play back a journal that lies
    there. Also returns the state of the file if the connection cannot follow later writes of others.
    """
    sidecars.check(path, to_write=False)
    if sidecars.in_use(path):
        return _connect(path, "mode=ro"), None
    state = sidecars.state(path)
    if not sidecars.has_log(path):
        # In this mode SQLite ignores the files beside the database.
        return _connect(path, "mode=ro&immutable=1"), state
    # A log left by a killed sweep, or by another program, can only be played back by writing.
    with sidecars.private_copy(path) as copy:
        return _connect(copy, "mode=rw", alone=True), state


def _connect(path: Path, options: str, alone: bool = False) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?{options}"
    database = sqlite3.connect(
        address, rowtables.BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, uri=True
    )
    try:
        rowtables.guard(database)
        database.execute("PRAGMA query_only = ON")
        if alone:
            # In this mode the index of the log is in memory, and the file names are not needed again.
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("SELECT count(*) FROM sqlite_master")
    except BaseException:
        database.close()
        raise
    return database


def check_format(path: Path, database: sqlite3.Connection, may_be_empty: bool) -> None:
    """Raise :class:`ResultsError` for a file that is not a results file, or has a newer format."""
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if may_be_empty and application == version == tables == 0:
        return
    if application != APPLICATION_ID:
        raise ResultsError(f"{path}: not a results file (another program's database)")
    if version > FORMAT_VERSION:
        raise ResultsError(
            f"{path}: a results file of a newer crossfade (format {version}; this one reads format "
            f"{FORMAT_VERSION})"
        )
    if version < 1:
        raise ResultsError(f"{path}: not a results file, or a damaged one (format {version})")
    _check_schema(path, database, version)


def _check_schema(path: Path, database: sqlite3.Connection, version: int) -> None:
    """Refuse a file that has more than the tables of its format: a view or a trigger is another program's."""
    found = set()
    for kind, name, statement in database.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
        is_table = kind == "table" and str(statement).upper().startswith("CREATE TABLE")
        if is_table and name in SCHEMA:
            found.add(name)
        elif not (str(name).startswith("sqlite_") and (is_table or kind == "index")):
            what = shortened(f"{kind} {name}")
            raise ResultsError(f"{path}: not a results file, or a tampered one (it holds a {what})")
    for name, columns in SCHEMA.items():
        wanted = columns + ", checksum INTEGER" * (version > 1 and name in SEALED)
        if name not in found:
            raise ResultsError(f"{path}: not a results file, or a damaged one (no table {name})")
        there = database.execute(f"PRAGMA table_xinfo({name})").fetchall()
        if ", ".join(f"{column[1]} {column[2]}" for column in there) != wanted or any(c[6] for c in there):
            raise ResultsError(f"{path}: not a results file, or a damaged one (columns of the table {name})")


def bound_steps(path: Path, database: sqlite3.Connection) -> None:
    """Limit the steps of further queries to what the whole file could need."""
    # The blocks on the disk count, since a sparse file may claim any size.
    parts = [part.stat() for part in (path, path.with_name(f"{path.name}-wal")) if part.exists()]
    size = sum(min(part.st_size, 512 * getattr(part, "st_blocks", part.st_size)) for part in parts)
    left = (STEPS + STEPS_PER_BYTE * size) // STEPS_AT_ONCE

    def is_enough() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    database.set_progress_handler(is_enough, STEPS_AT_ONCE)


@contextmanager
def one_line(path: Path, to_write: bool) -> Iterator[None]:
    """Raise SQLite's errors as this package's own, in one line that names the file."""
    try:
        yield
    except (sqlite3.Error, OSError, ValueError, OverflowError) as error:
        reason = shortened(getattr(error, "strerror", None) or error)
        name = getattr(error, "sqlite_errorname", "")
        if name == "SQLITE_INTERRUPT":
            raise ResultsError(f"{path}: not a results file, or a damaged one (it has no end)") from None
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            raise ResultsError(f"{path}: not a results file, or a damaged one ({reason})") from None
        if to_write:
            raise OutputError(f"{path}: cannot be written ({reason})") from None
        raise ResultsError(f"{path}: cannot be read ({reason})") from None
