"""Scheduling of a plan's runs in chunks: whatever workers do, the rows are always the same."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest

from crossfade import plans
from crossfade.errors import ClusterError
from crossfade.plans import Plan
from crossfade.plans.options import Options
from crossfade.results.rows import Row
from crossfade.sweeps import chunks
from crossfade.sweeps.chunks import Work, WorkerDiedError
from tests.conftest import SWEEP

if TYPE_CHECKING:
    from crossfade._crossfade import PackedRow, Task

STOPS: list[dict[str, Any]] = [{"runs": 60}, {"precision": "5 %"}]


class Made:
    """Workers in this process that make each chunk at once; ``seconds`` is the duration reported for a
    run.
    """

    def __init__(self, plan: Plan, threads: Mapping[str, int], seconds: float | None = None) -> None:
        self.plan = plan
        self.there = dict(threads)
        self.seconds = seconds
        self.chunks: list[list[Task]] = []
        self.of_worker: defaultdict[str, list[list[Task]]] = defaultdict(list)
        self.waiting: list[tuple[Future[list[PackedRow]], list[Task], str]] = []

    def threads(self) -> Mapping[str, int]:
        return self.there

    def start(self, tasks: Sequence[Task], worker: str) -> Future[list[PackedRow]]:
        attempt: Future[list[PackedRow]] = Future()
        self.chunks.append(list(tasks))
        self.of_worker[worker].append(list(tasks))
        self.waiting.append((attempt, list(tasks), worker))
        self.go_on()
        return attempt

    def go_on(self) -> None:
        """Make all waiting chunks."""
        while self.waiting:
            attempt, tasks, _ = self.waiting.pop()
            self.make(attempt, tasks)

    def make(self, attempt: Future[list[PackedRow]], tasks: Sequence[Task]) -> None:
        rows = [Row(*row) for row in self.plan.core.make(tasks)]
        if self.seconds is not None:
            rows = [row._replace(seconds=self.seconds) for row in rows]
        if attempt.set_running_or_notify_cancel():
            attempt.set_result([*rows])


class WithOneThatHangs(Made):
    """Workers of which ``a`` never finishes a chunk."""

    def go_on(self) -> None:
        for attempt, tasks, worker in list(self.waiting):
            if worker != "a":
                self.waiting.remove((attempt, tasks, worker))
                self.make(attempt, tasks)


def load(**stop: Any) -> Plan:
    # What a run takes is said by the workers of these tests, whatever it has to do.
    short = {"run.duration": "200 slots"} if "runs" in stop else {}
    return plans.load(SWEEP, Options(set=short, **stop))


def finish(workers: Made, known: Sequence[Row] = ()) -> list[Row]:
    """Rows that the work gives in the end, without their durations."""
    rows: list[Row] = []
    last = (0, 0)

    def on_progress(done: int, expected: int) -> None:
        nonlocal last
        assert last[0] <= done <= expected
        last = (done, expected)

    there = workers.plan.core.known()
    assert None not in there.add(known)
    Work(workers.plan, there, (1, 1), workers, rows.extend, on_progress).finish()
    assert last[0] == last[1]
    return sorted(row._replace(seconds=0.0) for row in rows)


def rows_of_threads(plan: Plan) -> list[Row]:
    rows: list[Row] = []
    none = plan.core.known()
    plan.core.execute(none, 2, (1, 1), lambda batch: rows.extend(Row(*row) for row in batch), lambda *_: None)
    return sorted(row._replace(seconds=0.0) for row in rows)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "WAIT_S", 0.01)
    monkeypatch.setattr(chunks, "COUNT_EVERY_S", 0.0)


@pytest.mark.parametrize("stop", STOPS)
def test_the_rows_are_those_of_threads(stop: dict[str, Any]) -> None:
    plan = load(**stop)
    rows = finish(Made(plan, {"a": 2, "b": 1}))
    assert rows == rows_of_threads(plan)
    missing = [row for number, row in enumerate(rows) if number % 3]
    assert finish(Made(plan, {"a": 1}), known=rows[::3]) == missing
    assert finish(Made(plan, {"a": 1}), known=rows) == []


@pytest.mark.parametrize("stop", STOPS)
def test_chunks_may_come_in_any_order(stop: dict[str, Any]) -> None:
    order = random.Random(1)

    class Scattered(Made):
        def go_on(self) -> None:
            order.shuffle(self.waiting)
            while len(self.waiting) > 3:
                attempt, tasks, _ = self.waiting.pop()
                self.make(attempt, tasks)

        def threads(self) -> Mapping[str, int]:  # called now and then
            if self.waiting:
                attempt, tasks, _ = self.waiting.pop()
                self.make(attempt, tasks)
            return super().threads()

    plan = load(**stop)
    assert finish(Scattered(plan, {"a": 2, "b": 3})) == rows_of_threads(plan)


def test_chunks_take_a_second_and_are_short_at_first_and_in_the_end() -> None:
    workers = Made(load(runs=1200), {"a": 1}, seconds=0.004)
    finish(workers)
    sizes = [len(tasks) for tasks in workers.chunks]
    assert sizes[:4] == [1, 1, 5, 5]  # two chunks of one run, then twice the number of finished runs plus one
    assert max(sizes) == 250
    assert sizes.count(250) > 10
    assert sizes[-1] <= 13  # 13 runs of 4 ms are about 50 ms
    assert sizes[-10:] == sorted(sizes[-10:], reverse=True)


def test_chunks_are_longer_for_very_many_threads() -> None:
    for threads, in_chunk, runs in ((100, 1, 150), (200, 2, 450)):
        workers = Made(load(runs=runs), {"a": threads // 4, "b": threads - threads // 4}, seconds=1.0)
        finish(workers)
        assert max(len(tasks) for tasks in workers.chunks) == in_chunk


def test_runs_that_take_longer_make_smaller_chunks() -> None:
    class Uneven(Made):
        def make(self, attempt: Future[list[PackedRow]], tasks: Sequence[Task]) -> None:
            rows = [Row(*row) for row in self.plan.core.make(tasks)]
            seconds = [0.4 if point >= 2 else 0.004 for point, _, _ in tasks]
            attempt.set_result([row._replace(seconds=s) for row, s in zip(rows, seconds, strict=True)])

    workers = Uneven(load(runs=500), {"a": 1})
    finish(workers)
    took = [sum(0.4 if point >= 2 else 0.004 for point, _, _ in tasks) for tasks in workers.chunks]
    # A chunk takes a second, plus the rest of the run that exceeds it.
    assert max(took[8:]) == pytest.approx(1.2, abs=0.02)
    # Chunks given out before the first run of their point ended are estimated by other points.
    assert sum(seconds > 1.4 for seconds in took) <= 4


def test_workers_may_come_and_go() -> None:
    class Changing(Made):
        counted = 0

        def threads(self) -> Mapping[str, int]:
            self.counted += 1
            self.there = {3: {"a": 1}, 8: {"a": 1, "b": 1}, 12: {}, 14: {"b": 1}}.get(
                self.counted, self.there
            )
            return self.there

        def start(self, tasks: Sequence[Task], worker: str) -> Future[list[PackedRow]]:
            assert worker in self.there
            return super().start(tasks, worker)

    workers = Changing(load(runs=200), {}, seconds=0.05)
    assert finish(workers) == rows_of_threads(workers.plan)
    assert workers.counted > 14
    assert min(len(workers.of_worker[worker]) for worker in "ab") > 3
    assert workers.of_worker["b"][-1] == workers.chunks[-1]


@pytest.mark.parametrize("stop", STOPS)
def test_late_chunks_are_made_by_another_worker_too(
    stop: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "LATE", 0.0)
    plan = load(**stop)
    workers = WithOneThatHangs(plan, {"a": 1, "b": 1})
    assert finish(workers) == rows_of_threads(plan)
    hanging = workers.of_worker["a"]
    assert len(hanging) == 2, "one that hangs is given no more"
    assert all(tasks in workers.of_worker["b"] for tasks in hanging)
    assert all(attempt.cancelled() for attempt, _, _ in workers.waiting), "what nobody wants is taken back"


def test_a_chunk_that_comes_twice_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LATE", 0.0)

    class Waking(WithOneThatHangs):
        """Worker ``a`` finally also makes the chunks that another worker has made."""

        twice = 0

        def start(self, tasks: Sequence[Task], worker: str) -> Future[list[PackedRow]]:
            attempt = super().start(tasks, worker)
            for late in list(self.waiting):
                if late[1] in self.of_worker["b"]:
                    self.waiting.remove(late)
                    self.twice += 1
                    self.make(*late[:2])
            return attempt

    plan = load(runs=200)
    workers = Waking(plan, {"a": 1, "b": 1}, seconds=0.05)
    assert finish(workers) == rows_of_threads(plan)
    assert workers.twice > 1


@pytest.mark.parametrize("stop", STOPS)
def test_what_was_with_a_lost_worker_is_made_by_others(
    stop: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "LATE", float("inf"))

    class Losing(WithOneThatHangs):
        counted = 0

        def threads(self) -> Mapping[str, int]:
            self.counted += 1
            return {"b": 1} if self.counted > 3 else {"a": 1, "b": 1}

    workers = Losing(load(**stop), {})
    assert finish(workers) == rows_of_threads(workers.plan)
    lost = workers.of_worker["a"]
    assert len(lost) == 2
    assert all(tasks in workers.of_worker["b"] for tasks in lost)


class Dying(Made):
    """Workers that die of one run; with ``beside``, only if the chunk has other runs."""

    run = (1, "simulation", 30)
    beside = False

    def make(self, attempt: Future[list[PackedRow]], tasks: Sequence[Task]) -> None:
        if self.run in tasks and not (self.beside and len(tasks) == 1):
            attempt.set_exception(WorkerDiedError())
        else:
            super().make(attempt, tasks)


def test_runs_that_were_lost_with_several_workers_are_made_one_at_a_time() -> None:
    workers = Dying(load(runs=60), {"a": 2, "b": 2})
    workers.beside = True
    assert finish(workers) == rows_of_threads(workers.plan)
    assert [Dying.run] in workers.chunks


def test_a_run_that_always_kills_its_worker_is_named() -> None:
    workers = Dying(load(runs=60), {"a": 1})
    rows: list[Row] = []
    with pytest.raises(ClusterError) as raised:
        Work(workers.plan, workers.plan.core.known(), (1, 1), workers, rows.extend, lambda *_: None).finish()
    name = "run 30 of simulation at tcp.variant = tahoe, channel.p_e = 0.1"
    assert str(raised.value) == f"each of 3 workers died while it made {name} (out of memory?)"
    assert rows, "what was there before is kept"


def test_what_a_worker_says_ends_the_work() -> None:
    class Refusing(Made):
        def make(self, attempt: Future[list[PackedRow]], tasks: Sequence[Task]) -> None:
            attempt.set_exception(ClusterError("no"))

    with pytest.raises(ClusterError, match=r"^no$"):
        finish(Refusing(load(runs=10), {"a": 1}))
