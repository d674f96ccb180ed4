"""Results file of a sweep: one SQLite database, readable by any program and left whole by a killed one.

It holds plans (requested runs) and rows (finished runs); all plans that need a row share it. docs/sweeps.md
describes the format; a change that older readers cannot read increases
:data:`~crossfade.results.opening.FORMAT_VERSION`. Everything in a file is checked when read: the file and its
tables in :mod:`crossfade.results.opening`, rows in :mod:`crossfade.results.rowtables`, plans in
:mod:`crossfade.results.plantable`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from crossfade.errors import CrossfadeWarning, OutputError, ResultsError, shortened
from crossfade.files import as_path, check_writable
from crossfade.records import APPLICATION_ID
from crossfade.results import plantable, rowtables, sidecars
from crossfade.results.opening import (
    FORMAT_VERSION,
    bound_steps,
    check_format,
    connect_to_read,
    is_results_file,
    one_line,
)
from crossfade.results.plantable import StoredPlan, plan_id
from crossfade.results.rows import Row

SUFFIX = ".sqlite"

# Longest time for which added rows wait for a commit, which takes as long for one row as for thousands.
COMMIT_EVERY_S = 1.0
# Greatest number of rows that wait in memory.
MOST_WAITING = 20_000

REPAIR = "crossfade check FILE --repair drops what is damaged"


class ResultsFile:
    """An open results file: :meth:`create` opens one for writing, :meth:`open` for reading.

    A thread of the file commits added rows within a second. Its error (such as a full disk) is raised by the
    next :meth:`put` or by :meth:`close`; committed rows stay, and the file stays valid. Every error is one
    line: :class:`OutputError` if the file cannot be written, :class:`ResultsError` if it is not a results
    file or has a newer format.
    """

    def __init__(
        self,
        path: Path,
        database: sqlite3.Connection,
        to_write: bool,
        state: sidecars.State | None = None,
    ) -> None:
        self.path = path
        self.damaged: list[rowtables.Line] = []
        """Damaged lines that were read and left out."""
        self._database = database
        self._to_write = to_write
        # State of a file that no process used when it was opened; after a change the file must be reopened.
        self._state = state
        self._told_damage = False
        # Held while the connection is in use: the committing thread shares it.
        self._lock = threading.RLock()
        # Guards the fields below; it is never held during a commit, so that no run waits for the disk.
        self._waiting_lock = threading.Lock()
        self._waiting: list[Row] = []
        self._timer: threading.Timer | None = None
        self._failure: OutputError | ResultsError | None = None

    @classmethod
    def create(cls, path: str | PathLike[str]) -> ResultsFile:
        """Open a file for writing, and create it if it does not exist; other processes may write it too."""
        path = as_path("out", path, OutputError)
        check_writable(path)
        if os.path.exists(path) and not path.is_file():
            raise OutputError(f"{path}: cannot be written (it is not a file)")
        with one_line(path, to_write=True):
            if path.exists() and path.stat().st_size > 0:
                with cls.open(path, may_be_empty=True):
                    pass  # refuses another program's file before it is changed
            database = rowtables.connect(path, "FULL")
            try:
                with rowtables.transaction(database):
                    rowtables.create_tables(database)
                    database.execute(plantable.TABLE)
                    plantable.seal_plans(database)
                    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    database.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
            except BaseException:
                database.close()
                raise
        return cls(path, database, to_write=True)

    @classmethod
    def open(cls, path: str | PathLike[str], *, may_be_empty: bool = False) -> ResultsFile:
        """Open a file for reading, also while a sweep writes it.

        ``may_be_empty`` accepts a database without any table.
        """
        path = as_path("path", path, ResultsError)
        if not os.path.exists(path):
            raise ResultsError(f"{shortened(path)}: no such file")
        if not is_results_file(path):
            raise ResultsError(f"{shortened(path)}: not a results file")
        with one_line(path, to_write=False):
            database, state = connect_to_read(path)
            try:
                check_format(path, database, may_be_empty)
            except BaseException:
                database.close()
                raise
        return cls(path, database, to_write=False, state=state)

    def put(self, rows: Iterable[Row]) -> None:
        """Add rows, which are committed within a second and by :meth:`close`."""
        with self._waiting_lock:
            if self._failure is not None:
                raise self._failure
            self._waiting.extend(rows)
            are_many = len(self._waiting) > MOST_WAITING
            if self._waiting and self._timer is None:
                self._timer = threading.Timer(COMMIT_EVERY_S, self._commit_in_background)
                self._timer.daemon = True
                self._timer.start()
        if are_many:  # the disk is slower than the runs
            self.commit()

    def get(self, keys: Iterable[str]) -> dict[str, Row]:
        """Rows of these keys that are in the file, by key."""
        with self._using():
            self._commit()
            rows = rowtables.get_rows(self._database, keys, self.damaged)
        self.tell_damage()
        return rows

    def scan(self) -> Iterator[Sequence[Row]]:
        """All rows, in portions; rows that other processes add meanwhile may be included."""
        self.commit()
        rows = rowtables.scan_rows(self._database, self.damaged)
        while True:
            with self._using():
                some = next(rows, None)
            if some is None:
                break
            yield some
        self.tell_damage()

    def size(self) -> int:
        """Number of rows, or an upper bound of it."""
        with self._using() as database:
            return rowtables.size(database)

    def commit(self) -> None:
        """Commit the added rows now."""
        with self._using():
            self._commit()

    def add_plan(self, description: Mapping[str, Any], warnings: Sequence[str] = ()) -> str:
        """Add a plan, or find it, and make it the latest; returns its id.

        It becomes the latest even if the clock was set back since the others were added. ``warnings`` apply
        to a new plan; a known plan keeps those of its results.
        """
        identity = plan_id(description)
        with self._using() as database, rowtables.transaction(database):
            (latest,) = database.execute(
                "SELECT coalesce(max(added), 0) FROM plans WHERE id <> ?", (identity,)
            ).fetchone()
            there = plantable.plan_of_id(database, identity)
            told = list(warnings) if there is None else there.warnings
            # A time beyond any clock, as of a damaged line, is ignored.
            latest = latest if isinstance(latest, float | int) and 0 <= latest < plantable.LATEST else 0.0
            plantable.put_plan(
                database, StoredPlan(identity, max(time.time(), latest + 1e-6), dict(description), told)
            )
        return identity

    def set_warnings(self, plan: str, warnings: Sequence[str]) -> None:
        """Store the warnings about the results of the plan with this id."""
        with self._using() as database, rowtables.transaction(database):
            there = plantable.plan_of_id(database, plan)
            if there is not None:
                plantable.put_plan(database, replace(there, warnings=list(warnings)))

    def plans(self) -> list[StoredPlan]:
        """Sound plans, the latest last; a damaged plan gives a warning."""
        plans, damaged = self.all_plans()
        for identity, problem in damaged:
            _warn(f"{self.path}: plan {identity[:8]} is damaged ({problem}) and left out; {REPAIR}")
        return plans

    def all_plans(self) -> tuple[list[StoredPlan], list[tuple[str, str]]]:
        """Sound plans, and the id and defect of each damaged one."""
        sound, damaged = [], []
        with self._using() as database:
            for line in database.execute("SELECT * FROM plans ORDER BY added, rowid"):
                try:
                    sound.append(plantable.read_line(line))
                except ValueError as error:
                    damaged.append((str(line[0]), str(error)))
        return sound, damaged

    def plan(self, which: str | int | None = None) -> StoredPlan:
        """Plan by number (the oldest is 1) or by the first six or more digits of its id; None: the latest."""
        if which is None:
            plans, damaged = self.all_plans()
            if damaged:  # the latest plan may be a damaged one
                known = f"--plan 1 to {len(plans)} are not; " if plans else ""
                what = f"plan {damaged[-1][0][:8]} is damaged ({damaged[-1][1]})"
                raise ResultsError(f"{self.path}: {what}; {known}{REPAIR}")
        else:
            plans = self.plans()
        if not plans:
            raise ResultsError(f"{self.path}: there is no plan in it")
        if which is None:
            return plans[-1]
        text = str(which)
        # Numbers are compared as text, since an id may consist of digits only.
        numbered = {str(number): plan for number, plan in enumerate(plans, start=1)}
        if text in numbered:
            return numbered[text]
        found = [plan for plan in plans if plan.id == text or (len(text) >= 6 and plan.id.startswith(text))]
        if len(found) == 1:
            return found[0]
        there = ", ".join(f"{number}: {plan.id[:8]}" for number, plan in enumerate(plans, start=1))
        raise ResultsError(
            f"plan {shortened(which)}: {'several' if len(found) > 1 else 'not'} in {self.path} ({there})"
        )

    def merge(self, others: Sequence[str | PathLike[str]]) -> int:
        """Add the rows and plans of other files in one transaction; returns the number of new rows.

        Raises :class:`ResultsError` with the key if two rows of one key differ other than in ``version`` and
        ``seconds``.
        """
        new = 0
        with self._using(), rowtables.transaction(self._database):
            for path in others:
                with ResultsFile.open(path) as other:
                    if not self.path.samefile(path):
                        new += _merge_rows(self._database, other)
                        for plan in other.plans():
                            plantable.merge_plan(self._database, plan)
                        other.tell_damage()
        return new

    def lines(self) -> Iterator[tuple[rowtables.Line, str]]:
        """All sound rows as stored (:data:`rowtables.COLUMNS`), each with the names of its metrics."""
        with self._using() as database:
            yield from rowtables.whole_lines(database, damaged=self.damaged)

    def batches(self, size: int) -> Iterator[tuple[dict[int, str], list[rowtables.Line]]]:
        """All sound rows as stored, ``size`` at a time, of one snapshot of the file.

        Each batch comes with the names of metrics by ``metric_set``, joined by line breaks.
        """
        with self._using() as database, rowtables.transaction(database, "DEFERRED"):
            sets = rowtables.metric_sets(database)
            cursor = database.execute(f"SELECT {rowtables.columns_of(database)} FROM rows")
            while lines := cursor.fetchmany(size):
                sound = [line for line in lines if rowtables.is_sound(line, rowtables.names_in(sets, line))]
                if len(sound) < len(lines):
                    kept = set(map(id, sound))
                    self.damaged += [line for line in lines if id(line) not in kept]
                if sound:
                    yield sets, sound
        self.tell_damage()

    def put_lines(self, lines: Iterable[tuple[rowtables.Line, str]]) -> None:
        """Add sound rows of another file as stored, each with the names of its metrics."""
        with self._using() as database, rowtables.transaction(database):
            _add_lines(database, list(lines), {})

    def put_plans(self, plans: Iterable[StoredPlan]) -> None:
        """Add plans of another file unchanged."""
        with self._using() as database, rowtables.transaction(database):
            for plan in plans:
                plantable.merge_plan(database, plan)

    @contextmanager
    def unbounded(self) -> Iterator[sqlite3.Connection]:
        """The connection without a limit of query steps, to examine a file that may be damaged anywhere."""
        with self._using() as database:
            database.set_progress_handler(None, 0)
            yield database

    def tell_damage(self) -> None:
        """Warn of the damaged rows met so far; only once."""
        if self.damaged and not self._told_damage:
            self._told_damage = True
            count = f"{len(self.damaged)} damaged row{'s are' if len(self.damaged) > 1 else ' is'} left out"
            first = f"{'first ' if len(self.damaged) > 1 else ''}{name_of(self.damaged[0])}"
            _warn(f"{self.path}: {count} ({first}); {REPAIR}, crossfade sweep makes it again")

    def close(self) -> None:
        """Commit the added rows and close the file."""
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
            with suppress(OutputError, ResultsError):  # the first error is the one to report
                self.close()
        else:
            self.close()

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        """The connection for this thread alone; SQLite errors are raised as one line."""
        with self._lock, one_line(self.path, self._to_write):
            if not self._to_write:
                self._follow()
                bound_steps(self.path, self._database)
            yield self._database

    def _follow(self) -> None:
        """Reopen a file that was opened without its log and has been written since."""
        if self._state is None or self._database.in_transaction or self._state == sidecars.state(self.path):
            return
        if not os.path.exists(self.path):
            return  # the file was removed, but the connection still reads it
        database, self._state = connect_to_read(self.path)
        self._database.close()
        self._database = database
        check_format(self.path, database, may_be_empty=False)

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


def _merge_rows(database: sqlite3.Connection, other: ResultsFile) -> int:
    """Merge the rows of ``other`` into ``database`` in its open transaction; returns how many are new."""
    new = 0
    sets: dict[str, int] = {}
    lines = other.lines()
    while batch := list(islice(lines, rowtables.KEYS_PER_QUERY)):
        added, rows = _add_lines(database, batch, sets)
        new += added
        if added < len(rows):
            _refuse_differences(database, rows, other.path)
    return new


def _add_lines(
    database: sqlite3.Connection, batch: Sequence[tuple[rowtables.Line, str]], sets: dict[str, int]
) -> tuple[int, list[rowtables.Line]]:
    """Add rows of another file whose keys are new.

    Returns their number, and all rows with the metric sets of this file.
    """
    for _, names in batch:
        if names not in sets:
            sets[names] = rowtables.metric_set(database, names)
    rows = [rowtables.sealed((*line[:5], sets[names], *line[6:]), names) for line, names in batch]
    return database.executemany(f"INSERT OR IGNORE {rowtables.INSERT_INTO_ROWS}", rows).rowcount, rows


def _refuse_differences(database: sqlite3.Connection, rows: list[rowtables.Line], path: Path) -> None:
    ours = {line[0]: line for line in rowtables.lines_of_keys(database, [row[0] for row in rows])}
    sets = rowtables.metric_sets(database)
    for row in rows:
        our = ours.get(row[0], ())
        # The version of the program and the seconds of the run may differ.
        if row[:9] == our[:9]:
            continue
        if not our or not rowtables.is_sound(our, rowtables.names_in(sets, our)):
            database.execute(f"INSERT OR REPLACE {rowtables.INSERT_INTO_ROWS}", row)  # ours is damaged
        else:
            what = f"row {row[0].hex()} ({row[2]}, run {row[4]})"
            raise ResultsError(f"{path}: {what} differs from the one with that key that is there already")


def name_of(line: rowtables.Line) -> str:
    """Name of a damaged row for messages: its key, method and run."""
    key = line[0].hex() if isinstance(line[0], bytes) else str(line[0])
    return f"row {key[:32]} ({str(line[2])[:40]}, run {str(line[4])[:20]})"


def _warn(text: str) -> None:
    warnings.warn(text, CrossfadeWarning, stacklevel=4)
