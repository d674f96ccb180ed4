"""Sweeps: plans whose finished runs go to a results file, to be stopped, resumed, shared out and joined."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import crossfade._crossfade as _crossfade
from crossfade import plans
from crossfade.errors import OutputError, ScenarioError, shortened
from crossfade.files import as_path, check_writable
from crossfade.plans import Plan, translated_errors
from crossfade.plans.options import Options, PlanOptions, ScenarioLike
from crossfade.records import draft, publish
from crossfade.results.file import SUFFIX, ResultsFile
from crossfade.results.interrupted import Interrupted
from crossfade.results.plantable import StoredPlan, is_solved, plan_id
from crossfade.results.results import Results
from crossfade.results.rows import Row
from crossfade.sweeps.engines import WHOLE, Engine, Shard, Threads
from crossfade.sweeps.pilot import Missing, cpu_seconds, duration, make_pilot, without
from crossfade.sweeps.stored import REPEATABLE, StoredRows

MOST_SHARDS = 1_000_000
# More rows are read from the file again where they are needed: one takes a kilobyte.
MOST_ROWS_HELD = 50_000

Say = Callable[[str], object]
"""Takes one line for the user."""


def sweep(
    scenario: ScenarioLike,
    *,
    methods: Sequence[str] | None = None,
    out: str | PathLike[str] | None = None,
    jobs: int | None = None,
    shard: Shard | None = None,
    engine: Engine | None = None,
    progress: bool = False,
    say: Say | None = None,
    **options: Unpack[PlanOptions],
) -> Results:
    """Run a scenario's sweep into a results file; runs that the file has already are kept.

    The first runs of some points, spread over the plan, are made first, to tell how long the rest will take.
    Points of very many runs are not held in memory but read from the file when they are looked at.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        A scenario, a mapping of its keys, a file, a shipped scenario's name, or a text of TOML.
    methods : sequence of str, optional
        Names of methods (``["analysis", "simulation"]``), above the scenario's own.
    out : path, optional
        The file (default: the name of the scenario with the ending ``.sqlite``, in the working folder). It
        may hold other plans, and other processes may fill it at the same time.
    jobs : int, optional
        Number of threads (default: all cores); results do not depend on it.
    shard : tuple of (int, int), optional
        (k, n) does the k-th of n parts, whose files :func:`crossfade.store.merge` joins.
    engine : Engine, optional
        What makes the runs: by default ``jobs`` threads of this process; a :class:`crossfade.store.Cluster`.
    progress : bool
        Whether a bar is shown on standard error.
    say : callable, optional
        Called with each line of the plan before the runs, with the time that they will take, and with what
        was done in the end.
    **options
        ``set``, ``over``, ``seed``, ``runs``, ``precision``, ``point`` and ``at`` as in
        :func:`crossfade.run`.

    Returns
    -------
    Results
        Those of all rows that the file has; ``complete`` if nothing is missing.

    Raises
    ------
    ScenarioError
        If anything is wrong in the scenario or an option.
    OutputError
        If the file cannot be written; what it holds stays.
    Interrupted
        On Ctrl-C, with what is finished; the same call once more goes on from there.

    Examples
    --------
    >>> import crossfade as cf
    >>> results = cf.sweep("quickstart", methods=["formula"], out="sweep.sqlite")
    >>> results.complete, len(results.points)
    (True, 27)
    """
    engine = engine or Threads(jobs)
    shard = _checked(shard)
    say = say or (lambda _: None)
    asked = Options.of(PlanOptions, options, methods=methods)
    plan = plans.load(scenario, asked, partial(plans.tell_of_many, say))
    if kept_out := [name for name in plan.description["methods"] if name not in REPEATABLE]:
        raise ScenarioError(
            f"methods = {kept_out}: no two runs are equal, and a results file keeps none; use crossfade run"
        )
    path = as_path("out", default_file(plan, shard) if out is None else out, OutputError)
    began = time.monotonic()
    with ResultsFile.create(path) as file:
        identity = file.add_plan(plan.stored, plan.description["warnings"])
        rows = StoredRows(plan, file, MOST_ROWS_HELD)
        known = len(rows.known)
        left = _Left.of(rows.known, shard)
        for line in _outline(plan, shard, left, path):
            say(line)
        finished = _make(rows, engine, shard, left, progress, say)
        read = partial(_rows_of, path)
        if not finished:
            raise Interrupted(len(rows.known), lambda: rows.results(False, read))
        # A finished shard is part of a plan that may not be.
        complete = shard == WHOLE or not _Left.of(rows.known, WHOLE).runs
        file.commit()
        results = rows.results(complete, read)
        if complete:
            file.set_warnings(identity, results.warnings)
    if made := len(rows.known) - known:
        say(f"wrote {path}: {_count(made, 'run')} in {duration(time.monotonic() - began)}")
    if complete:
        say(f"crossfade plot, report and export read {path}")
    return results


def merge(files: Sequence[str | PathLike[str]], out: str | PathLike[str], *, say: Say | None = None) -> None:
    """Join results files: ``out`` receives the plans and rows of all ``files``, and keeps its own.

    Parameters
    ----------
    files : sequence of paths
        Results files, such as those of shards.
    out : path
        The file that gets everything; it may be there.
    say : callable, optional
        Called with a line for each plan, which tells whether it is complete, and one in the end.

    Raises
    ------
    ResultsError
        If one of the files cannot be read, or two have different rows under one key, which the message names;
        then ``out`` is as it was.

    Examples
    --------
    >>> import crossfade as cf
    >>> for k in (1, 2):
    ...     _ = cf.sweep("quickstart", methods=["formula"], shard=(k, 2), out=f"part-{k}.sqlite")
    >>> cf.store.merge(["part-1.sqlite", "part-2.sqlite"], "whole.sqlite")
    >>> cf.store.load("whole.sqlite").complete
    True
    """
    say = say or (lambda _: None)
    out = Path(out)
    for path in files:
        ResultsFile.open(path).close()
    check_writable(out)
    joined = None
    if not os.path.exists(out):
        # All or nothing; and nobody but this process ever has the draft, so that it may remove that.
        with draft(out) as file:
            joined = _join(files, file)
            if not publish(file, out):
                joined = None
    # A file that is there, perhaps by now: it is added to, all or nothing, whoever else fills it.
    new, states = joined or _join(files, out)
    for line in states:
        say(line)
    say(f"wrote {out}: {_count(new, 'run')} of {_count(len(files), 'file')}")


def _join(files: Sequence[str | PathLike[str]], out: Path) -> tuple[int, list[str]]:
    """Merge into a file; gives how many rows are new, and how complete each plan is."""
    with ResultsFile.create(out) as file:
        new = file.merge(files)
        return new, [_state(file, stored) for stored in file.plans()]


def default_file(plan: Plan, shard: Shard = WHOLE) -> str:
    """The results file of a plan where none is named. Shards have one each: they may run on several hosts."""
    part = "" if shard == WHOLE else f"-{shard[0]}-of-{shard[1]}"
    return f"{Path(plan.name).name.removesuffix('.toml')}{part}{SUFFIX}"


def _rows_of(path: Path, keys: Sequence[str]) -> dict[str, Row]:
    """Rows of a results file that somebody may fill meanwhile."""
    with ResultsFile.open(path) as file:
        return file.get(keys)


def _checked(shard: Shard | None) -> Shard:
    if shard is None:
        return WHOLE
    try:
        number, of = map(int, shard)
    except (TypeError, ValueError):
        said = shortened(repr(shard))
        raise ScenarioError(f"shard = {said}: must be a pair (k, n): the k-th of n parts") from None
    if not 1 <= number <= of <= MOST_SHARDS:
        problem = f"must be K/N with K from 1 to N, and N at most {MOST_SHARDS}"
        raise ScenarioError(f"shard = {number}/{of}: {problem}")
    return number, of


class _Left(NamedTuple):
    """Runs left of a shard: those that are needed in any case, and the number of finished ones."""

    runs: list[Missing]
    there: int

    @classmethod
    def of(cls, known: _crossfade.Known, shard: Shard) -> _Left:
        missing, there = known.missing(shard)
        return cls([Missing(*of) for of in missing], there)

    @property
    def missing(self) -> int:
        """Number of runs."""
        return sum(of.number for of in self.runs)


def _make(rows: StoredRows, engine: Engine, shard: Shard, left: _Left, progress: bool, say: Say) -> bool:
    """Make what is left of a shard; gives whether it is complete (not after Ctrl-C)."""
    if not left.runs:
        return True
    plan = rows.plan
    try:
        with translated_errors():
            made = make_pilot(plan, rows.times, left.runs, rows.add, progress=progress)
        rest = without(left.runs, made)
        at_once = max(1, min(engine.workers, sum(of.number for of in rest)))
        seconds = cpu_seconds(rows.times, rest) / at_once
        how = "about" if "runs" in plan.description["stop"] else "at least"
        say(f"{how} {duration(seconds)} to go, {_count(engine.workers, 'run')} at a time")
        return rows.make(engine, shard, progress=progress)
    except KeyboardInterrupt:
        return False


def _outline(plan: Plan, shard: Shard, left: _Left, path: Path) -> Iterator[str]:
    """Announcement of the work, a line each."""
    if plan.title:
        yield plan.title
    asked = plan.description
    axes = " x ".join(f"{name} ({steps})" for name, steps in asked["steps"].items())
    yield _count(len(asked["points"]), "point") + (f": {axes}" if axes else "")
    distinct, stop = len({point["id"] for point in asked["points"]}), asked["stop"]
    for method in asked["methods"]:
        if is_solved(method):
            yield f"{method}: {_count(distinct, 'solution')}"
        elif "runs" in stop:
            yield f"{method}: {_count(distinct * stop['runs'], 'run')}, {stop['runs']} a point"
        else:
            yield f"{method}: until {goal_of(stop)}, at most {_count(stop['max_runs'], 'run')} a point"
    part = "" if shard == WHOLE else f"shard {shard[0]}/{shard[1]}: "
    at_least = "at least " if "runs" not in stop and left.runs else ""
    missing = f"{at_least}{left.missing:,} missing" if left.runs else "none missing"
    yield f"{part}{_count(left.there, 'run')} in {path} already, {missing}"


def goal_of(stop: Mapping[str, Any]) -> str:
    """Stop rule of a point's runs, in words."""
    if "count" in stop:
        return f"there are {stop['count']:,} {stop['metric']}"
    of = f" of {stop['metric']}" if "metric" in stop else ""
    return f"the 95 % interval{of} is within {100.0 * stop['precision']:g} %"


def _state(file: ResultsFile, stored: StoredPlan) -> str:
    """Completeness of a file's plan. Brings its warnings up to date."""
    what = {"title": "", "name": "", "version": "?", **stored.description}
    label = f"plan {stored.id[:8]} ({what['title'] or what['name']})"
    if not {"text", "overrides", "files"} <= what.keys():
        return f"{label}: without its scenario"

    def attached(name: str) -> str:
        if name not in what["files"]:
            raise ScenarioError(f"{name}: not in the results file")
        return str(what["files"][name])

    try:
        plan = plans.read(what["name"], what["text"], what["overrides"], attached)
        if plan_id(plan.stored) != stored.id:
            return f"{label}: of crossfade {what['version']}"
        rows = StoredRows(plan, file, MOST_ROWS_HELD)
        left = _Left.of(rows.known, WHOLE)
        if left.runs:
            return f"{label}: {_count(left.there, 'run')}, {left.missing:,} or more missing"
        file.set_warnings(stored.id, rows.results(True, file.get).warnings)
    except ScenarioError as error:
        return f"{label}: {error}"
    return f"{label}: {_count(left.there, 'run')}, complete"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
