"""Results files as labelled arrays: ``open_results`` gives an ``xarray.Dataset``, ``load_results`` results."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crossfade.grids import Grid
from crossfade.planrows import PRECISION_METRIC, Estimates, PlanRows, is_solved, read_rows
from crossfade.results import Estimate, Point, Results
from crossfade.resultsfile import ResultsFile

if TYPE_CHECKING:
    import xarray as xr

FLOW = "flow:"
# The links of a scenario, in the order in which packets take them.
LINKS = ["wired", "forward", "reverse", "wired_reverse"]
LOSS_WINDOW = "loss_window."


def open_results(
    path: str | PathLike[str], *, plan: int | str | None = None, per_run: bool = False
) -> xr.Dataset:
    """A results file as a dataset with labelled dimensions.

    The axes of the sweep are dimensions, called by their dotted keys; of keys that vary together (zipped)
    the first names the dimension and the others are coordinates along it. ``method`` is a dimension where
    there are several methods, else an attribute. An axis of numbers has numbers for its coordinate, one of
    quantities (``"20 ms"``) numbers with the attribute ``units``; any other has labels, as in tables.

    Each metric is a variable with the attributes ``units`` and ``long_name``, beside it ``NAME_ci95``, the
    half-width of its two-sided 95 % Student interval; those of flows and links are ``cubic.goodput_bps``,
    ``reverse.queue_drops``. What is undefined, or not computed yet, is NaN. ``runs`` is the number of runs of
    a point, 0 where it is solved or nothing is finished. Where the plan asks for a precision, ``precise``
    says which points reach it; where a method fails at some points, ``failure`` says why.

    With ``per_run`` metrics have the dimension ``run`` as well, and no intervals; what is solved has run 0
    alone. Run r of every point draws the same random numbers: compare points run by run.

    Attributes: title, scenario (the text of the file), overrides and stop (JSON), seed, version,
    results_version; warnings, a line each.

    ``plan`` chooses among several plans in the file, by number (the oldest is 1) or id; None is the one that
    was asked for last. Raises :class:`ResultsError` where the file cannot be read.
    """
    rows = _read(path, plan)
    return _per_run(rows) if per_run else _of_estimates(rows)


def load_results(path: str | PathLike[str], plan: int | str | None = None) -> Results:
    """A results file as :class:`Results`, as :func:`run` gave them: points with estimates and their rows.

    Points without a finished run are left out. What only the scenario tells (``Point.scenario``, ``flows``,
    ``links``) is empty; the metrics of flows and links are in ``Point.parts``. ``plan`` is as in
    :func:`open_results`.
    """
    return results_of(_read(path, plan, with_rows=True))


def _read(path: str | PathLike[str], plan: int | str | None, with_rows: bool = False) -> PlanRows:
    with ResultsFile.open(path) as file:
        return read_rows(file, file.plan(plan), with_rows=with_rows)


@dataclass(frozen=True)
class Metric:
    """A published metric: its name in results, its column among those of the rows, and its unit."""

    name: str
    column: int
    unit: str

    @property
    def long_name(self) -> str:
        """The name in words, as figures show it: ``reverse.queue_drops`` is "queue drops, reverse"."""
        part, _, last = self.name.rpartition(".")
        words = re.sub("_(bps|s|packets|slots)$", "", last).replace("_", " ")
        return f"{words}, {part}" if part else words


def published(rows: PlanRows) -> list[Metric]:
    """The metrics that results show: those of the whole, of flows, of links. Others serve warnings and details.

    They are in the order of the core's table, which a plan's ``units`` keep; flows are sorted by name, links
    lie as a packet takes them.
    """
    units: dict[str, str] = rows.plan.description["units"]
    ranks = {name: rank for rank, name in enumerate(units)}

    def rank(in_rows: str) -> tuple[int, int, str, int]:
        part, _, last = in_rows.removeprefix(FLOW).rpartition(".")
        kind = 1 if in_rows.startswith(FLOW) else 2 if part else 0
        place = LINKS.index(part) if kind == 2 and part in LINKS else len(LINKS)
        return kind, place, part, ranks[last]

    found = {}
    for name in sorted((name for name in rows.names if name.rpartition(".")[2] in units), key=rank):
        metric = Metric(name.removeprefix(FLOW), rows.names.index(name), units[name.rpartition(".")[2]])
        found[metric.name] = metric  # a flow may be called as a link is: then the name is the link's
    return list(found.values())


def _of_estimates(rows: PlanRows) -> xr.Dataset:
    frame, found = _Frame(rows), rows.estimates()
    variables: dict[str, Variable] = {}
    for metric in published(rows):
        variables[metric.name] = frame.variable(found.means[:, metric.column], metric.unit, metric.long_name)
        variables[f"{metric.name}_ci95"] = frame.variable(
            found.ci95[:, metric.column], metric.unit, f"half-width of the 95 % interval of {metric.long_name}"
        )
    return frame.dataset(variables, found)


def _per_run(rows: PlanRows) -> xr.Dataset:
    frame, found = _Frame(rows), rows.estimates([PRECISION_METRIC])
    counts = np.arange(len(rows.run)) - rows.starts[rows.group] < found.rows[rows.group]
    runs = int(rows.run[counts].max(initial=-1)) + 1
    cell = (rows.group * runs + rows.run)[counts]
    variables: dict[str, Variable] = {}
    for metric in published(rows):
        values = np.full(rows.groups * runs, np.nan)
        values[cell] = rows.values[counts, metric.column]
        variables[metric.name] = frame.variable(values.reshape(rows.groups, runs), metric.unit, metric.long_name)
    return frame.dataset(variables, found, runs)


Variable = tuple[tuple[str, ...], NDArray[Any], dict[str, str]]


class _Frame:
    """The coordinates of a dataset, and where the groups of a plan lie in it."""

    def __init__(self, rows: PlanRows) -> None:
        self._rows = rows
        description = rows.plan.description
        self._grid = Grid.of(description["axes"], description["points"])
        number = {id: i for i, id in enumerate(rows.points)}
        self._cells = np.array([number[id] for id in self._grid.points])
        self._axes = tuple(dimension.name for dimension in self._grid.dimensions)
        # A whole table of the scenario may be an axis, the table "run" too.
        self._run = "replication" if "run" in self._axes else "run"

    def variable(self, of_groups: NDArray[Any], unit: str, long_name: str) -> Variable:
        """Values by group, and by run where there is a second dimension, as a variable."""
        methods, rest = len(self._rows.methods), of_groups.shape[1:]
        values = of_groups.reshape(-1, methods, *rest)
        if not np.array_equal(self._cells, np.arange(len(values))):  # else it need not be copied
            values = values[self._cells]
        several = methods > 1
        shape = (*self._grid.shape, *([methods] if several else []), *rest)
        dimensions = (*self._axes, *(["method"] if several else []), *([self._run] if rest else []))
        attributes = {"long_name": long_name} | ({"units": unit} if unit else {})
        return dimensions, values.reshape(shape), attributes

    def dataset(self, variables: dict[str, Variable], found: Estimates, runs: int | None = None) -> xr.Dataset:
        """The dataset of these variables, and of what is known of each group."""
        import xarray as xr

        coordinates: dict[str, Any] = {
            item.key: (dimension.name, item.values, {"units": item.unit} if item.unit else {})
            for dimension in self._grid.dimensions
            for item in dimension.coordinates
        }
        if len(self._rows.methods) > 1:
            coordinates["method"] = ("method", np.array(self._rows.methods))
        if runs is not None:
            coordinates[self._run] = (self._run, np.arange(runs))
        variables["runs"] = self.variable(np.where(self._rows.solved, 0, found.rows), "1", "number of runs")
        if "precision" in self._rows.plan.description["stop"]:
            variables["precise"] = self.variable(found.precise, "", "whether the precision is reached")
        if self._rows.failures:
            texts = [self._rows.failures.get(group, "") for group in range(self._rows.groups)]
            variables["failure"] = self.variable(np.array(texts), "", "why there are no values")
        return xr.Dataset(variables, coordinates, self._attributes(found))

    def _attributes(self, found: Estimates) -> dict[str, str | int]:
        plan = self._rows.plan
        description = plan.description
        methods = description["methods"]
        return {
            "title": description["title"],
            **({"method": methods[0]} if len(methods) == 1 else {}),
            "seed": description["seed"],
            "stop": json.dumps(description["stop"]),
            "scenario": description["text"],
            "overrides": json.dumps(description["overrides"], ensure_ascii=False),
            "version": description["version"],
            "results_version": description["results_version"],
            "warnings": "\n".join(warnings_of(self._rows, found)),
        }


def warnings_of(rows: PlanRows, found: Estimates) -> list[str]:
    """What the file warns of, and that results are missing if they are."""
    unfinished = int((~found.finished).reshape(len(rows.points), -1).any(axis=1).sum())
    if not unfinished:
        return rows.plan.warnings
    which = f"{unfinished} of {len(rows.points)} points" if len(rows.points) > 1 else "the point"
    return [*rows.plan.warnings, f"unfinished: runs of {which} are missing (crossfade sweep goes on)"]


def results_of(rows: PlanRows) -> Results:
    """The results of a plan's rows; see :func:`load_results`."""
    description = rows.plan.description
    metrics, found = published(rows), rows.estimates()
    means, ci95, counts = found.means.tolist(), found.ci95.tolist(), found.rows.tolist()
    number = {id: i for i, id in enumerate(rows.points)}
    windows = [i for i, name in enumerate(rows.names) if name.startswith(LOSS_WINDOW)]
    windows.sort(key=lambda i: int(rows.names[i].removeprefix(LOSS_WINDOW)))

    def point(axes: dict[str, Any], group: int) -> Point:
        method, start = rows.methods[group % len(rows.methods)], rows.starts[group]
        runs = 0 if is_solved(method) else counts[group]
        estimates = {
            metric.name: Estimate(value, None if math.isnan(half) else half, runs, method, metric.unit)
            for metric in metrics
            if not math.isnan(value := means[group][metric.column])
            for half in [ci95[group][metric.column]]
        }
        return Point(
            axes=axes,
            scenario={},
            method=method,
            runs=runs,
            metrics={name: estimate for name, estimate in estimates.items() if "." not in name},
            parts={name: estimate for name, estimate in estimates.items() if "." in name},
            flows=[],
            links=[],
            warnings=[],
            loss_windows=[means[group][i] for i in windows if not math.isnan(means[group][i])],
            rows=rows.rows[start : start + counts[group]],
        )

    groups = (
        (item["axes"], number[item["id"]] * len(rows.methods) + i)
        for item in description["points"]
        for i in range(len(rows.methods))
    )
    return Results(
        title=description["title"],
        methods=rows.methods,
        seed=description["seed"],
        points=[point(axes, group) for axes, group in groups if counts[group]],
        provenance={name: description[name] for name in ("version", "results_version", "overrides")},
        complete=bool(found.finished.all()),
        axes=description["axes"],
        file_warnings=warnings_of(rows, found),
    )
