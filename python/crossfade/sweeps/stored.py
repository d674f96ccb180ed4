"""A plan's rows in a store: those that are there, and those that an engine makes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

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

# The keys of more rows than this take longer to make than the rows of a store take to look through.
MANY_ROWS = 200_000
# To look a row up takes as long as to read some.
ROWS_FOR_A_KEY = 4
KEYS_AT_ONCE = 4096
# Of more points than these not all are made at once: one takes 15 kB.
MOST_POINTS_HELD = 5_000


REPEATABLE = frozenset(name for name, method in METHODS.items() if method.repeatable)
"""The methods whose rows may be kept: the same point and seed give the same row at any time."""


class StoredRows:
    """The rows of a plan that a store has; new ones are put there as soon as they are made.

    The store is a results file (:mod:`crossfade.sweeps.sweep`) or the user's cache (:func:`crossfade.run`).
    Which there are is known here, in some 50 bytes each. What is in them takes twenty times that, and is held
    in memory only as long as there are no more than ``most_held``.
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
        """Keep rows that are new; those of a method that is not repeatable are this call's alone."""
        self._store.put([row for row in finished if row.method in REPEATABLE])
        self._learn(finished)

    def make(self, engine: Engine, shard: Shard = WHOLE, *, progress: bool = False) -> bool:
        """Have the missing rows of a shard made; says whether it is complete (not after Ctrl-C)."""
        at_once = engine.workers if isinstance(engine, Threads) else 1
        check_memory(self.plan, at_once, self._most_held == math.inf)
        with translated_errors(), ProgressBar(enabled=progress) as bar:
            return engine.execute(self.plan, self.known, shard, self.add, bar.update)

    def results(self, complete: bool, read: ReadRows | None = None) -> Results:
        """Results of the rows.

        Where they are not held, ``read`` gives them, now and whenever somebody looks at a point.
        """
        if self._held is None:
            assert read is not None
            return making.of_known(self.plan.stored, self.known, read, complete, at_once=False)
        few = len(self.plan.description["points"]) <= MOST_POINTS_HELD
        at_once = few or read is None
        return making.of_known(self.plan.stored, self.known, self._held.get, complete, at_once=at_once)

    def _stored(self) -> Iterator[Sequence[Row]]:
        """Rows of the store, some at a time; all that there are of this plan's are among them."""
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
