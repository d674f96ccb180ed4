"""Finished runs, kept under the user's cache folder so that no run is ever computed twice.

The store is a cache, never the record: a row's key is a hash of everything that decides its content (the
resolved scenario, the seed, the run, the results version), and the file is named after the version and the
sources of the core. Losing it costs time only, so no trouble with it stops a run: it warns once and goes on
in memory.
"""

from __future__ import annotations

import os
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol, TypeVar

from crossfade import _crossfade
from crossfade.errors import CrossfadeWarning
from crossfade.rows import Row

T = TypeVar("T")

# How long to wait for another process that writes to the same file.
BUSY_TIMEOUT_S = 30.0
# SQLite binds at most 32766 values to a statement; any chunk well below that is as quick.
KEYS_PER_QUERY = 500


class RowStore(Protocol):
    """Rows by key."""

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        """The rows that are there, by key."""
        ...

    def put(self, rows: Iterable[Row]) -> None:
        """Keep these rows; a key that is there already keeps its row (it is the same one)."""
        ...

    def close(self) -> None:
        """Let go of the file, if there is one."""
        ...


class MemoryStore:
    """A store that lasts as long as the object."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        return {key: self._rows[key] for key in keys if key in self._rows}

    def put(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._rows.setdefault(row.key, row)

    def close(self) -> None:
        pass


class SqliteStore:
    """A store in one SQLite file, safe with several processes at once (write-ahead log).

    Raises ``OSError`` or ``sqlite3.Error`` where the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)
        try:
            self._start_write_ahead_log()
            # A lost cache is no harm: no need to wait for the disk at every batch of rows.
            self._database.execute("PRAGMA synchronous = NORMAL")
            with self._database:
                self._database.execute(
                    "CREATE TABLE IF NOT EXISTS rows (key TEXT PRIMARY KEY, point TEXT, method TEXT, "
                    'seed TEXT, run INTEGER, names TEXT, "values" BLOB, failure TEXT, seconds REAL)'
                )
        except BaseException:
            self._database.close()
            raise

    def _start_write_ahead_log(self) -> None:
        # Two processes that create the file at once: SQLite refuses one of them here without waiting.
        deadline = time.monotonic() + BUSY_TIMEOUT_S
        while True:
            try:
                self._database.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        wanted = list(keys)
        found: dict[str, Row] = {}
        for start in range(0, len(wanted), KEYS_PER_QUERY):
            chunk = wanted[start : start + KEYS_PER_QUERY]
            marks = ",".join("?" * len(chunk))
            for fields in self._database.execute(f"SELECT * FROM rows WHERE key IN ({marks})", chunk):
                row = Row(*fields)._replace(seed=int(fields[3]))
                found[row.key] = row
        return found

    def put(self, rows: Iterable[Row]) -> None:
        # "or replace", not "or ignore": a row that was damaged on disk is mended by computing it again.
        with self._database:
            self._database.executemany(
                "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (row._replace(seed=str(row.seed)) for row in rows),  # type: ignore[arg-type]
            )

    def close(self) -> None:
        self._database.close()


class Cache:
    """The user's cache file until it fails, memory from then on."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._store: RowStore = MemoryStore()
        if path is not None:
            try:
                self._store = SqliteStore(path)
            except (OSError, sqlite3.Error) as error:
                self._warn(error)

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        """The rows that are there, by key."""
        wanted = list(keys)
        return self._attempt(lambda store: store.get(wanted))

    def put(self, rows: Iterable[Row]) -> None:
        """Keep these rows."""
        kept = list(rows)
        self._attempt(lambda store: store.put(kept))

    def close(self) -> None:
        """Let go of the file."""
        self._attempt(lambda store: store.close())

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _attempt(self, operation: Callable[[RowStore], T]) -> T:
        try:
            return operation(self._store)
        except (OSError, sqlite3.Error) as error:
            self._warn(error)
            self._store = MemoryStore()
            return operation(self._store)

    def _warn(self, error: Exception) -> None:
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        advice = "; delete the file to use it again" if damaged else ""
        warnings.warn(
            f"finished runs are not kept: cannot use {self._path} ({error}){advice}",
            CrossfadeWarning,
            stacklevel=4,
        )


def open_cache(enabled: bool = True) -> Cache:
    """The store of this user, version and build; one in memory where ``enabled`` is false."""
    return Cache(cache_path() if enabled else None)


def cache_path() -> Path | None:
    """Where finished runs are kept, or None where the user has no home at all."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG rule: a relative path is to be ignored
        base = os.path.expanduser("~/.cache")
        if not os.path.isabs(base):
            return None
    return Path(base) / "crossfade" / f"{_crossfade.__version__}-{_crossfade.SOURCE_HASH[:12]}.sqlite"
