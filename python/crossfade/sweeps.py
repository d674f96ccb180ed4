"""Sweeps: plans whose finished runs go to a results file, to be stopped, resumed, shared out and joined."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from crossfade import _crossfade, plans
from crossfade.errors import Interrupted, ScenarioError
from crossfade.pilot import cpu_seconds, duration, make_pilot
from crossfade.plans import Plan, Scenario, Values, translated_errors
from crossfade.progress import ProgressBar
from crossfade.results import Results
from crossfade.resultsfile import SUFFIX, ResultsFile, StoredPlan, plan_id
from crossfade.rows import Row

if TYPE_CHECKING:
    from crossfade._crossfade import Task

Shard = tuple[int, int]
"""(k, n): the k-th of n parts of a plan that have no run in common."""

WHOLE: Shard = (1, 1)
SIMULATION = "simulation"
MOST_SHARDS = 1_000_000

Say = Callable[[str], object]
"""Takes one line for the user."""


class Engine(Protocol):
    """What makes the rows of a plan: the threads of this process, or the workers of a cluster."""

    @property
    def workers(self) -> int:
        """How many runs it makes at once."""
        ...

    def execute(
        self,
        plan: Plan,
        known: Sequence[Row],
        shard: Shard,
        on_rows: Callable[[Sequence[Row]], object],
        on_progress: Callable[[int, int], object],
    ) -> bool:
        """Make the rows of the shard that are not known; says whether it is complete (not after Ctrl-C).

        ``on_rows`` gets rows that count, on the calling thread; ``on_progress`` how many runs are at hand and
        how many there will be. What one of them raises ends the work and is raised here.
        """
        ...


class Threads:
    """The threads of this process, all cores where ``jobs`` is None."""

    def __init__(self, jobs: int | None = None) -> None:
        plans.check_jobs(jobs)
        self._jobs = jobs

    @property
    def workers(self) -> int:
        if self._jobs is not None:
            return self._jobs
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def execute(
        self,
        plan: Plan,
        known: Sequence[Row],
        shard: Shard,
        on_rows: Callable[[Sequence[Row]], object],
        on_progress: Callable[[int, int], object],
    ) -> bool:
        def take(batch: Iterable[tuple[Any, ...]]) -> None:
            on_rows([Row(*row) for row in batch])

        return plan.core.execute(known, self._jobs, shard, take, on_progress)


def sweep(
    scenario: Scenario,
    *,
    set: Values | None = None,
    over: Values | None = None,
    runs: int | None = None,
    precision: str | None = None,
    seed: int | None = None,
    methods: Sequence[str] | None = None,
    out: str | PathLike[str] | None = None,
    jobs: int | None = None,
    shard: Shard | None = None,
    engine: Engine | None = None,
    progress: bool = False,
    say: Say | None = None,
) -> Results:
    """Run a scenario's sweep into a results file; what the file has already is not run again.

    The options are those of :func:`run`. ``out`` is the file (default: the name of the scenario with the
    ending ``.sqlite``, in the working folder); it may hold other plans, and other processes may fill it at
    the same time. ``shard`` (k, n) does the k-th of n parts, whose files :func:`merge` joins. ``engine`` is
    what makes the runs, by default ``jobs`` threads of this process. ``say`` is called with each line of the
    plan before the runs, with the time that they will take, and with what was done in the end.

    The first runs of some points, spread over the plan, are made first, to tell how long the rest will take.
    The results of a shard are those of all rows that the file has, ``complete`` if nothing is missing.

    Raises :class:`ScenarioError` on anything wrong in the scenario or an option, :class:`OutputError` where
    the file cannot be written (what it holds stays), and on Ctrl-C :class:`Interrupted`, which carries what
    is finished. The same call once more goes on from there.
    """
    plan = plans.load(
        scenario, set=set, over=over, runs=runs, precision=precision, seed=seed, methods=methods
    )
    engine = engine or Threads(jobs)
    shard = _checked(shard)
    say = say or (lambda _: None)
    path = Path(default_file(plan, shard) if out is None else out)
    began = time.monotonic()
    with ResultsFile.create(path) as file:
        identity = file.add_plan(description(plan), plan.description["warnings"])
        rows = file.get(plan.core.keys())
        known = len(rows)

        def keep(finished: Sequence[Row]) -> None:
            file.put(finished)
            rows.update((row.key, row) for row in finished)

        left = _Left.of(plan, rows, shard)
        for line in _outline(plan, shard, left, path):
            say(line)
        finished = _make(plan, engine, shard, rows, left, keep, progress, say)
        # A finished shard is part of a plan that may not be.
        complete = finished and (shard == WHOLE or not _Left.of(plan, rows, WHOLE).tasks)
        results = plan.results(rows, complete)
        if complete:
            file.set_warnings(identity, results.warnings)
        if not finished:
            raise Interrupted(results)
    if made := len(rows) - known:
        say(f"wrote {path}: {_count(made, 'run')} in {duration(time.monotonic() - began)}")
    if complete:
        say(f"crossfade plot, report and export read {path}")
    return results


def merge(files: Sequence[str | PathLike[str]], out: str | PathLike[str], *, say: Say | None = None) -> None:
    """Join results files: in the end ``out`` has the plans and rows of all ``files``, and those it had.

    ``say`` is called with a line for each plan, which tells whether it is complete, and one in the end.

    Raises :class:`ResultsError` where one of the files cannot be read, or two have different rows under one
    key, which the message names; then ``out`` is as it was.
    """
    say = say or (lambda _: None)
    out = Path(out)
    for path in files:
        ResultsFile.open(path).close()
    existed = out.exists()
    try:
        with ResultsFile.create(out) as file:
            new = file.merge(files)
            for stored in file.plans():
                say(_state(file, stored))
    except BaseException:
        if not existed:
            out.unlink(missing_ok=True)
        raise
    say(f"wrote {out}: {_count(new, 'run')} of {_count(len(files), 'file')}")


def default_file(plan: Plan, shard: Shard = WHOLE) -> str:
    """The results file of a plan where none is named. Shards have one each: they may run on several hosts."""
    part = "" if shard == WHOLE else f"-{shard[0]}-of-{shard[1]}"
    return f"{Path(plan.name).name.removesuffix('.toml')}{part}{SUFFIX}"


def description(plan: Plan) -> dict[str, Any]:
    """What a results file keeps of a plan: all that its readers need."""
    kept = ("scenario", "axes", "points", "methods", "stop", "seed", "units")
    return {
        "name": plan.name,
        "title": plan.title,
        "text": plan.text,
        "overrides": plan.overrides,
        **{name: plan.description[name] for name in kept},
        "version": _crossfade.__version__,
        "results_version": _crossfade.RESULTS_VERSION,
    }


def _checked(shard: Shard | None) -> Shard:
    if shard is None:
        return WHOLE
    number, of = shard
    if not 1 <= number <= of <= MOST_SHARDS:
        problem = f"must be K/N with K from 1 to N, and N at most {MOST_SHARDS}"
        raise ScenarioError(f"shard = {number}/{of}: {problem}")
    return number, of


class _Left(NamedTuple):
    """What is left to do of a shard: the runs to be made whatever comes out, and how many are there."""

    tasks: list[Task]
    there: int

    @classmethod
    def of(cls, plan: Plan, rows: Mapping[str, Row], shard: Shard) -> _Left:
        schedule = _crossfade.Schedule(plan.core, list(rows.values()), 1, shard)
        tasks = schedule.take(10**9)  # all of them
        return cls(tasks, schedule.progress()[0])


def _make(
    plan: Plan,
    engine: Engine,
    shard: Shard,
    rows: Mapping[str, Row],
    left: _Left,
    keep: Callable[[Sequence[Row]], None],
    progress: bool,
    say: Say,
) -> bool:
    """Make what is left of a shard; gives whether it is complete (not after Ctrl-C)."""
    if not left.tasks:
        return True
    try:
        with translated_errors():
            made = frozenset(make_pilot(plan, rows, left.tasks, keep))
            rest = [task for task in left.tasks if task not in made]
            seconds = cpu_seconds(plan, rows, rest) / max(1, min(engine.workers, len(rest)))
            how = "at least" if "precision" in plan.description["stop"] else "about"
            say(f"{how} {duration(seconds)} to go, {_count(engine.workers, 'run')} at a time")
            with ProgressBar(enabled=progress) as bar:
                return engine.execute(plan, list(rows.values()), shard, keep, bar.update)
    except KeyboardInterrupt:
        return False


def _outline(plan: Plan, shard: Shard, left: _Left, path: Path) -> Iterator[str]:
    """What is going to be done, a line each."""
    if plan.title:
        yield plan.title
    asked = plan.description
    axes = " x ".join(f"{name} ({steps})" for name, steps in asked["steps"].items())
    yield _count(len(asked["points"]), "point") + (f": {axes}" if axes else "")
    distinct, stop = len({point["id"] for point in asked["points"]}), asked["stop"]
    for method in asked["methods"]:
        if method != SIMULATION:
            yield f"{method}: {_count(distinct, 'solution')}"
        elif "runs" in stop:
            yield f"{method}: {_count(distinct * stop['runs'], 'run')}, {stop['runs']} a point"
        else:
            goal = f"until the 95 % interval is within {100.0 * stop['precision']:g} %"
            yield f"{method}: {goal}, at most {_count(stop['max_runs'], 'run')} a point"
    part = "" if shard == WHOLE else f"shard {shard[0]}/{shard[1]}: "
    at_least = "at least " if "precision" in stop and left.tasks else ""
    missing = f"{at_least}{len(left.tasks):,} missing" if left.tasks else "none missing"
    yield f"{part}{_count(left.there, 'run')} in {path} already, {missing}"


def _state(file: ResultsFile, stored: StoredPlan) -> str:
    """How complete a plan of a file is. What it warns of is brought up to date."""
    what = stored.description
    label = f"plan {stored.id[:8]} ({what['title'] or what['name']})"
    try:
        plan = plans.read(what["name"], what["text"], what["overrides"])
        if plan_id(description(plan)) != stored.id:
            return f"{label}: of crossfade {what['version']}"
        rows = file.get(plan.core.keys())
        left = _Left.of(plan, rows, WHOLE)
        if left.tasks:
            return f"{label}: {_count(left.there, 'run')}, {len(left.tasks):,} or more missing"
        file.set_warnings(stored.id, plan.results(rows, complete=True).warnings)
    except ScenarioError as error:
        return f"{label}: {error}"
    return f"{label}: {_count(left.there, 'run')}, complete"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
