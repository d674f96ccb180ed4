"""The work on a plan, handed to workers in chunks: what comes next, to whom, and what if it does not come.

A chunk is about a second of runs. It is made elsewhere, and may be lost on the way, come very late, or twice.
Which rows there are in the end does not depend on any of that: see ``Schedule`` in the core.
"""

from __future__ import annotations

import contextlib
import queue
import statistics
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from crossfade import _crossfade
from crossfade.errors import ClusterError
from crossfade.results import label
from crossfade.rows import Row

if TYPE_CHECKING:
    from crossfade._crossfade import PackedRow, Task
    from crossfade.plans import Plan

# A chunk takes this long: a trip to a worker (10 ms) is no loss then, and little is lost with a worker. Towards
# the end chunks become shorter, so that the workers finish together.
CHUNK_S = 1.0
SHORTEST_CHUNK_S = 0.05
# Runs of microseconds would make messages of megabytes.
MOST_RUNS = 2000
# One is made while the other is on its way.
CHUNKS_PER_THREAD = 2
# How often workers are counted, and late chunks looked for.
LOOK_EVERY_S = 1.0
# A chunk is late at so many times what is usual. To make it twice costs little: nothing else is left to do.
LATE = 3.0
# What is usual while no chunk is there yet.
UNKNOWN_CHUNK_S = 10.0


class WorkerDiedError(Exception):
    """Several workers died, each while it made a chunk, or had it next."""


class Workers(Protocol):
    """Who makes chunks."""

    def threads(self) -> Mapping[str, int]:
        """How many threads each worker has, by its address."""
        ...

    def busy(self) -> Mapping[str, AbstractSet[str]]:
        """The names of the chunks that each worker is to make."""
        ...

    def start(self, tasks: Sequence[Task], worker: str | None) -> tuple[str, Future[list[PackedRow]]]:
        """Have tasks made, by the given worker or any; gives the name of the attempt, and its rows to come.

        To cancel the future takes the work back. It fails with :class:`WorkerDiedError`, or with a
        :class:`ClusterError` that is to be shown.
        """
        ...


@dataclass(eq=False)
class Chunk:
    """Runs that a worker is to make one after the other."""

    tasks: list[Task]
    expected_s: float = 0.0
    alone: bool = False
    """Whether nothing else may be under way meanwhile."""
    attempts: dict[Future[list[PackedRow]], str] = field(default_factory=dict)
    """Those under way, each with its name."""
    began: float = 0.0
    copies: int = 0


class Work:
    """The work on a shard of a plan that is left where some rows are known."""

    def __init__(
        self,
        plan: Plan,
        known: Sequence[Row],
        shard: tuple[int, int],
        workers: Workers,
        on_rows: Callable[[Sequence[Row]], object],
        on_progress: Callable[[int, int], object],
    ) -> None:
        self._plan = plan
        self._workers = workers
        self._on_rows = on_rows
        self._on_progress = on_progress
        self._looked = 0.0
        self._threads: Mapping[str, int] = {}
        self._look()
        jobs = max(1, CHUNKS_PER_THREAD * sum(self._threads.values()))
        self._schedule = _crossfade.Schedule(plan.core, known, jobs, shard)
        self._pace = Pace()
        self._under_way: set[Chunk] = set()
        # Runs that were lost with several workers.
        self._suspects: list[Chunk] = []
        # How long the last chunks took, from here to here.
        self._took_s: deque[float] = deque(maxlen=64)
        self._ended: queue.SimpleQueue[tuple[Chunk, Future[list[PackedRow]]]] = queue.SimpleQueue()

    def finish(self) -> None:
        """Make all rows. Raises :class:`ClusterError` where that cannot be; rows handed over stay valid."""
        try:
            while True:
                idle = self._hand_out()
                if not (self._under_way or self._suspects):
                    return
                self._take_in()
                if self._look() and idle:
                    self._copy_late_chunks()
        finally:
            for chunk in list(self._under_way):
                self._retire(chunk)

    def _look(self) -> bool:
        """Count the workers, if it is time to; says whether it was."""
        if time.monotonic() < self._looked + LOOK_EVERY_S:
            return False
        self._threads = self._workers.threads()
        self._looked = time.monotonic()
        return True

    def _hand_out(self) -> bool:
        """Give the workers as much as they can take; says whether they could take more than there is."""
        if self._suspects:
            if not self._under_way:
                self._start(self._suspects.pop())
            return True
        most = CHUNKS_PER_THREAD * sum(self._threads.values())
        while len(self._under_way) < most:
            chunk = self._next_chunk(most)
            if not chunk.tasks:
                return True
            self._start(chunk)
        return False

    def _next_chunk(self, most: int) -> Chunk:
        done, expected = self._schedule.progress()
        left_s = self._pace.mean_s * (expected - done - self._schedule.under_way())
        length_s = min(CHUNK_S, max(SHORTEST_CHUNK_S, left_s / most))
        chunk = Chunk([])
        # While little is known, chunks double.
        most_runs = min(MOST_RUNS, 1 + 2 * self._pace.n)
        while chunk.expected_s < length_s and len(chunk.tasks) < most_runs:
            if not (taken := self._schedule.take(1)):
                break
            chunk.tasks += taken
            chunk.expected_s += self._pace.expected_s(taken[0])
        return chunk

    def _start(self, chunk: Chunk, worker: str | None = None) -> None:
        name, attempt = self._workers.start(chunk.tasks, worker)
        if not chunk.attempts:
            chunk.began = time.monotonic()
        chunk.attempts[attempt] = name
        self._under_way.add(chunk)
        attempt.add_done_callback(lambda ended: self._ended.put((chunk, ended)))

    def _take_in(self) -> None:
        """Wait a little for a chunk, and hand over the rows of all that are there."""
        rows: list[Row] = []
        ended = False
        with contextlib.suppress(queue.Empty):
            chunk, attempt = self._ended.get(timeout=LOOK_EVERY_S / 4)
            while True:
                # An attempt that another was faster than has been taken out.
                if chunk.attempts.pop(attempt, None) is not None:
                    ended = True
                    rows += self._rows_of(chunk, attempt)
                chunk, attempt = self._ended.get_nowait()
        if rows:
            self._on_rows(rows)
        if ended:
            self._on_progress(*self._schedule.progress())

    def _rows_of(self, chunk: Chunk, attempt: Future[list[PackedRow]]) -> list[Row]:
        """The rows that count, now that an attempt has ended."""
        try:
            made = [Row(*row) for row in attempt.result()]
        except WorkerDiedError:
            self._retire(chunk)
            if chunk.alone:
                what = f"each worker that made {self._name(chunk.tasks[0])} died (out of memory?)"
                raise ClusterError(what) from None
            # One of these runs was it, or one that was under way beside them: alone it will show.
            self._suspects += [Chunk([task], alone=True) for task in chunk.tasks]
            return []
        self._took_s.append(time.monotonic() - chunk.began)
        self._retire(chunk)
        for task, row in zip(chunk.tasks, made, strict=True):
            self._pace.learn(task, row.seconds)
        return [Row(*row) for row in self._schedule.finish(made)]

    def _retire(self, chunk: Chunk) -> None:
        self._under_way.remove(chunk)
        attempts = list(chunk.attempts)
        chunk.attempts.clear()
        for attempt in attempts:
            attempt.cancel()

    def _copy_late_chunks(self) -> None:
        """Give late chunks to idle workers as well: theirs may hang, or be very slow."""
        usual_s = statistics.median(self._took_s) if self._took_s else UNKNOWN_CHUNK_S
        now = time.monotonic()

        def is_late(chunk: Chunk) -> bool:
            # Each copy is given twice the time of the one before.
            return now - chunk.began > LATE * 2**chunk.copies * max(usual_s, chunk.expected_s)

        late = sorted(filter(is_late, self._under_way), key=lambda chunk: chunk.began)
        if not late:
            return
        busy = self._workers.busy()
        room = {worker: threads - len(busy.get(worker, ())) for worker, threads in self._threads.items()}
        for chunk in late:
            names = set(chunk.attempts.values())
            others = [worker for worker in room if room[worker] > 0 and not names & busy.get(worker, set())]
            if others:
                chosen = max(others, key=room.__getitem__)
                room[chosen] -= 1
                chunk.copies += 1
                self._start(chunk, chosen)

    def _name(self, task: Task) -> str:
        """A run as its user knows it."""
        point, method, run = task
        axes = self._plan.description["points"][point]["axes"].items()
        place = f" at {', '.join(f'{key} = {label(value)}' for key, value in axes)}" if axes else ""
        return f"run {run} of {method}{place}"


class Pace:
    """How long runs take, learnt from those that are there."""

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
        """How long a run should take: as the others of its point, else of its method, else a whole chunk."""
        point, method, _ = task
        mean = self._of_point.get((point, method)) or self._of_method.get(method)
        return mean.value if mean else CHUNK_S

    @property
    def n(self) -> int:
        """How many there are."""
        return self._of_all.n

    @property
    def mean_s(self) -> float:
        """How long a run takes, a whole chunk as long as none is there."""
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
