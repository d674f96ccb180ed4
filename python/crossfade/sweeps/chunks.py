"""The work on a plan, handed to workers in chunks: what comes next, to whom, and what if it does not come.

A chunk is about a second of runs. It is made elsewhere, and may be lost on the way, come very late, or twice.
Which rows there are in the end does not depend on any of that: see ``Schedule`` in the core.
"""

from __future__ import annotations

import contextlib
import queue
import statistics
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import crossfade._crossfade as _crossfade
from crossfade.errors import ClusterError
from crossfade.results.rows import Row
from crossfade.tables import label

if TYPE_CHECKING:
    from crossfade._crossfade import Known, PackedRow, Task
    from crossfade.plans import Plan

# A chunk takes this long: a trip to a worker (10 ms) is no loss then, and little is lost with a worker.
# Towards the end chunks become shorter, so that the workers finish together.
CHUNK_S = 1.0
SHORTEST_CHUNK_S = 0.05
# With very many threads chunks become longer: one takes some milliseconds here and in the scheduler.
MOST_CHUNKS_PER_S = 100
# Runs of microseconds would make messages of megabytes.
MOST_RUNS = 2000
# One is made while the other is on its way.
CHUNKS_PER_THREAD = 2
# How often workers are counted, and late chunks looked for.
COUNT_EVERY_S = 1.0
WAIT_S = 0.25
# A chunk is late at so many times what is usual. To make it twice costs little: nothing else is left to do.
LATE = 3.0
# With so many workers a chunk may be lost until its runs are made one at a time, and then a run.
MOST_LOST = 3
# What is usual while no chunk is there yet.
UNKNOWN_CHUNK_S = 10.0


class WorkerDiedError(Exception):
    """A worker died, or several did, while it made a chunk or had it next."""


class Workers(Protocol):
    """Workers that make chunks."""

    def threads(self) -> Mapping[str, int]:
        """Number of threads of each worker, by its address."""
        ...

    def start(self, tasks: Sequence[Task], worker: str) -> Future[list[PackedRow]]:
        """Have tasks made by a worker; gives the rows to come.

        To cancel the future takes the work back, as is done where the worker is not there any more. It fails
        with :class:`WorkerDiedError`, or with a :class:`ClusterError` that is to be shown.
        """
        ...


@dataclass(eq=False)
class Chunk:
    """Runs that a worker is to make one after the other."""

    tasks: list[Task]
    expected_s: float = 0.0
    alone: bool = False
    """Whether nothing else may be under way meanwhile."""
    began: float = 0.0
    workers: list[str] = field(default_factory=list)
    """Workers that are making the chunk: the second and later ones since it was late."""
    lost: int = 0
    """Number of workers that were lost while they had this chunk."""


class Work:
    """The work on a shard of a plan that is left where some rows are known."""

    def __init__(
        self,
        plan: Plan,
        known: Known,
        shard: tuple[int, int],
        workers: Workers,
        on_rows: Callable[[Sequence[Row]], object],
        on_progress: Callable[[int, int], object],
    ) -> None:
        self._plan = plan
        self._workers = workers
        self._on_rows = on_rows
        self._on_progress = on_progress
        self._threads = workers.threads()
        self._counted = time.monotonic()
        self._schedule = _crossfade.Schedule(plan.core, known, self._most_chunks(), shard)
        self._pace = Pace()
        self._under_way: set[Chunk] = set()
        # Also those of chunks that another worker was faster with: their workers are as busy.
        self._attempts: dict[Future[list[PackedRow]], tuple[Chunk, str]] = {}
        self._load: Counter[str] = Counter()
        # Chunks that were lost with a worker, and runs of those that were lost with several.
        self._again: list[Chunk] = []
        self._suspects: list[Chunk] = []
        # How long the last chunks took, from here to here.
        self._took_s: deque[float] = deque(maxlen=64)
        self._ended: queue.SimpleQueue[Future[list[PackedRow]]] = queue.SimpleQueue()

    def finish(self) -> None:
        """Make all rows. Raises :class:`ClusterError` where that cannot be; rows handed over stay valid."""
        try:
            while True:
                if self._hand_out() and not self._under_way:
                    # The last look for work may have found a row that is known.
                    self._on_progress(*self._schedule.progress())
                    return
                self._take_in()
                self._count()
                self._copy_late_chunks()
        finally:
            for attempt in self._attempts:
                attempt.cancel()

    def _most_chunks(self) -> int:
        return max(1, CHUNKS_PER_THREAD * sum(self._threads.values()))

    def _count(self) -> None:
        """See which workers there are, if it is time to; what is with others is lost."""
        if time.monotonic() > self._counted + COUNT_EVERY_S:
            self._threads = self._workers.threads()
            self._counted = time.monotonic()
            for attempt, (_, worker) in list(self._attempts.items()):
                if worker not in self._threads:
                    attempt.cancel()

    def _hand_out(self) -> bool:
        """Give the workers as much as there is and they can take; says whether there is no more."""
        while worker := self._free_worker(CHUNKS_PER_THREAD):
            if self._again:
                chunk = self._again.pop()
            elif any(chunk.alone for chunk in self._under_way) or (self._suspects and self._under_way):
                return False
            elif self._suspects:
                chunk = self._suspects.pop()
            else:
                chunk = self._next_chunk()
                if not chunk.tasks:
                    return True
            self._start(chunk, worker)
        return False

    def _free_worker(self, chunks_per_thread: int, besides: Sequence[str] = ()) -> str | None:
        """The worker that has least to do, if it has less than that."""
        loads = {
            worker: self._load[worker] / threads
            for worker, threads in self._threads.items()
            if worker not in besides
        }
        found = min(loads, key=loads.__getitem__, default=None)
        return found if found is not None and loads[found] < chunks_per_thread else None

    def _next_chunk(self) -> Chunk:
        done, expected = self._schedule.progress()
        left_s = self._pace.mean_s * (expected - done - self._schedule.under_way())
        longest_s = max(CHUNK_S, sum(self._threads.values()) / MOST_CHUNKS_PER_S)
        length_s = min(longest_s, max(SHORTEST_CHUNK_S, left_s / self._most_chunks()))
        # While little is known, chunks double.
        most_runs = min(MOST_RUNS, 1 + 2 * self._pace.n)
        chunk = Chunk([])
        while chunk.expected_s < length_s and len(chunk.tasks) < most_runs:
            if not (taken := self._schedule.take(1)):
                break
            chunk.tasks += taken
            chunk.expected_s += self._pace.expected_s(taken[0])
        return chunk

    def _start(self, chunk: Chunk, worker: str) -> None:
        if not chunk.workers:
            chunk.began = time.monotonic()
        chunk.workers.append(worker)
        self._under_way.add(chunk)
        attempt = self._workers.start(chunk.tasks, worker)
        self._attempts[attempt] = (chunk, worker)
        self._load[worker] += 1
        attempt.add_done_callback(self._ended.put)

    def _take_in(self) -> None:
        """Wait a little for chunks, and hand over the rows of those that are there."""
        rows: list[Row] = []
        ended = False
        with contextlib.suppress(queue.Empty):
            attempt = self._ended.get(timeout=WAIT_S)
            while True:
                chunk, worker = self._attempts.pop(attempt)
                self._load[worker] -= 1
                if chunk in self._under_way:
                    rows += self._rows_of(chunk, attempt)
                    ended = True
                attempt = self._ended.get_nowait()
        if rows:
            self._on_rows(rows)
        if ended:
            self._on_progress(*self._schedule.progress())

    def _rows_of(self, chunk: Chunk, attempt: Future[list[PackedRow]]) -> list[Row]:
        """The rows that count, now that an attempt has ended."""
        try:
            made = [Row(*row) for row in attempt.result()]
        except (WorkerDiedError, CancelledError):
            self._lose(chunk)
            return []
        self._under_way.remove(chunk)
        self._took_s.append(time.monotonic() - chunk.began)
        for task, row in zip(chunk.tasks, made, strict=True):
            self._pace.learn(task, row.seconds)
        return [Row(*row) for row in self._schedule.finish(made)]

    def _lose(self, chunk: Chunk) -> None:
        """See to a chunk whose worker was lost."""
        chunk.lost += 1
        if any(chunk is other for other, _ in self._attempts.values()):
            return  # another worker has it too
        self._under_way.remove(chunk)
        chunk.workers.clear()
        if chunk.lost < MOST_LOST:
            (self._suspects if chunk.alone else self._again).append(chunk)
        elif chunk.alone:
            run = self._name(chunk.tasks[0])
            raise ClusterError(f"each of {chunk.lost} workers died while it made {run} (out of memory?)")
        else:
            # One of these runs was it, or one that was under way beside them: alone it will show.
            self._suspects += [Chunk([task], alone=True) for task in chunk.tasks]

    def _copy_late_chunks(self) -> None:
        """Give late chunks to idle workers as well: theirs may hang, or be very slow."""
        usual_s = statistics.median(self._took_s) if self._took_s else UNKNOWN_CHUNK_S
        now = time.monotonic()
        for chunk in sorted(self._under_way, key=lambda chunk: chunk.began):
            # Each copy is given twice the time of the one before.
            patience_s = LATE * 2 ** (len(chunk.workers) - 1) * max(usual_s, chunk.expected_s)
            if now - chunk.began > patience_s and (worker := self._free_worker(1, chunk.workers)):
                self._start(chunk, worker)

    def _name(self, task: Task) -> str:
        """A run as its user knows it."""
        point, method, run = task
        axes = self._plan.description["points"][point]["axes"].items()
        place = f" at {', '.join(f'{key} = {label(value)}' for key, value in axes)}" if axes else ""
        return f"run {run} of {method}{place}"


class Pace:
    """Durations of runs, learnt from finished ones."""

    def __init__(self) -> None:
        self._of_point: defaultdict[tuple[int, str], Mean] = defaultdict(Mean)
        self._of_method: defaultdict[str, Mean] = defaultdict(Mean)
        self._of_all = Mean()

    def learn(self, task: Task, seconds: float) -> None:
        """Take in how long a run took."""
        point, method, _ = task
        for mean in (self._of_point[point, method], self._of_method[method], self._of_all):
            mean.add(seconds)

    def expected_s(self, task: Task) -> float:
        """Expected duration of a run: by others of its point, else of its method, else a whole chunk."""
        point, method, _ = task
        mean = self._of_point.get((point, method)) or self._of_method.get(method)
        return mean.value if mean else CHUNK_S

    @property
    def n(self) -> int:
        """Number of finished runs."""
        return self._of_all.n

    @property
    def mean_s(self) -> float:
        """Expected duration of a run; a whole chunk's as long as none is finished."""
        return self._of_all.value if self._of_all.n else CHUNK_S


class Mean:
    """A running mean."""

    def __init__(self) -> None:
        self.n = 0
        self.value = 0.0

    def add(self, number: float) -> None:
        """Take in one more."""
        self.n += 1
        self.value += (number - self.value) / self.n
