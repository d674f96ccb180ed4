"""Rows of a plan in a store: existing ones, and those that an engine adds."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from crossfade.plans import Plan, translated_errors
from crossfade.plans.memory import check_memory
from crossfade.results import making
from crossfade.results.cache import MemoryStore, RowStore
from crossfade.results.manypoints import ReadRows
from crossfade.results.results import Results
from crossfade.results.rows import Row
from crossfade.sweeps.engines import WHOLE, Engine, Shard, Threads
from crossfade.sweeps.progress import ProgressBar
from crossfade.sweeps.times import Times
from crossfade.wording import METHODS

# Number of rows of a plan above which scanning the store is faster than making all keys to look up.
MANY_ROWS = 200_000
# Rows of a store that are scanned in the time of one lookup by key; and number of keys in one lookup.
ROWS_FOR_A_KEY = 4
KEYS_AT_ONCE = 4096
# Number of points above which results make points on demand, since each takes about 15 kB.
MOST_POINTS_HELD = 5_000


REPEATABLE = frozenset(name for name, method in METHODS.items() if method.repeatable)
"""Methods whose rows may be stored, because the same point and seed always give the same row."""


class StoredRows:
    """Rows of a plan in a store, where new rows are put as soon as they are made.

    The store is a results file (:mod:`crossfade.sweeps.sweep`) or the user's cache (:func:`crossfade.run`).
    An index of known rows takes about 50 bytes for each. The rows themselves take twenty times as much, and
    are kept in memory only while there are at most ``most_held``.
    """

    def __init__(self, plan: Plan, store: RowStore, most_held: float = math.inf) -> None:
        self.plan = plan
        self.known = plan.core.known()
        self.times = Times()
        self._store = store
        self._held: MemoryStore | None = MemoryStore()
        self._most_held = most_held
        for rows in self._stored():
            self._learn(rows)

    def add(self, finished: Sequence[Row]) -> None:
        """Keep new rows; those of a method that is not repeatable are not stored, and serve only this
        call. Ctrl-C meanwhile is raised once store and index both have them.
        """
        with _held_interrupts():
            self._store.put([row for row in finished if row.method in REPEATABLE])
            self._learn(finished)

    def make(self, engine: Engine, shard: Shard = WHOLE, *, progress: bool = False) -> bool:
        """Have an engine make the missing rows of a shard; returns whether it is complete (not after
        Ctrl-C).
        """
        at_once = engine.workers if isinstance(engine, Threads) else 1
        check_memory(self.plan, at_once, self._most_held == math.inf)
        with translated_errors(), ProgressBar(enabled=progress) as bar:
            return engine.execute(self.plan, self.known, shard, self.add, bar.update)

    def results(self, complete: bool, read: ReadRows | None = None) -> Results:
        """Results of all known rows.

        If the rows are not in memory, ``read`` reads them from the store, now and whenever a point is
        accessed.
        """
        if self._held is None:
            assert read is not None
            return making.of_known(self.plan.stored, self.known, read, complete, at_once=False)
        few = len(self.plan.description["points"]) <= MOST_POINTS_HELD
        at_once = few or read is None
        return making.of_known(self.plan.stored, self.known, self._held.get, complete, at_once=at_once)

    def _stored(self) -> Iterator[Sequence[Row]]:
        """Rows of the store, in batches, including all those of this plan."""
        core, store = self.plan.core, self._store
        if core.rows() > min(MANY_ROWS, store.size() // ROWS_FOR_A_KEY):
            yield from store.scan()
            return
        keys = core.keys()
        for start in range(0, len(keys), KEYS_AT_ONCE):
            yield list(store.get(keys[start : start + KEYS_AT_ONCE]).values())

    def _learn(self, rows: Sequence[Row]) -> None:
        points = self.known.add(rows)
        for row, point in zip(rows, points, strict=True):
            if point is not None:
                self.times.learn(row.method, point, row.seconds)
        if len(self.known) > self._most_held:
            self._held = None
        if self._held is not None:
            self._held.put([row for row, point in zip(rows, points, strict=True) if point is not None])


@contextmanager
def _held_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back until the block has ended."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # Ctrl-C raises nothing here
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])
