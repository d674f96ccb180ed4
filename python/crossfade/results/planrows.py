"""Finished runs of a plan in a results file as arrays, from which datasets, tables and exports are made.

A file has rows of all its plans in the order in which they finished. Here the rows of one plan are sorted by
point, method and run. The rows of one point by one method are a *group*.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

import crossfade._crossfade as _crossfade
from crossfade.results.beside import AT_LEAST, INTERVAL, RUNS
from crossfade.results.file import ResultsFile
from crossfade.results.plantable import StoredPlan, is_solved
from crossfade.results.rows import Row, names_of
from crossfade.results.rowtables import LARGEST_VALUE, Line, to_signed

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]

# Number of lines decoded at once: enough for numpy to be fast, few enough for the processor's cache.
LINES_AT_ONCE = 4_000


@dataclass(frozen=True)
class PlanRows:
    """Rows of a plan, sorted by group and run.

    Group g is the distinct point ``points[g // len(methods)]`` (an id; equal points share their rows) by the
    method ``methods[g % len(methods)]``. ``values`` has a row for each run and a column for each of
    ``names``, NaN if undefined. Names are those of rows, such as ``flow:cubic.goodput_bps``. ``place`` is the
    number of earlier rows of the group. ``distributions`` has those of each row, packed. ``failures`` has the
    reason of each group without values. ``rows`` has the rows themselves, if requested.
    """

    plan: StoredPlan
    points: list[str]
    methods: list[str]
    names: list[str]
    values: Floats
    distributions: list[bytes]
    group: Integers
    run: Integers
    place: Integers
    failures: dict[int, str]
    rows: list[Row]

    @cached_property
    def starts(self) -> Integers:
        """Index of the first row of each group; the last item is the number of rows."""
        return np.searchsorted(self.group, np.arange(self.groups + 1))

    @property
    def solved(self) -> Truths:
        """True for each group of a method without randomness."""
        return np.tile([is_solved(method) for method in self.methods], len(self.points))

    @property
    def is_adaptive(self) -> bool:
        """True if the number of runs of a point depends on their results."""
        return is_adaptive(self.plan.description["stop"])

    @property
    def stop_metric(self) -> str:
        """Name of the metric of the stop rule."""
        found: str = self.plan.description["stop"].get("metric", _crossfade.USUAL_METRIC)
        return found

    @property
    def groups(self) -> int:
        """Number of groups, including those without a row."""
        return len(self.points) * len(self.methods)

    def by_point(self) -> list[list[Row]]:
        """Rows of each point by each method, in the order of the plan; equal points have equal rows."""
        number = {id: i for i, id in enumerate(self.points)}
        methods = len(self.methods)
        groups = (
            number[point["id"]] * methods + i
            for point in self.plan.description["points"]
            for i in range(methods)
        )
        return [self.rows[self.starts[group] : self.starts[group + 1]] for group in groups]

    def estimates(self, names: Sequence[str] | None = None) -> Estimates:
        """Means and intervals of all groups, for all metrics or for the known ones among ``names``.

        The number of rows that count, and whether they suffice, is right only with :attr:`stop_metric` among
        them.
        """
        chosen = self.names if names is None else [name for name in names if name in self.names]
        columns = [self.names.index(name) for name in chosen]
        stop = self.plan.description["stop"]
        is_there = self.stop_metric in chosen
        rule: dict[str, Any] = {
            name: (stop[name], self.names.index(self.stop_metric))
            for name in ("precision", "count")
            if name in stop and is_there
        }
        given = (self.values, self.starts[:-1], self.names, columns)
        rule["distributions"] = self.distributions
        found = _crossfade.estimates(*given, **rule)
        ranges = self._ranges(columns, found[2], found[3], found[6])
        if ranges is not None:
            found = _crossfade.estimates(*given, **rule, ranges=ranges)
        means, ci95, low, high, defined, at_least, rows, precise = found
        if self.is_adaptive:
            # Without the stop rule's metric no random group is known to be precise; a solved group always is.
            precise = np.where(self.solved, True, precise & is_there) & (rows > 0)
            finished = precise | (rows >= stop["max_runs"])
        else:
            finished = rows >= stop["runs"]
        finished = np.where(self.solved, rows > 0, finished)
        defined = np.where(np.isnan(means), math.nan, np.where(self.solved[:, np.newaxis], 0.0, defined))
        return Estimates(means, ci95, low, high, defined, at_least, rows, precise, finished)

    def _ranges(self, columns: Sequence[int], low: Floats, high: Floats, rows: Integers) -> Floats | None:
        """Bounds of the means of metrics, for groups with an interval that reaches beyond every run.

        None if there is no such group, or if the core cannot load the scenario any more, so that nothing is
        certain.
        """
        counted = self.place < rows[self.group]
        smallest, largest = np.full(low.shape, -np.inf), np.full(high.shape, np.inf)
        for place, column in enumerate(columns):
            runs = np.where(counted, self.values[:, column], np.nan)
            there = np.flatnonzero(np.diff(self.starts))
            if len(there):
                smallest[there, place] = np.fmin.reduceat(runs, self.starts[there])
                largest[there, place] = np.fmax.reduceat(runs, self.starts[there])
        open_ends = ((low < smallest) | (high > largest)).any(axis=1)
        plan = self._core if open_ends.any() else None
        if plan is None:
            return None
        number: dict[str, int] = {}
        for index, point in enumerate(self.plan.description["points"]):
            number.setdefault(point["id"], index)
        groups = np.flatnonzero(open_ends)
        points = [number[self.points[group // len(self.methods)]] for group in groups]
        ranges = np.broadcast_to([0.0, np.inf], (*high.shape, 2)).copy()
        ranges[groups] = plan.ranges(points, [self.names[column] for column in columns])
        return ranges

    @cached_property
    def _core(self) -> _crossfade.Plan | None:
        """The plan loaded again by the core; None if it differs by now, or has a file of code."""
        what = self.plan.description
        if what["results_version"] != _crossfade.RESULTS_VERSION:
            return None
        try:
            overrides = json.dumps(what["overrides"])
            plan = _crossfade.Plan.load(what["text"], what["name"], overrides, what["files"].__getitem__)
        except (_crossfade.ScenarioError, KeyError, ValueError):
            return None
        again = json.loads(plan.describe())
        return plan if again["points"] == what["points"] else None


@dataclass(frozen=True)
class Estimates:
    """Means of groups (rows) and metrics (columns), with the half-widths and ends of their 95 % intervals."""

    means: Floats
    ci95: Floats
    low: Floats
    high: Floats
    defined: Floats
    at_least: Truths
    rows: Integers
    precise: Truths
    finished: Truths

    def beside(self, column: int) -> dict[str, Floats | Truths]:
        """Columns beside the mean of a metric, by the ending of their names; lower bounds only if any."""
        found: dict[str, Floats | Truths] = dict(
            zip((*INTERVAL, RUNS), (self.ci95, self.low, self.high, self.defined), strict=True)
        )
        return found | ({AT_LEAST: self.at_least} if self.at_least[:, column].any() else {})


def is_adaptive(stop: Mapping[str, Any]) -> bool:
    """True if a stop rule depends on results: on an interval, or on a count."""
    return "precision" in stop or "count" in stop


def read_rows(file: ResultsFile, plan: StoredPlan, *, with_rows: bool = False) -> PlanRows:
    """Read the rows of a plan; ``with_rows`` also keeps the rows themselves.

    The peak of memory is twice that of the values.
    """
    points = list(dict.fromkeys(point["id"] for point in plan.description["points"]))
    wanted = _Wanted(plan.description, points)
    chunks: list[_Chunk] = []
    for sets, lines in file.batches(LINES_AT_ONCE):
        chunks += wanted.chunks(sets, lines, with_rows)
    group = np.concatenate([np.empty(0, dtype=np.int64), *(chunk.group for chunk in chunks)])
    run = np.concatenate([np.empty(0, dtype=np.int64), *(chunk.run for chunk in chunks)])
    order = np.lexsort((run, group))
    # A file has each run once. If damage or another program made two, neither is trusted.
    here, number = group[order], run[order]
    same = (here[1:] == here[:-1]) & (number[1:] == number[:-1])
    order = order[~(np.append(same, False) | np.append(False, same))] if same.any() else order
    if is_adaptive(plan.description["stop"]):
        # A stop rule evaluates runs in order, so a run behind a gap does not count.
        order = order[run[order] == _places(group[order])]
    group, run = group[order], run[order]
    failures = {number: text for chunk in chunks for number, text in chunk.failures.items()}
    unsorted = [row for chunk in chunks for row in chunk.rows]
    rows = [unsorted[i] for i in order] if with_rows else []
    behind = [packed for chunk in chunks for packed in chunk.distributions]
    distributions = [behind[i] for i in order]
    names, values = _sorted_values(chunks, order)
    methods = plan.description["methods"]
    return PlanRows(
        plan, points, methods, names, values, distributions, group, run, _places(group), failures, rows
    )


def _places(group: Integers) -> Integers:
    """Number of earlier rows of the same group, for each sorted row."""
    places: Integers = np.arange(len(group)) - np.searchsorted(group, group)
    return places


@dataclass(frozen=True)
class _Chunk:
    """Rows of a plan with the same metrics, in the order of the file."""

    names: tuple[str, ...]
    group: Integers
    run: Integers
    values: Floats
    distributions: list[bytes]
    failures: dict[int, str]
    rows: list[Row]


class _Wanted:
    """Filter for the rows of a file that belong to a plan."""

    def __init__(self, description: dict[str, Any], points: list[str]) -> None:
        methods, stop = description["methods"], description["stop"]
        self._points = points
        self._groups = {bytes.fromhex(id): len(methods) * i for i, id in enumerate(points)}
        self._methods = {method: i for i, method in enumerate(methods)}
        self._solved = np.array([is_solved(method) for method in methods])
        self._seed = to_signed(description["seed"])
        self._runs = stop.get("runs", stop.get("max_runs"))

    def chunks(self, sets: dict[int, str], lines: list[Line], with_rows: bool) -> Iterator[_Chunk]:
        """Rows among ``lines`` that belong to the plan, packed; with the rows themselves if ``with_rows``."""
        # Fast enough for a million rows: by columns, without a Python object for each value.
        _, points, methods, seeds, runs, set_of, blobs, failures, *_ = zip(*lines, strict=True)

        def integers(values: Iterable[int]) -> Integers:
            return np.fromiter(values, dtype=np.int64, count=len(lines))

        first = integers(map(self._groups.get, points, repeat(-1)))
        method = integers(map(self._methods.get, methods, repeat(-1)))
        run, metric_set = integers(runs), integers(set_of)
        # A method without randomness has one row, which is valid for every seed.
        asked = np.where(self._solved[method], run == 0, (run < self._runs) & (integers(seeds) == self._seed))
        asked &= (first >= 0) & (method >= 0)
        for number in sets.keys() & set(metric_set[asked].tolist()):
            names = names_of(sets[number])
            at = np.flatnonzero(asked & (metric_set == number))
            size = 8 * len(names)
            values = np.frombuffer(b"".join([blobs[i][:size] for i in at.tolist()]), dtype="<f8")
            values = values.reshape(len(at), len(names))
            numbers = (np.abs(values) < LARGEST_VALUE).all(axis=1)
            at, values = at[numbers], values[numbers]
            group = (first + method)[at]
            told = zip(group.tolist(), at.tolist(), strict=True) if any(failures) else ()
            why = {of: failures[i] for of, i in told if failures[i] is not None}
            rows = [self._row(lines[i], sets[number]) for i in at.tolist()] if with_rows else []
            behind = [blobs[i][size:] for i in at.tolist()]
            yield _Chunk(names, group, run[at], values, behind, why, rows)

    def _row(self, line: Line, names: str) -> Row:
        key, point, method, seed, run, _, values, failure, _, _, seconds = line[:11]
        # The rows of a point share one string with its id.
        text = self._points[self._groups[point] // len(self._methods)]
        return Row(key.hex(), text, method, seed % 2**64, run, names, values, failure, seconds)


def _sorted_values(chunks: list[_Chunk], order: Integers) -> tuple[list[str], Floats]:
    """Names of the metrics of all chunks, and their values in ``order``.

    The chunks are consumed, to save memory.
    """
    names = list(dict.fromkeys(name for chunk in chunks for name in chunk.names))
    column = {name: i for i, name in enumerate(names)}
    to = np.full(sum(len(chunk.group) for chunk in chunks), -1)
    to[order] = np.arange(len(order))
    values = np.full((len(order), len(names)), np.nan)
    chunks.reverse()
    first = 0
    while chunks:
        chunk = chunks.pop()
        rows = to[first : first + len(chunk.group)]
        first += len(chunk.group)
        kept = rows >= 0
        columns = np.array([column[name] for name in chunk.names], dtype=np.int64)
        if kept.all() and np.array_equal(columns, np.arange(len(names))):  # the usual case, which is faster
            values[rows] = chunk.values
        else:
            values[np.ix_(rows[kept], columns)] = chunk.values[kept]
    return names, values
