"""A plan's rows in a store: those that are there, and those that an engine makes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache

import crossfade._crossfade as _crossfade
from crossfade.plans import Plan, check_memory, translated_errors
from crossfade.results.cache import RowStore
from crossfade.results.rows import Row
from crossfade.sweeps.engines import WHOLE, Engine, Shard, Threads
from crossfade.sweeps.progress import ProgressBar
from crossfade.sweeps.times import Times


@cache
def repeatable_methods() -> frozenset[str]:
    """The methods whose rows may be kept: the same point and seed give the same row at any time."""
    return frozenset(method["name"] for method in json.loads(_crossfade.methods()) if method["repeatable"])


class StoredRows:
    """The rows of a plan that a store has; new ones are put there as soon as they are made.

    The store is a results file (:mod:`crossfade.sweeps.sweep`) or the user's cache (:func:`crossfade.run`).
    Here it is only known which there are, some 50 bytes each; what is in them takes twenty times that.
    ``held`` is who keeps them in memory all the same.
    """

    def __init__(self, plan: Plan, store: RowStore, held: RowStore | None = None) -> None:
        self.plan = plan
        self.known = _crossfade.Known(plan.core)
        self.times = Times()
        self._store = store
        self._held = held
        for rows in plan.rows_in(store):
            self._learn(rows)

    def add(self, finished: Sequence[Row]) -> None:
        """Keep rows that are new; those of a method that is not repeatable are this call's alone."""
        self._store.put([row for row in finished if row.method in repeatable_methods()])
        self._learn(finished)

    def make(self, engine: Engine, shard: Shard = WHOLE, *, progress: bool = False) -> bool:
        """Have the missing rows of a shard made; says whether it is complete (not after Ctrl-C)."""
        check_memory(self.plan, engine.workers if isinstance(engine, Threads) else 1)
        with translated_errors(), ProgressBar(enabled=progress) as bar:
            return engine.execute(self.plan, self.known, shard, self.add, bar.update)

    def _learn(self, rows: Sequence[Row]) -> None:
        points = self.known.add(rows)
        for row, point in zip(rows, points, strict=True):
            if point is not None:
                self.times.learn(row.method, point, row.seconds)
        if self._held is not None:
            self._held.put([row for row, point in zip(rows, points, strict=True) if point is not None])
