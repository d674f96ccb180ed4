"""Engines make the rows of a plan; the threads of this process are the default one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from crossfade.plans import Plan
from crossfade.plans.options import check_jobs
from crossfade.results.rows import Row
from crossfade.sweeps import apart

if TYPE_CHECKING:
    from crossfade._crossfade import Known

Shard = tuple[int, int]
"""Part of a plan, (k, n): the k-th of n parts without common runs."""

WHOLE: Shard = (1, 1)


class Engine(Protocol):
    """Protocol of an engine, which makes a plan's rows: threads of this process, or workers of a cluster."""

    @property
    def workers(self) -> int:
        """Number of runs that the engine makes at once."""
        ...

    def execute(
        self,
        plan: Plan,
        known: Known,
        shard: Shard,
        on_rows: Callable[[Sequence[Row]], object],
        on_progress: Callable[[float, int], object],
    ) -> bool:
        """Make the rows of a shard that are not known; returns whether the shard is complete (not after
        Ctrl-C).

        ``on_rows`` gets rows that count, on the calling thread; ``on_progress`` gets the number of finished
        runs, and the expected number of all runs. An exception of a callback ends the work and is raised
        here.
        """
        ...


class Threads:
    """Engine of threads in this process, one per core if ``jobs`` is None."""

    def __init__(self, jobs: int | None = None) -> None:
        check_jobs(jobs)
        self._jobs = jobs

    @property
    def workers(self) -> int:
        if self._jobs is not None:
            return self._jobs
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def execute(
        self,
        plan: Plan,
        known: Known,
        shard: Shard,
        on_rows: Callable[[Sequence[Row]], object],
        on_progress: Callable[[float, int], object],
    ) -> bool:
        if apart.is_needed(plan):
            return apart.execute(plan, known, self._jobs, shard, on_rows, on_progress)

        def take(batch: Iterable[tuple[Any, ...]]) -> None:
            on_rows([Row(*row) for row in batch])

        return plan.core.execute(known, self._jobs, shard, take, on_progress)
