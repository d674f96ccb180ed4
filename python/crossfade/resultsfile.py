"""The results file of a sweep: one SQLite database that any program can read and that nothing can tear.

It holds plans (what was asked for) and rows (what is finished). The same rows serve all plans that ask for
them. Its format is described in docs/sweeps.md; a change that older readers cannot read raises
:data:`FORMAT_VERSION`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from crossfade import rowtables
from crossfade.errors import OutputError, ResultsError
from crossfade.files import check_writable
from crossfade.rows import Row

FORMAT_VERSION = 1
APPLICATION_ID = 0x43465253  # "CFRS"
MAGIC = b"SQLite format 3\0"
SUFFIX = ".sqlite"

# Rows wait this long at the most until they are on the disk: a commit takes as long for one as for thousands.
COMMIT_EVERY_S = 1.0

PLANS = """CREATE TABLE IF NOT EXISTS plans (
    id TEXT PRIMARY KEY,
    added REAL NOT NULL,
    description TEXT NOT NULL,
    warnings TEXT NOT NULL DEFAULT '[]'
)"""


@dataclass(frozen=True)
class StoredPlan:
    """A plan as a results file keeps it.

    ``description`` has name, title, text (the scenario file), overrides, scenario (that of the first point),
    axes, points ``[{"axes": {key: value}, "id"}]``, methods, stop, seed, units, version, results_version.
    """

    id: str
    added: float
    """When it was last asked for, in seconds since 1970."""
    description: dict[str, Any]
    warnings: list[str]


class ResultsFile:
    """A results file that is open: :meth:`create` to fill it, :meth:`open` to read it.

    Rows that are put are committed within a second, by a thread of the file's own. An error there (a full
    disk) is raised by the next :meth:`put` or by :meth:`close`; what was committed before stays, and the file
    stays valid. Every error is one line, :class:`OutputError` where the file cannot be written and
    :class:`ResultsError` where it is no results file, or one of a newer format.
    """

    def __init__(self, path: Path, database: sqlite3.Connection, to_write: bool) -> None:
        self.path = path
        self._database = database
        self._to_write = to_write
        # Held while the connection is in use: the committing thread shares it.
        self._lock = threading.RLock()
        # Held for moments only, so that no run waits for the disk: it guards what follows.
        self._waiting_lock = threading.Lock()
        self._waiting: list[Row] = []
        self._timer: threading.Timer | None = None
        self._failure: OutputError | ResultsError | None = None

    @classmethod
    def create(cls, path: str | PathLike[str]) -> ResultsFile:
        """Open a file to fill it, and make it where there is none. Other processes may fill it too."""
        path = Path(path)
        check_writable(path)
        if path.exists() and not path.is_file():
            raise OutputError(f"{path}: cannot be written (it is not a file)")
        with _one_line(path, to_write=True):
            if path.exists() and path.stat().st_size > 0:
                with cls.open(path, may_be_empty=True):
                    pass  # before anything is changed in a file that is something else
            database = rowtables.connect(path, "FULL")
            try:
                with rowtables.transaction(database):
                    rowtables.create_tables(database)
                    database.execute(PLANS)
                    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    database.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            except BaseException:
                database.close()
                raise
        return cls(path, database, to_write=True)

    @classmethod
    def open(cls, path: str | PathLike[str], *, may_be_empty: bool = False) -> ResultsFile:
        """Open a file to read it, also while a sweep fills it.

        ``may_be_empty`` lets a database pass in which there is nothing at all yet.
        """
        path = Path(path)
        if not path.exists():
            raise ResultsError(f"{path}: no such file")
        if not is_results_file(path):
            raise ResultsError(f"{path}: not a results file")
        with _one_line(path, to_write=False):
            database = _connect_to_read(path)
            try:
                _check_format(path, database, may_be_empty)
            except BaseException:
                database.close()
                raise
        return cls(path, database, to_write=False)

    def put(self, rows: Iterable[Row]) -> None:
        """Keep rows. They are committed within a second, and by :meth:`close`."""
        with self._waiting_lock:
            if self._failure is not None:
                raise self._failure
            self._waiting.extend(rows)
            if self._waiting and self._timer is None:
                self._timer = threading.Timer(COMMIT_EVERY_S, self._commit_in_background)
                self._timer.daemon = True
                self._timer.start()

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        """The rows that are there, by key."""
        with self._using():
            self._commit()
            return rowtables.get_rows(self._database, keys)

    def add_plan(self, description: Mapping[str, Any], warnings: Sequence[str] = ()) -> str:
        """Add a plan, or find it, and make it the one that readers take; gives its id.

        ``warnings`` are for a plan that is new: one that is there has those of its results.
        """
        identity = plan_id(description)
        self._write(
            "INSERT INTO plans VALUES (?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET added = excluded.added, description = excluded.description",
            (identity, time.time(), _json(description), _json(list(warnings))),
        )
        return identity

    def set_warnings(self, plan: str, warnings: Sequence[str]) -> None:
        """Keep what to be careful about in the results of a plan (its id)."""
        self._write("UPDATE plans SET warnings = ? WHERE id = ?", (_json(list(warnings)), plan))

    def plans(self) -> list[StoredPlan]:
        """The plans, the one that was asked for last at the end."""
        with self._using():
            lines = self._database.execute(
                "SELECT id, added, description, warnings FROM plans ORDER BY added, rowid"
            ).fetchall()
            return [StoredPlan(id, added, json.loads(text), json.loads(w)) for id, added, text, w in lines]

    def plan(self, which: str | int | None = None) -> StoredPlan:
        """A plan by its number (the oldest is 1) or the first six digits of its id; the last where None."""
        plans = self.plans()
        if not plans:
            raise ResultsError(f"{self.path}: there is no plan in it")
        if which is None:
            return plans[-1]
        if str(which).isdecimal() and 1 <= int(which) <= len(plans):
            return plans[int(which) - 1]
        text = str(which)
        found = [plan for plan in plans if plan.id == text or (len(text) >= 6 and plan.id.startswith(text))]
        if len(found) == 1:
            return found[0]
        there = ", ".join(f"{number}: {plan.id[:8]}" for number, plan in enumerate(plans, start=1))
        raise ResultsError(f"plan {which}: {'several' if len(found) > 1 else 'not'} in {self.path} ({there})")

    def merge(self, others: Sequence[str | PathLike[str]]) -> int:
        """Take in the rows and plans of other files, all or nothing; gives how many rows are new.

        Raises :class:`ResultsError` with the key where two rows of one key differ (in more than ``seconds``).
        """
        new = 0
        with self._using(), rowtables.transaction(self._database):
            for path in others:
                with ResultsFile.open(path) as other:
                    if not self.path.samefile(path):
                        new += _merge_rows(self._database, other)
                        for plan in other.plans():
                            _merge_plan(self._database, plan)
        return new

    def lines(self) -> Iterator[tuple[rowtables.Line, str]]:
        """All rows as they are stored (see :data:`rowtables.COLUMNS`), each with the names of its metrics."""
        with self._using() as database:
            yield from rowtables.whole_lines(database)

    def batches(self, columns: str, size: int) -> Iterator[tuple[dict[int, str], list[rowtables.Line]]]:
        """Some columns of all rows as they are stored, ``size`` at a time, all as of one moment.

        With each batch come the names of metrics by ``metric_set``, joined by line breaks.
        """
        with self._using() as database, rowtables.transaction(database, "DEFERRED"):
            sets = dict(database.execute("SELECT id, names FROM metric_sets"))
            cursor = database.execute(f"SELECT {columns} FROM rows")
            while lines := cursor.fetchmany(size):
                yield sets, lines

    def close(self) -> None:
        """Commit what is waiting and let go of the file."""
        with self._waiting_lock:
            if self._timer is not None:
                self._timer.cancel()
        with self._lock:
            try:
                with self._using():
                    self._commit()
            finally:
                self._waiting = []
                self._database.close()

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, OutputError | ResultsError):
            with suppress(OutputError, ResultsError):  # the first error says it all
                self.close()
        else:
            self.close()

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """The connection for this thread alone, with errors of one line."""
        with self._lock, _one_line(self.path, self._to_write):
            yield self._database

    def _write(self, statement: str, values: Sequence[object]) -> None:
        with self._using(), rowtables.transaction(self._database):
            self._database.execute(statement, values)

    def _commit(self) -> None:
        with self._waiting_lock:
            rows, self._waiting = self._waiting, []
        if not rows:
            return
        try:
            rowtables.put_rows(self._database, rows)
        except BaseException:
            with self._waiting_lock:
                self._waiting = rows + self._waiting
            raise

    def _commit_in_background(self) -> None:
        with self._waiting_lock:
            self._timer = None
        try:
            with self._using():
                self._commit()
        except (OutputError, ResultsError) as error:
            with self._waiting_lock:
                self._failure = error


def is_results_file(path: str | PathLike[str]) -> bool:
    """Whether a file is to be opened as a results file: whether it begins as an SQLite database does."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def plan_id(description: Mapping[str, Any]) -> str:
    """The id of a plan: a hash of what is asked for, whatever the words of the scenario file."""
    asked = {
        "axes": description["axes"],
        "points": [point["id"] for point in description["points"]],
        "methods": description["methods"],
        "stop": description["stop"],
        "seed": description["seed"],
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _connect_to_read(path: Path) -> sqlite3.Connection:
    def connect(options: str) -> sqlite3.Connection:
        address = f"{path.absolute().as_uri()}?{options}"
        database = sqlite3.connect(
            address, rowtables.BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, uri=True
        )
        try:
            database.execute("PRAGMA query_only = ON")
            database.execute("SELECT count(*) FROM sqlite_master")
        except BaseException:
            database.close()
            raise
        return database

    try:
        # Not "ro", with which SQLite could not clear away the log that even a reader makes.
        return connect("mode=rw")
    except sqlite3.OperationalError as error:
        refused = error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY"))
        if not refused or path.with_name(f"{path.name}-wal").exists():
            raise
        # Nobody may write to the folder, so that readers can make no log; but then the file does not change.
        return connect("immutable=1")


def _check_format(path: Path, database: sqlite3.Connection, may_be_empty: bool) -> None:
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


def _merge_rows(database: sqlite3.Connection, other: ResultsFile) -> int:
    """The rows of ``other`` into ``database``, within the transaction that is open there."""
    new = 0
    sets: dict[str, int] = {}
    lines = other.lines()
    while batch := list(islice(lines, rowtables.KEYS_PER_QUERY)):
        for _, names in batch:
            if names not in sets:
                sets[names] = rowtables.metric_set(database, names)
        rows = [(*line[:5], sets[names], *line[6:]) for line, names in batch]
        added = database.executemany(f"INSERT OR IGNORE {rowtables.INSERT_INTO_ROWS}", rows).rowcount
        new += added
        if added < len(rows):
            _refuse_differences(database, rows, other.path)
    return new


def _refuse_differences(database: sqlite3.Connection, rows: list[rowtables.Line], path: Path) -> None:
    ours = {line[0]: line for line in rowtables.lines_of_keys(database, [row[0] for row in rows])}
    for row in rows:
        # All but the version of the program and the time that it took.
        if row[:9] != ours[row[0]][:9]:
            what = f"row {row[0].hex()} ({row[2]}, run {row[4]})"
            raise ResultsError(f"{path}: {what} differs from the one with that key that is there already")


def _merge_plan(database: sqlite3.Connection, plan: StoredPlan) -> None:
    description, warnings = _json(plan.description), _json(plan.warnings)
    database.execute(
        "INSERT INTO plans VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET added = max(added, ?)",
        (plan.id, plan.added, description, warnings, plan.added),
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


@contextmanager
def _one_line(path: Path, to_write: bool) -> Iterator[None]:
    """SQLite's errors as this package's own, each one line that names the file."""
    try:
        yield
    except (sqlite3.Error, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        if getattr(error, "sqlite_errorname", "") in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
            raise ResultsError(f"{path}: not a results file, or a damaged one ({reason})") from None
        if to_write:
            raise OutputError(f"{path}: cannot be written ({reason})") from None
        raise ResultsError(f"{path}: cannot be read ({reason})") from None
