"""Labelled arrays over the axes of a sweep: the one maker of datasets, for files and for memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from crossfade.results.beside import AT_LEAST, BESIDE, RUNS
from crossfade.results.grids import Grid
from crossfade.wording import metric_name


class Frame:
    """A dataset in the making: dimensions with their coordinates, and the variables so far.

    Values come by group: distinct points in the order given, each by every method. Axes are dimensions, so is
    ``method`` where there are several, and ``run`` of what has a second dimension.
    """

    def __init__(self, axes: Sequence[str], points: Sequence[dict[str, Any]], methods: Sequence[str]) -> None:
        self._grid, self._methods = Grid.of(axes, points), methods
        ids = list(dict.fromkeys(point["id"] for point in points))
        self.groups = [(id, method) for id in ids for method in methods]
        number = {id: i for i, id in enumerate(ids)}
        self._cells = np.array([number.get(id, -1) for id in self._grid.points])
        names = [dimension.name for dimension in self._grid.dimensions]
        self._dimensions = [*names, *(["method"] if len(methods) > 1 else [])]
        # A whole table of the scenario may be an axis: the table "run" too.
        self._run = "replication" if "run" in names else "run"
        self._variables: dict[str, tuple[list[str], NDArray[Any], dict[str, str]]] = {}

    def add_metric(self, name: str, end: str, of_groups: ArrayLike, unit: str) -> None:
        """The values of a metric (``end`` is empty), or what stands beside them."""
        words = metric_name(name)[0]
        unit = "1" if end in (RUNS, AT_LEAST) else unit
        self.add(f"{name}{end}", of_groups, unit, f"{BESIDE[end]} {words}" if end else words)

    def add(self, name: str, of_groups: ArrayLike, unit: str, long_name: str) -> None:
        """Values by group, and by run where there is a second dimension."""
        given = np.asarray(of_groups)
        methods, rest = len(self._methods), given.shape[1:]
        values = given.reshape(-1, methods, *rest)
        if (self._cells < 0).any():  # cells without a point
            nothing = np.nan if values.dtype.kind == "f" else 0
            values = np.append(values, np.full((1, *values.shape[1:]), nothing, values.dtype), axis=0)
        if not np.array_equal(self._cells, np.arange(len(values))):  # else it need not be copied
            values = values[self._cells]
        shape = (*self._grid.shape, *([methods] if methods > 1 else []), *rest)
        attributes = {"long_name": long_name} | ({"units": unit} if unit else {})
        dimensions = [*self._dimensions, *([self._run] if rest else [])]
        self._variables[name] = dimensions, values.reshape(shape), attributes

    def dataset(self, attributes: Mapping[str, str | int], runs: int | None = None) -> xr.Dataset:
        """The dataset of what was added."""
        coordinates: dict[str, Any] = {
            item.key: (dimension.name, item.values, {"units": item.unit} if item.unit else {})
            for dimension in self._grid.dimensions
            for item in dimension.coordinates
        }
        if len(self._methods) > 1:
            coordinates["method"] = ("method", np.array(self._methods))
        if runs is not None:
            coordinates[self._run] = (self._run, np.arange(runs))
        return xr.Dataset(self._variables, coordinates, dict(attributes))
