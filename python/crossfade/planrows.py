"""The finished runs of a plan in a results file, as arrays: what datasets, tables and exports are made of.

A file holds rows in the order in which they were finished, and those of other plans among them. Here they are
sorted by point, method and run. The rows of one point by one method are a *group*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossfade import _crossfade
from crossfade.resultsfile import ResultsFile, StoredPlan
from crossfade.rows import Row, names_of
from crossfade.rowtables import Line, to_row, to_signed

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]

# So many rows are decoded at once: enough for numpy to be quick, few enough to take little memory.
ROWS_AT_ONCE = 20_000

# The metric that a precision is about (`PRECISION_METRIC` of the core).
PRECISION_METRIC = "goodput_bps"


@dataclass(frozen=True)
class PlanRows:
    """The rows of a plan, sorted by group and run.

    Group g is the distinct point ``points[g // len(methods)]`` (its id; equal points share their rows) by
    the method ``methods[g % len(methods)]``. ``values`` has a row a run and a column for each of ``names``,
    NaN where a metric is undefined. Names are those of rows: ``flow:cubic.goodput_bps``. ``failures`` says
    why groups have no values. ``rows`` are the rows themselves, where they were asked for.
    """

    plan: StoredPlan
    points: list[str]
    methods: list[str]
    names: list[str]
    values: Floats
    group: Integers
    run: Integers
    failures: dict[int, str]
    rows: list[Row]

    @cached_property
    def starts(self) -> Integers:
        """Where each group begins among the rows; as the last item, how many rows there are."""
        return np.searchsorted(self.group, np.arange(self.groups + 1))

    @property
    def solved(self) -> Truths:
        """Of each group whether it is solved, without randomness."""
        return np.tile([is_solved(method) for method in self.methods], len(self.points))

    @property
    def groups(self) -> int:
        """How many groups there are, those without a row included."""
        return len(self.points) * len(self.methods)

    def estimates(self, names: Sequence[str] | None = None) -> Estimates:
        """Means and intervals of all groups: of all metrics, or of those among ``names`` that there are.

        Which rows count, and whether they suffice, is told only with :data:`PRECISION_METRIC` among them.
        """
        chosen = self.names if names is None else [name for name in names if name in self.names]
        columns = [self.names.index(name) for name in chosen]
        values = self.values if names is None else self.values[:, columns]
        stop = self.plan.description["stop"]
        precision = None
        if "precision" in stop and PRECISION_METRIC in chosen:
            precision = (stop["precision"], chosen.index(PRECISION_METRIC))
        means, ci95, rows, precise = _crossfade.estimates(values, self.starts[:-1], precision)
        if "precision" in stop:
            # Without the metric there is nothing that could be precise; what is solved is.
            precise = np.where(self.solved, True, precise & (precision is not None)) & (rows > 0)
            finished = precise | (rows >= stop["max_runs"])
        else:
            finished = rows >= stop["runs"]
        finished = np.where(self.solved, rows > 0, finished)
        return Estimates(means, ci95, rows, precise, finished)

@dataclass(frozen=True)
class Estimates:
    """Means of groups (down) and metrics (across), with the half-widths of their 95 % intervals.

    NaN where a metric is undefined, or a single run says nothing of the spread. ``rows`` is how many rows of
    a group count, ``finished`` whether that is all there are to be, ``precise`` whether they reach the
    precision that the plan asks for (true where it asks for none).
    """

    means: Floats
    ci95: Floats
    rows: Integers
    precise: Truths
    finished: Truths


def is_solved(method: str) -> bool:
    """Whether a method has no randomness."""
    return method.startswith(("analysis", "formula"))


def read_rows(file: ResultsFile, plan: StoredPlan, *, with_rows: bool = False) -> PlanRows:
    """Read the rows of a plan; ``with_rows`` keeps them as they are as well.

    At its height it takes twice the memory of the values.
    """
    points = list(dict.fromkeys(point["id"] for point in plan.description["points"]))
    reader = _Reader(plan.description, points, with_rows)
    for line, names in file.lines():
        reader.take(line, names)
    chunks = reader.chunks()
    group, run, place = (
        np.concatenate([np.empty(0, dtype=np.int64), *(getattr(chunk, name) for chunk in chunks)])
        for name in ("group", "run", "place")
    )
    order = np.lexsort((run, group))
    if "precision" in plan.description["stop"]:
        order = order[_without_gap(group[order], run[order])]
    rows = [reader.rows[i] for i in place[order]] if with_rows else []
    names, values = _sorted_values(chunks, order)
    return PlanRows(
        plan, points, plan.description["methods"], names, values, group[order], run[order], reader.failures, rows
    )


def _without_gap(group: Integers, run: Integers) -> Truths:
    """Of each sorted row whether all earlier runs of its group are there: only then a stop rule may see it."""
    first = np.searchsorted(group, group)
    return run == np.arange(len(group)) - first


@dataclass(frozen=True)
class _Chunk:
    """Some thousands of rows with the same metrics."""

    names: list[str]
    group: Integers
    run: Integers
    # Their places among all rows of the plan, in the order of the file.
    place: Integers
    values: Floats


class _Reader:
    """Takes the lines of a file that are rows of a plan, and packs them."""

    def __init__(self, description: dict[str, Any], points: list[str], with_rows: bool) -> None:
        methods, stop, seed = description["methods"], description["stop"], description["seed"]
        runs = stop.get("runs", stop.get("max_runs"))
        self._first_groups = {bytes.fromhex(id): len(methods) * i for i, id in enumerate(points)}
        # Number, seed and number of runs. What is solved has no randomness: one row serves every seed.
        self._methods = {
            method: (i, None, 1) if is_solved(method) else (i, to_signed(seed), runs)
            for i, method in enumerate(methods)
        }
        self._with_rows = with_rows
        # Rows that are not packed yet, by their metrics.
        self._open: dict[str, list[tuple[int, int, int, bytes]]] = {}
        self._packed: list[_Chunk] = []
        self._count = 0
        self.failures: dict[int, str] = {}
        self.rows: list[Row] = []

    def take(self, line: Line, names: str) -> None:
        """Take a line of the table if it is the plan's."""
        _, point, method, seed, run, _, values, failure, _, _, _ = line
        first = self._first_groups.get(point)
        if first is None or method not in self._methods:
            return
        number, wanted_seed, runs = self._methods[method]
        if run >= runs or wanted_seed not in (None, seed):
            return
        rows = self._open.setdefault(names, [])
        rows.append((first + number, run, self._count, values))
        if len(rows) == ROWS_AT_ONCE:
            self._pack(names)
        self._count += 1
        if failure is not None:
            self.failures[first + number] = failure
        if self._with_rows:
            self.rows.append(to_row(line, names))

    def chunks(self) -> list[_Chunk]:
        """All that was taken."""
        for names in list(self._open):
            self._pack(names)
        return self._packed

    def _pack(self, names: str) -> None:
        group, run, place, blobs = zip(*self._open.pop(names), strict=True)
        columns = list(names_of(names))
        values = np.frombuffer(b"".join(blobs), dtype="<f8").reshape(len(blobs), len(columns))
        self._packed.append(_Chunk(columns, np.array(group), np.array(run), np.array(place), values))


def _sorted_values(chunks: list[_Chunk], order: Integers) -> tuple[list[str], Floats]:
    """The names of all chunks, and their values in this order. The chunks are used up, to save memory."""
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
        values[np.ix_(rows[kept], [column[name] for name in chunk.names])] = chunk.values[kept]
    return names, values
