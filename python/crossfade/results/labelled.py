"""Results in memory as labelled arrays, with the dimensions and names that those of a results file have."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from crossfade.results.beside import AT_LEAST, BESIDE, RUNS
from crossfade.results.grids import Grid
from crossfade.wording import metric_name


@dataclass(frozen=True)
class Solved:
    """What one method says of one point: ``cells`` are its metrics and their intervals, by column."""

    axes: Mapping[str, Any]
    method: str
    runs: int
    cells: Mapping[str, float | None]


@dataclass(frozen=True)
class Column:
    """A column of a metric: that of its values (``end`` is empty), or what stands beside them."""

    metric: str
    end: str
    unit: str

    @property
    def name(self) -> str:
        """The name of the array."""
        return f"{self.metric}{self.end}"

    def attributes(self) -> dict[str, str]:
        """The words and the unit of the array."""
        words = metric_name(self.metric)[0]
        words = f"{BESIDE[self.end]} {words}" if self.end else words
        unit = "1" if self.end in (RUNS, AT_LEAST) else self.unit
        return {"long_name": words} | ({"units": unit} if unit else {})


def dataset(
    axes: Sequence[str],
    methods: Sequence[str],
    found: Sequence[Solved],
    columns: Sequence[Column],
    attributes: Mapping[str, str | int],
) -> xr.Dataset:
    """The arrays of these columns over the axes, and over ``method`` where there are several; else NaN."""
    texts = [json.dumps(dict(solved.axes), sort_keys=True) for solved in found]
    points = {text: {"axes": solved.axes, "id": text} for text, solved in zip(texts, found, strict=True)}
    grid = Grid.of(axes, list(points.values()))
    at = {(text, solved.method): solved for text, solved in zip(texts, found, strict=True)}
    cells = [at.get((text, method)) for text in grid.points for method in methods]
    several = len(methods) > 1
    dimensions = [*(dimension.name for dimension in grid.dimensions), *(["method"] if several else [])]
    shape = (*grid.shape, *([len(methods)] if several else []))

    def array(values: Sequence[Any]) -> np.ndarray[Any, Any]:
        return np.array(values).reshape(shape)

    def of(column: str) -> list[float]:
        here = [None if solved is None else solved.cells.get(column) for solved in cells]
        return [np.nan if cell is None else cell for cell in here]

    variables: dict[str, Any] = {
        column.name: (dimensions, array(of(column.name)), column.attributes()) for column in columns
    }
    runs = array([0 if solved is None else solved.runs for solved in cells])
    variables["runs"] = (dimensions, runs, {"long_name": "number of runs", "units": "1"})
    coordinates: dict[str, Any] = {
        item.key: (dimension.name, item.values, {"units": item.unit} if item.unit else {})
        for dimension in grid.dimensions
        for item in dimension.coordinates
    }
    if several:
        coordinates["method"] = ("method", np.array(methods))
    return xr.Dataset(variables, coordinates, dict(attributes))
