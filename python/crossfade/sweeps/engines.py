"""Engines, which make the rows of a plan: this process's threads are one."""

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
"""(k, n): the k-th of n parts of a plan that have no run in common."""

WHOLE: Shard = (1, 1)


class Engine(Protocol):
    """Engine of a plan's rows: the threads of this process, or the workers of a cluster."""

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
        """Make the rows of the shard that are not known; says whether it is complete (not after Ctrl-C).

        ``on_rows`` gets rows that count, on the calling thread; ``on_progress`` how many runs are at hand and
        how many there will be. What one of them raises ends the work and is raised here.
        """
        ...


class Threads:
    """The threads of this process, all cores where ``jobs`` is None."""

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
