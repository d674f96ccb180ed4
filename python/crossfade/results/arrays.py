"""Datasets of a plan's rows: where the points of a sweep lie on its axes, and what is known of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from crossfade.results.beside import AT_LEAST, BESIDE, RUNS
from crossfade.results.grids import Grid
from crossfade.results.planresults import attributes_of, published
from crossfade.results.planrows import Estimates, PlanRows

Variable = tuple[tuple[str, ...], NDArray[Any], dict[str, str]]
"""Dimensions, values and attributes."""


def of_estimates(rows: PlanRows) -> xr.Dataset:
    """Means and their intervals; see :func:`crossfade.open_results`."""
    frame, found = _Frame(rows), rows.estimates()
    variables: dict[str, Variable] = {}
    for metric in published(rows):
        variables[metric.name] = frame.variable(found.means[:, metric.column], metric.unit, metric.long_name)
        for end, array in found.beside(metric.column).items():
            unit = "1" if end in (RUNS, AT_LEAST) else metric.unit
            about = f"{BESIDE[end]} {metric.long_name}"
            variables[f"{metric.name}{end}"] = frame.variable(array[:, metric.column], unit, about)
    return frame.dataset(variables, found)


def per_run(rows: PlanRows) -> xr.Dataset:
    """The value of every run that counts; see :func:`crossfade.open_results`."""
    frame, found = _Frame(rows), rows.estimates([rows.stop_metric])
    counts = rows.place < found.rows[rows.group]
    runs = int(rows.run[counts].max(initial=-1)) + 1
    cell = (rows.group * runs + rows.run)[counts]
    variables: dict[str, Variable] = {}
    for metric in published(rows):
        values = np.full(rows.groups * runs, np.nan)
        values[cell] = rows.values[counts, metric.column]
        variables[metric.name] = frame.variable(
            values.reshape(rows.groups, runs), metric.unit, metric.long_name
        )
    return frame.dataset(variables, found, runs)


class _Frame:
    """The coordinates of a dataset, and where the groups of a plan lie in it."""

    def __init__(self, rows: PlanRows) -> None:
        self._rows = rows
        description = rows.plan.description
        self._grid = Grid.of(description["axes"], description["points"])
        number = {id: i for i, id in enumerate(rows.points)}
        self._cells = np.array([number[id] for id in self._grid.points])
        self._axes = tuple(dimension.name for dimension in self._grid.dimensions)
        # A whole table of the scenario may be an axis: the table "run" too.
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

    def dataset(
        self, variables: dict[str, Variable], found: Estimates, runs: int | None = None
    ) -> xr.Dataset:
        """The dataset of these variables, and of what is known of each group."""
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
        if self._rows.is_adaptive:
            variables["precise"] = self.variable(found.precise, "", "whether the precision is reached")
        if self._rows.failures:
            texts = [self._rows.failures.get(group, "") for group in range(self._rows.groups)]
            variables["failure"] = self.variable(np.array(texts), "", "why there are no values")
        return xr.Dataset(variables, coordinates, attributes_of(self._rows, found))
