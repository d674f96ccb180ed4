"""What a run gives back: points, each with its metrics and their intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from crossfade.rows import Row
from crossfade.tables import Cell, Table

if TYPE_CHECKING:
    import numpy as np

Metrics = dict[str, "Estimate"]


@dataclass(frozen=True)
class Estimate:
    """One metric of one point.

    ``value`` is the mean over the runs (None where the metric is undefined, such as a mean over no packets);
    ``ci95`` the half-width of its two-sided 95 % Student interval, None where there are not two runs or the
    method is exact.
    """

    value: float | None
    ci95: float | None
    n: int
    method: str
    unit: str

    def __str__(self) -> str:
        return format_estimate(self.value, self.ci95)


@dataclass(frozen=True)
class Point:
    """One point of a sweep (the only one where nothing is swept), by one method.

    ``metrics`` are those of the whole, ``parts`` those of named flows and of links, as ``cubic.goodput_bps``
    or ``reverse.queue_drops``. ``runs`` is 0 where a method has no randomness. ``loss_windows`` are, by exact
    analysis, the shares of first losses that find a window of 1, 2, ... segments. ``rows`` are the runs that
    count, in order.
    """

    axes: dict[str, Any]
    scenario: dict[str, Any]
    method: str
    runs: int
    metrics: Metrics
    parts: Metrics
    flows: list[dict[str, Any]]
    links: list[dict[str, Any]]
    warnings: list[str]
    loss_windows: list[float]
    rows: list[Row]

    def value(self, name: str) -> float:
        """A metric's value, NaN where it is undefined or the method does not give it."""
        found = self.metrics.get(name, self.parts.get(name))
        return math.nan if found is None or found.value is None else found.value

    def samples(self, name: str) -> list[float]:
        """A metric in each run, in order (NaN where it is undefined).

        Run r of every point draws the same random numbers: compare two points run by run.
        """
        plain = [row.value(name) for row in self.rows]
        return plain if not all(map(math.isnan, plain)) else [row.value(f"flow:{name}") for row in self.rows]


@dataclass(frozen=True)
class Results:
    """All points of a scenario, in the order of its sweep; each by every method, in the order asked for."""

    title: str
    methods: list[str]
    seed: int
    points: list[Point]
    provenance: dict[str, Any]
    complete: bool = True
    axes: list[str] = field(default_factory=list)
    file_warnings: list[str] = field(default_factory=list)
    """Those of the results file, where the results come from one: its points have none of their own."""

    @property
    def warnings(self) -> list[str]:
        """Every warning once, with the number of points that gave it where there are several."""
        if self.file_warnings:
            return self.file_warnings
        where: dict[str, set[str]] = {}
        for point in self.points:
            for text in point.warnings:
                where.setdefault(text, set()).add(json.dumps(point.axes))
        if not self.axes:
            return list(where)
        total = len({json.dumps(point.axes) for point in self.points})
        return [f"{text} ({len(points)} of {total} points)" for text, points in where.items()]

    def by_method(self, method: str) -> Results:
        """The points of one method alone."""
        points = [point for point in self.points if point.method == method]
        return replace(self, methods=[method], points=points)

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics of the whole that at least one point has."""
        return list(dict.fromkeys(name for point in self.points for name in point.metrics))

    @property
    def parts(self) -> list[str]:
        """The names of the metrics of flows and links that at least one point has."""
        return list(dict.fromkeys(name for point in self.points for name in point.parts))

    def table(self) -> Table:
        """A row a point and method: axes, ``method``, ``runs``, each metric and its ``NAME_ci95``."""
        columns = [*self.axes, "method", "runs"]
        names = [*self.metrics, *self.parts]
        columns += [column for name in names for column in (name, f"{name}_ci95")]
        return Table.of(columns, (self._record(point) for point in self.points))

    def _record(self, point: Point) -> dict[str, Cell]:
        record: dict[str, Cell] = {axis: label(point.axes[axis]) for axis in self.axes}
        record |= {"method": point.method, "runs": point.runs}
        for name, estimate in (point.metrics | point.parts).items():
            record |= {name: estimate.value, f"{name}_ci95": estimate.ci95}
        return record

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """One column of :meth:`table` as a numpy array."""
        return self.table().column(name)

    def to_csv(self) -> str:
        """:meth:`table` as CSV text; numbers read back exactly."""
        return self.table().to_csv()

    def to_dict(self) -> dict[str, Any] | list[dict[str, Any]]:
        """The object behind ``--json``, a list of them where there are several points or methods."""
        objects = [self._object(point) for point in self.points]
        return objects if self.axes or len(self.methods) > 1 else objects[0]

    def _object(self, point: Point) -> dict[str, Any]:
        return {
            "scenario": point.scenario,
            **({"axes": point.axes} if self.axes else {}),
            "method": point.method,
            "seed": self.seed,
            "runs": point.runs,
            "metrics": {
                name: {"value": metric.value, "ci95": metric.ci95, "unit": metric.unit}
                for name, metric in point.metrics.items()
            },
            "flows": point.flows,
            "links": point.links,
            **({"loss_windows": point.loss_windows} if point.loss_windows else {}),
            "warnings": point.warnings,
            "provenance": self.provenance,
        }

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON text; numbers read back exactly."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def plot(self, path: str | PathLike[str], **options: Any) -> None:
        """Draw the results to a file; ``options`` are those of :func:`crossfade.plot`."""
        from crossfade import api

        api.plot(self, path, **options)


def label(value: Any) -> Cell:
    """An axis value as one cell: a table of keys becomes ``markov fd_t=0.01``, a list its items."""
    if isinstance(value, Mapping):
        rest = [f"{key}={label(item)}" for key, item in value.items() if key != "model"]
        return " ".join([*([str(value["model"])] if "model" in value else []), *rest])
    if isinstance(value, list):
        return " ".join(str(label(item)) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, int | float | str):
        return value
    raise TypeError(f"no label for {value!r}")


def format_estimate(value: float | None, ci95: float | None) -> str:
    """A value for a person: as many digits as its interval is worth (two of the interval's own)."""
    if value is None:
        return "-"
    if ci95 is None:
        return f"{value:.6g}"
    if ci95 == 0.0:
        return f"{value:.6g} ± 0"
    decimals = max(0, 1 - _exponent(ci95))
    return f"{value:,.{decimals}f} ± {ci95:,.{decimals}f}" if decimals <= 9 else f"{value:.6g} ± {ci95:.2g}"


def _exponent(number: float) -> int:
    return int(f"{number:.1e}".split("e")[1])
