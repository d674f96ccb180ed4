"""Labelled arrays (xarray) over the axes of a sweep, made from files and from memory.

There are two layouts. In the default one (:meth:`Frame.dataset`) each metric is one variable, axes have short
names, and flows, links, nodes, users, stations, Wi-Fi links and the ends of intervals are dimensions. In the
wide one (:meth:`Frame.wide`), which NetCDF and MATLAB files have, each column of a table is a variable.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from crossfade.errors import ResultsError, shortened
from crossfade.results.beside import AT_LEAST, BESIDE, INTERVAL, RUNS
from crossfade.results.grids import Grid
from crossfade.results.metrics import metrics as metrics_there
from crossfade.results.rows import LINKS, NUMBERED
from crossfade.wording import axis_name, metric_name

Variable = tuple[list[str], NDArray[Any], dict[str, str]]
BOUNDS = ("low", "high", "ci95")
"""Labels of the dimension ``bound``: ends of the 95 % interval, and half-width of Student's interval."""
KINDS = ("flow", "link", "node", "user", "station", "wlan_link")
TAKEN = {"method", "methods", "run", "replication", "bound", "metric", "unit", *KINDS}


class Frame:
    """Builder of a dataset: its dimensions with their coordinates, and its variables so far.

    Values are given by group: distinct points in their order, each by every method. Dimensions are the axes,
    ``method`` if there are several, and ``run`` for values with a second dimension.
    """

    def __init__(self, axes: Sequence[str], points: Sequence[dict[str, Any]], methods: Sequence[str]) -> None:
        self._grid, self._methods = Grid.of(axes, points), methods
        ids = list(dict.fromkeys(point["id"] for point in points))
        self.groups = [(id, method) for id in ids for method in methods]
        number = {id: i for i, id in enumerate(ids)}
        self._cells = np.array([number.get(id, -1) for id in self._grid.points])
        names = [dimension.name for dimension in self._grid.dimensions]
        self._dimensions = [*names, *(["method"] if len(methods) > 1 else [])]
        # The table "run" of the scenario may be an axis itself.
        self._run = "replication" if "run" in names else "run"
        self._variables: dict[str, Variable] = {}
        # Columns of each metric, by the ending of their names.
        self._metrics: dict[str, dict[str, Variable]] = {}

    def add_metric(self, name: str, end: str, of_groups: ArrayLike, unit: str) -> None:
        """Add the values of a metric, or those of the column beside it with the ending ``end``, by group."""
        words = metric_name(name)[0]
        unit = "1" if end in (RUNS, AT_LEAST) else unit
        long_name = f"{BESIDE[end]} {words}" if end else words
        self._metrics.setdefault(name, {})[end] = self._variable(of_groups, unit, long_name)

    def add(self, name: str, of_groups: ArrayLike, unit: str, long_name: str) -> None:
        """Add a variable with a value by group, or by group and run for a second dimension."""
        self._variables[name] = self._variable(of_groups, unit, long_name)

    def _variable(self, of_groups: ArrayLike, unit: str, long_name: str) -> Variable:
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
        return dimensions, values.reshape(shape), attributes

    def wide(self, attributes: Mapping[str, str | int], runs: int | None = None) -> xr.Dataset:
        """Dataset in the wide layout: a variable for each column of a table; axes have dotted keys."""
        columns = {
            f"{name}{end}": variable
            for name, beside in self._metrics.items()
            if not name.startswith(NUMBERED)  # too many for a table
            for end, variable in beside.items()
        }
        return xr.Dataset(columns | self._variables, self._coordinates(runs), dict(attributes))

    def dataset(self, attributes: Mapping[str, str | int], runs: int | None = None) -> xr.Dataset:
        """Dataset in the default layout: a variable for each metric; flows and other parts are dimensions."""
        parts: dict[tuple[str, str], dict[str | int, str]] = {}
        known = [name for name, beside in self._metrics.items() if not np.isnan(beside[""][1]).all()]
        for name in known:
            kind, part, metric = _part(name)
            parts.setdefault((kind, metric), {})[part] = name
        there: dict[str, list[str | int]] = {kind: [] for kind in KINDS}
        for name in known:
            kind, part, _ = _part(name)
            if kind and part not in there[kind]:
                there[kind].append(part)
        variables: dict[str, Variable] = {}
        for (kind, metric), found in parts.items():
            name = f"{metric}_by_{kind}" if kind else metric
            variables[name] = self._beside("", found, kind, there)
        coordinates = self._coordinates(runs)
        coordinates |= {kind: (kind, np.array(names)) for kind, names in there.items() if names}
        if any(set(INTERVAL) <= self._metrics[name].keys() for name in known):
            metrics = sorted({metric for _, metric in parts}, key=_rank)
            of = {_part(name)[2]: self._metrics[name][""][2] for name in known}
            units = [of[metric].get("units", "") for metric in metrics]
            coordinates |= {"metric": ("metric", np.array(metrics)), "unit": ("metric", np.array(units))}
            coordinates["bound"] = ("bound", np.array(BOUNDS))
            for kind in ("", *KINDS):
                of_kind = {metric: found for (of, metric), found in parts.items() if of == kind}
                if of_kind:
                    variables |= self._intervals(kind, metrics, of_kind, there)
        names = self._short_names({*variables, *self._variables})
        if "method" in coordinates:
            # ``sel`` has a keyword ``method``, for which it would take the value.
            names["method"] = "methods"
        made = xr.Dataset(variables | self._variables, coordinates, dict(attributes)).rename(names)
        for key, name in names.items() - {("method", "methods")}:
            made[name].attrs |= {"long_name": axis_name(key)[0], "key": key}
        return made

    def _beside(
        self, end: str, found: Mapping[str | int, str], kind: str, there: Mapping[str, Sequence[str | int]]
    ) -> Variable:
        """Values of a metric along the dimension of a kind of parts; unchanged for the whole network."""
        dimensions, values, attributes = self._metrics[next(iter(found.values()))][end]
        if not kind:
            return dimensions, values, attributes
        nothing = np.full(values.shape, np.nan)
        each = [self._metrics[found[part]][end][1] if part in found else nothing for part in there[kind]]
        # The title of a metric of a part ends with the part ("Packets dropped by the queue, reverse").
        words = metric_name(_part(next(iter(found.values())))[2])[0]
        at = len(self._dimensions)
        return (
            [*dimensions[:at], kind, *dimensions[at:]],
            np.stack(each, axis=at),
            attributes | {"long_name": words},
        )

    def _intervals(
        self,
        kind: str,
        metrics: Sequence[str],
        found: Mapping[str, Mapping[str | int, str]],
        there: Mapping[str, Sequence[str | int]],
    ) -> dict[str, Variable]:
        """Variables with the intervals of all metrics, their numbers of runs, and flags of lower bounds."""
        ends = {f"_ci95_{name}" if name != "ci95" else "_ci95": place for place, name in enumerate(BOUNDS)}
        first = self._beside("", next(iter(found.values())), kind, there)
        dimensions, shape = first[0], first[1].shape
        interval = np.full((len(metrics), *shape, len(BOUNDS)), np.nan)
        defined, at_least = (np.zeros((len(metrics), *shape), kind) for kind in (int, bool))
        for place, metric in enumerate(metrics):
            if metric not in found:
                continue
            for end, bound in ends.items():
                interval[place, ..., bound] = self._beside(end, found[metric], kind, there)[1]
            defined[place] = np.nan_to_num(self._beside(RUNS, found[metric], kind, there)[1])
            if all(AT_LEAST in self._metrics[name] for name in found[metric].values()):
                at_least[place] = self._beside(AT_LEAST, found[metric], kind, there)[1] > 0
        by = f"_by_{kind}" if kind else ""
        along = ["metric", *dimensions]
        made: dict[str, Variable] = {
            f"interval{by}": ([*along, "bound"], interval, {"long_name": "95 % interval"}),
            f"defined{by}": (along, defined, {"long_name": "number of runs with a value", "units": "1"}),
        }
        if at_least.any():
            made[f"at_least{by}"] = along, at_least, {"long_name": "whether the value is a lower bound"}
        return made

    def _short_names(self, taken: set[str]) -> dict[str, str]:
        """Short names of keys: the last part if it is unique, otherwise all parts."""
        keys = [item.key for dimension in self._grid.dimensions for item in dimension.coordinates]
        last = [key.rsplit(".", 1)[-1] for key in keys]
        return {
            key: name if last.count(name) == 1 and name not in TAKEN | taken else key.replace(".", "_")
            for key, name in zip(keys, last, strict=True)
        }

    def _coordinates(self, runs: int | None) -> dict[str, Any]:
        coordinates: dict[str, Any] = {
            item.key: (dimension.name, item.values, {"units": item.unit} if item.unit else {})
            for dimension in self._grid.dimensions
            for item in dimension.coordinates
        }
        if len(self._methods) > 1:
            coordinates["method"] = ("method", np.array(self._methods))
        if runs is not None:
            coordinates[self._run] = (self._run, np.arange(runs))
        return coordinates


def _part(name: str) -> tuple[str, str | int, str]:
    """Kind and name of the part that a metric describes (empty for the whole), and the metric's own name."""
    part, _, metric = name.rpartition(".")
    if name.startswith(NUMBERED):
        kind, _, number = part.partition(":")
        return kind, int(number), metric
    return ("link" if part in LINKS else "flow") if part else "", part, metric


def _rank(metric: str) -> tuple[int, str]:
    """Sorting key of a metric in the order of tables; unknown metrics come last."""
    place = next((place for place, known in enumerate(metrics_there()) if known.name == metric), None)
    return (len(metrics_there()), metric) if place is None else (place, "")


def is_wide(layout: str) -> bool:
    """True if the deprecated layout ``wide`` is requested; :class:`ResultsError` for an unknown layout."""
    if layout not in ("metrics", "wide"):
        raise ResultsError(f"layout = {shortened(repr(layout))}: must be metrics or wide")
    if layout == "wide":
        warnings.warn(
            'layout="wide" goes with the next release: intervals lie along the dimension bound, flows and '
            "links along dimensions of their own",
            DeprecationWarning,
            stacklevel=3,
        )
    return layout == "wide"
