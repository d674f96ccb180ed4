"""Scheduling of a plan's runs over workers, in chunks: order, assignment, and recovery from lost chunks.

A chunk is about one second of runs. A worker makes it, and its rows may be lost, come very late, or come
twice. The final set of rows depends on none of this: see ``Schedule`` in the core.
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

# Duration of a chunk in seconds: long against a round trip to a worker (10 ms), short enough that a lost
# worker costs little. Towards the end chunks become shorter, so that all workers finish together.
CHUNK_S = 1.0
SHORTEST_CHUNK_S = 0.05
# Largest number of chunks per second, since each costs some milliseconds here and in the scheduler; with very
# many threads chunks become longer.
MOST_CHUNKS_PER_S = 100
# Largest number of runs in a chunk: with runs of microseconds, messages would otherwise have megabytes.
MOST_RUNS = 2000
# Chunks given to a thread: one is being made while the other is in transit.
CHUNKS_PER_THREAD = 2
# Interval in seconds at which workers are counted, and longest wait for a finished chunk before late ones are
# looked for.
COUNT_EVERY_S = 1.0
WAIT_S = 0.25
# Multiple of the usual duration after which a chunk is late and given to a second, idle worker, which has
# nothing else to do.
LATE = 3.0
# Number of workers that may die with a chunk before its runs are made one at a time, and with a run before
# this is an error.
MOST_LOST = 3
# Usual duration of a chunk, in seconds, assumed before the first chunk is finished.
UNKNOWN_CHUNK_S = 10.0


class WorkerDiedError(Exception):
    """Raised if a worker, or several in turn, died while it made a chunk or had it queued."""


class Workers(Protocol):
    """Protocol of workers that make chunks."""

    def threads(self) -> Mapping[str, int]:
        """Number of threads of each worker, by its address."""
        ...

    def start(self, tasks: Sequence[Task], worker: str) -> Future[list[PackedRow]]:
        """Have a worker make tasks; returns a future of their rows.

        Cancelling the future takes the work back, as for a worker that has gone. The future fails with
        :class:`WorkerDiedError`, or with a :class:`ClusterError` to show to the user.
        """
        ...


@dataclass(eq=False)
class Chunk:
    """Runs that a worker makes one after the other."""

    tasks: list[Task]
    expected_s: float = 0.0
    alone: bool = False
    """True if no other chunk may run at the same time, to find the run that kills workers."""
    began: float = 0.0
    workers: list[str] = field(default_factory=list)
    """Workers that are making the chunk; the second and later ones were added because it was late."""
    lost: int = 0
    """Number of workers that were lost while they had this chunk."""


class Work:
    """Work left on a shard of a plan, given the rows that are known."""

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
        # Pending requests, including those of chunks that another worker finished first: their workers are
        # still busy.
        self._attempts: dict[Future[list[PackedRow]], tuple[Chunk, str]] = {}
        self._load: Counter[str] = Counter()
        # Chunks lost with a worker, to be repeated; and single runs of chunks lost with several workers.
        self._again: list[Chunk] = []
        self._suspects: list[Chunk] = []
        # Durations of the last chunks in seconds, transit included.
        self._took_s: deque[float] = deque(maxlen=64)
        self._ended: queue.SimpleQueue[Future[list[PackedRow]]] = queue.SimpleQueue()

    def finish(self) -> None:
        """Make all missing rows. Raises :class:`ClusterError` if that is impossible; rows handed over before
        stay valid.
        """
        try:
            while True:
                if self._hand_out() and not self._under_way:
                    # The last search for work may have found a known row, which counts as progress.
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
        """Update the list of workers once per interval; chunks of workers that are gone are cancelled."""
        if time.monotonic() > self._counted + COUNT_EVERY_S:
            self._threads = self._workers.threads()
            self._counted = time.monotonic()
            for attempt, (_, worker) in list(self._attempts.items()):
                if worker not in self._threads:
                    attempt.cancel()

    def _hand_out(self) -> bool:
        """Give chunks to workers until all are busy; returns True if no work is left to give."""
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
        """Worker with the fewest chunks per thread, if fewer than ``chunks_per_thread``; those in ``besides``
        are excluded.
        """
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
        # While run times are little known, chunks grow only as fast as runs finish.
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
        """Wait briefly for finished chunks, and hand over their rows."""
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
        """Rows of a finished chunk that count; empty if the attempt failed."""
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
        """Schedule a chunk again after its worker was lost."""
        chunk.lost += 1
        if any(chunk is other for other, _ in self._attempts.values()):
            return  # another worker is still making it
        self._under_way.remove(chunk)
        chunk.workers.clear()
        if chunk.lost < MOST_LOST:
            (self._suspects if chunk.alone else self._again).append(chunk)
        elif chunk.alone:
            run = self._name(chunk.tasks[0])
            raise ClusterError(f"each of {chunk.lost} workers died while it made {run} (out of memory?)")
        else:
            # One of these runs, or one on the same machine, kills workers; made alone, it will be found.
            self._suspects += [Chunk([task], alone=True) for task in chunk.tasks]

    def _copy_late_chunks(self) -> None:
        """Give late chunks to idle workers as well, since the first worker may hang or be very slow."""
        usual_s = statistics.median(self._took_s) if self._took_s else UNKNOWN_CHUNK_S
        now = time.monotonic()
        for chunk in sorted(self._under_way, key=lambda chunk: chunk.began):
            # Patience doubles with each copy.
            patience_s = LATE * 2 ** (len(chunk.workers) - 1) * max(usual_s, chunk.expected_s)
            if now - chunk.began > patience_s and (worker := self._free_worker(1, chunk.workers)):
                self._start(chunk, worker)

    def _name(self, task: Task) -> str:
        """A run in words for the user: number, method and values of the axes."""
        point, method, run = task
        axes = self._plan.description["points"][point]["axes"].items()
        place = f" at {', '.join(f'{key} = {label(value)}' for key, value in axes)}" if axes else ""
        return f"run {run} of {method}{place}"


class Pace:
    """Mean durations of runs, learnt from finished ones."""

    def __init__(self) -> None:
        self._of_point: defaultdict[tuple[int, str], Mean] = defaultdict(Mean)
        self._of_method: defaultdict[str, Mean] = defaultdict(Mean)
        self._of_all = Mean()

    def learn(self, task: Task, seconds: float) -> None:
        """Add the duration of a finished run, in seconds."""
        point, method, _ = task
        for mean in (self._of_point[point, method], self._of_method[method], self._of_all):
            mean.add(seconds)

    def expected_s(self, task: Task) -> float:
        """Expected duration of a run in seconds: mean of its point, otherwise of its method, otherwise one
        chunk.
        """
        point, method, _ = task
        mean = self._of_point.get((point, method)) or self._of_method.get(method)
        return mean.value if mean else CHUNK_S

    @property
    def n(self) -> int:
        """Number of finished runs."""
        return self._of_all.n

    @property
    def mean_s(self) -> float:
        """Mean duration of a run in seconds; that of a chunk as long as no run is finished."""
        return self._of_all.value if self._of_all.n else CHUNK_S


class Mean:
    """Running mean of numbers."""

    def __init__(self) -> None:
        self.n = 0
        self.value = 0.0

    def add(self, number: float) -> None:
        """Add one number."""
        self.n += 1
        self.value += (number - self.value) / self.n
