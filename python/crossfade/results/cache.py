"""Cache of finished runs in the user's cache folder, so that no run is computed twice.

The cache file is named after the version and the sources of the core, and a row's key is a hash of everything
that decides its content. Losing the cache costs only time, so an error in it never stops a run: it gives one
warning, and rows are kept in memory. Rows to be kept for good are in results files
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

# Version of the tables; each version has a cache file of its own.
FORMAT = 3
# Errors that any content of the file may cause.
TROUBLE = (OSError, sqlite3.Error, ValueError, TypeError, OverflowError, ResultsError)


class RowStore(Protocol):
    """Store of rows by key."""

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        """Rows of these keys that are in the store, by key."""
        ...

    def scan(self) -> Iterator[Sequence[Row]]:
        """All rows, in portions."""
        ...

    def size(self) -> int:
        """Approximate number of rows."""
        ...

    def put(self, rows: Sequence[Row]) -> None:
        """Add rows. Rows with equal keys are equal, so a row that is already stored may stay."""
        ...

    def close(self) -> None:
        """Close the file of the store, if it has one."""
        ...


class MemoryStore:
    """Store in memory, which is lost with the object."""

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
    """Store in one SQLite file, which several processes may use at once.

    Raises ``OSError`` or ``sqlite3.Error`` if the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Rows of a cache may be lost, so that commits need not wait for the disk.
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
    """Store in the user's cache file, and in memory once the file fails."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._store: RowStore = MemoryStore()
        if path is not None:
            try:
                self._store = SqliteStore(path)
            except TROUBLE as error:
                self._warn(error)

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        """Rows of these keys that are in the store, by key."""
        wanted = list(keys)
        return self._attempt(lambda store: store.get(wanted))

    def scan(self) -> Iterator[Sequence[Row]]:
        """All rows, in portions; up to the first damaged place of the file."""
        rows = self._attempt(lambda store: store.scan())
        while some := self._attempt(lambda _: next(rows, None)):
            yield some

    def size(self) -> int:
        """Approximate number of rows."""
        return self._attempt(lambda store: store.size())

    def put(self, rows: Sequence[Row]) -> None:
        """Add rows; an error of the file gives a warning."""
        self._attempt(lambda store: store.put(rows))

    def close(self) -> None:
        """Close the cache file."""
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
    """Cache of this user, version and build; a store in memory if ``enabled`` is false."""
    return Cache(cache_path() if enabled else None)


def cache_path() -> Path | None:
    """Path of the cache file of this version and build; None for a user without a home folder."""
    folder = cache_folder()
    name = f"{_crossfade.__version__}-{_crossfade.SOURCE_HASH[:12]}-{FORMAT}.sqlite"
    return folder and folder / name
