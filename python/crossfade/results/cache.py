"""Finished runs, kept under the user's cache folder so that no run is ever computed twice.

The store is a cache, never the record: the file is named after the version and the sources of the core, and a
row's key is a hash of everything that decides its content. Losing it costs time only, so no trouble with it
stops a run: it warns once and goes on in memory. What a user means to keep is in a results file
(:mod:`crossfade.results.file`), in the same tables.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import crossfade._crossfade as _crossfade
from crossfade.errors import CrossfadeWarning, ResultsError
from crossfade.files.places import cache_folder
from crossfade.results import rowtables
from crossfade.results.rows import Row

T = TypeVar("T")

# Of the tables: a cache of other ones is another file.
FORMAT = 3
# What can be wrong with a file, whatever somebody has put into it.
TROUBLE = (OSError, sqlite3.Error, ValueError, TypeError, OverflowError, ResultsError)


class RowStore(Protocol):
    """Rows by key."""

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        """The rows that are there, by key."""
        ...

    def scan(self) -> Iterator[Sequence[Row]]:
        """All rows, some at a time."""
        ...

    def size(self) -> int:
        """Approximate number of rows."""
        ...

    def put(self, rows: Sequence[Row]) -> None:
        """Keep these rows; rows with equal keys are equal, so one that is there already may stay."""
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

    def scan(self) -> Iterator[Sequence[Row]]:
        yield list(self._rows.values())

    def size(self) -> int:
        return len(self._rows)

    def put(self, rows: Sequence[Row]) -> None:
        self._rows.update((row.key, row) for row in rows)

    def close(self) -> None:
        pass


class SqliteStore:
    """A store in one SQLite file, safe with several processes at once.

    Raises ``OSError`` or ``sqlite3.Error`` where the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A lost cache is no harm: no need to wait for the disk at every batch of rows.
        self._database = rowtables.connect(path, synchronous="NORMAL")
        try:
            with rowtables.transaction(self._database):
                rowtables.create_tables(self._database)
        except BaseException:
            self._database.close()
            raise

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        return rowtables.get_rows(self._database, keys)

    def scan(self) -> Iterator[Sequence[Row]]:
        return rowtables.scan_rows(self._database)

    def size(self) -> int:
        return rowtables.size(self._database)

    def put(self, rows: Sequence[Row]) -> None:
        rowtables.put_rows(self._database, rows)

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
            except TROUBLE as error:
                self._warn(error)

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        """The rows that are there, by key."""
        wanted = list(keys)
        return self._attempt(lambda store: store.get(wanted))

    def scan(self) -> Iterator[Sequence[Row]]:
        """All rows, some at a time; those before a damaged place."""
        rows = self._attempt(lambda store: store.scan())
        while some := self._attempt(lambda _: next(rows, None)):
            yield some

    def size(self) -> int:
        """Approximate number of rows."""
        return self._attempt(lambda store: store.size())

    def put(self, rows: Sequence[Row]) -> None:
        """Keep these rows."""
        self._attempt(lambda store: store.put(rows))

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
        except TROUBLE as error:
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
    """Folder of finished runs, or None for a user without a home."""
    folder = cache_folder()
    name = f"{_crossfade.__version__}-{_crossfade.SOURCE_HASH[:12]}-{FORMAT}.sqlite"
    return folder and folder / name
