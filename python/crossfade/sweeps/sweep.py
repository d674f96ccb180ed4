"""Sweeps: runs of a plan go to a results file, so that a sweep can be stopped, resumed, split and merged."""

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
# Largest number of rows kept in memory, about a kilobyte each; beyond it, rows are read from the file on
# demand.
MOST_ROWS_HELD = 50_000

Say = Callable[[str], object]
"""Called with one line of output for the user."""


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

    First a few runs, spread over the plan, are made to estimate the remaining time. If a plan has many runs,
    its points are not kept in memory but read from the file on access.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        A scenario, a mapping of its keys, a file, a shipped scenario's name, or a text of TOML.
    methods : sequence of str, optional
        Names of methods (``["analysis", "simulation"]``), in place of those of the scenario.
    out : path, optional
        The file (default: the name of the scenario with the ending ``.sqlite``, in the working folder). It
        may hold other plans, and other processes may fill it at the same time.
    jobs : int, optional
        Number of threads (default: all cores); results do not depend on it.
    shard : tuple of (int, int), optional
        (k, n) runs the k-th of n parts of the plan; :func:`crossfade.store.merge` joins their files.
    engine : Engine, optional
        Engine that makes the runs: by default ``jobs`` threads of this process; otherwise a
        :class:`crossfade.store.Cluster`.
    progress : bool
        Whether to show a progress bar on standard error.
    say : callable, optional
        Called with lines of output: an outline of the plan before the runs, the estimated time, and a summary
        at the end.
    **options
        ``set``, ``over``, ``seed``, ``runs``, ``precision``, ``point`` and ``at`` as in
        :func:`crossfade.run`.

    Returns
    -------
    Results
        Results of all rows of the plan in the file; ``complete`` is true if none is missing.

    Raises
    ------
    ScenarioError
        If anything is wrong in the scenario or an option.
    OutputError
        If the file cannot be written; its content stays valid.
    Interrupted
        On Ctrl-C, with the results of the finished runs; repeating the call continues the sweep.

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
        # A finished shard does not imply a complete plan.
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
        Results file to create or extend.
    say : callable, optional
        Called with one line for each plan, which tells whether it is complete, and a summary at the end.

    Raises
    ------
    ResultsError
        If a file cannot be read, or two files have different rows under one key, which the message names;
        ``out`` is then unchanged.

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
        # All or nothing: the draft is private to this process, which may therefore remove it after an error.
        with draft(out) as file:
            joined = _join(files, file)
            if not publish(file, out):
                joined = None
    # An existing file, perhaps created meanwhile: rows are added in one transaction, while others may fill it
    # too.
    new, states = joined or _join(files, out)
    for line in states:
        say(line)
    say(f"wrote {out}: {_count(new, 'run')} of {_count(len(files), 'file')}")


def _join(files: Sequence[str | PathLike[str]], out: Path) -> tuple[int, list[str]]:
    """Merge files into ``out``; returns the number of new rows, and a line on the completeness of each
    plan.
    """
    with ResultsFile.create(out) as file:
        new = file.merge(files)
        return new, [_state(file, stored) for stored in file.plans()]


def default_file(plan: Plan, shard: Shard = WHOLE) -> str:
    """Default name of a plan's results file. Each shard has its own, since shards may run on several
    hosts.
    """
    part = "" if shard == WHOLE else f"-{shard[0]}-of-{shard[1]}"
    return f"{Path(plan.name).name.removesuffix('.toml')}{part}{SUFFIX}"


def _rows_of(path: Path, keys: Sequence[str]) -> dict[str, Row]:
    """Rows of a results file by their keys; another process may be filling the file."""
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
    """Runs left of a shard: the missing runs that are certainly needed, and the number of finished ones."""

    runs: list[Missing]
    there: int

    @classmethod
    def of(cls, known: _crossfade.Known, shard: Shard) -> _Left:
        missing, there = known.missing(shard)
        return cls([Missing(*of) for of in missing], there)

    @property
    def missing(self) -> int:
        """Number of missing runs."""
        return sum(of.number for of in self.runs)


def _make(rows: StoredRows, engine: Engine, shard: Shard, left: _Left, progress: bool, say: Say) -> bool:
    """Make the missing runs of a shard; returns whether it is complete (not after Ctrl-C)."""
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
    """Lines of output that announce the work."""
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
    """Stop rule of each point's runs, in words; not for a fixed number of runs."""
    if "count" in stop:
        return f"there are {stop['count']:,} {stop['metric']}"
    of = f" of {stop['metric']}" if "metric" in stop else ""
    return f"the 95 % interval{of} is within {100.0 * stop['precision']:g} %"


def _state(file: ResultsFile, stored: StoredPlan) -> str:
    """One line on the completeness of a plan in a file; also updates the plan's stored warnings."""
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
