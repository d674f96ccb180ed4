"""Results of a scenario: its points, as a table, a dataset, JSON and a figure."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from crossfade._crossfade import MAIN_METRICS, MAIN_METRICS_OF_SECONDS
from crossfade.errors import ScenarioError, shortened, visible
from crossfade.figures.choice import column_list
from crossfade.figures.choice import where as rows_where
from crossfade.figures.plot import plot_wanted
from crossfade.figures.style import Page
from crossfade.figures.wanted import Wanted
from crossfade.results.beside import AT_LEAST, INTERVAL, RUNS
from crossfade.results.points import Point, cells_of, each_run, numbered_parts, part_metric, point_object
from crossfade.results.shown import ENDS, html_table, shown, shown_unit
from crossfade.tables import EACH_RUN, ENOUGH_RUNS, Cell, Table, label

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Name of a column with the number of each row.
PLACE = " "
# Greatest number of rows of a notebook's table.
MOST_LINES = 40
# Metrics that are drawn by default.
DRAWN = ("goodput_bps", "throughput_per_slot")


@dataclass
class _Overview:
    """Warnings with the number of points that gave each, number of points, and values of main metrics."""

    warnings: dict[str, int]
    number: int
    values: dict[tuple[str, str], tuple[str, array[float]]]


@dataclass(frozen=True)
class Results:
    """Results of all points of a scenario by each method, in the order of the sweep and of ``methods``.

    Attributes
    ----------
    title : str
        Title of the scenario.
    methods : list of str
        Names of the methods.
    seed : int
        Seed of all random streams.
    points : sequence of Point
        A point for each combination of axis values and each method.
    provenance : dict
        ``version``, ``results_version`` and ``overrides``, from which the results can be reproduced.
    complete : bool
        True if no point and no run is missing.
    axes : list of str
        Dotted keys of the axes.
    file_warnings : list of str
        Warnings of the results file from which the results were read; its points have no warnings.
    figure : Wanted
        Figure that the scenario describes in its table ``figure``.

    Examples
    --------
    >>> import crossfade as cf
    >>> results = cf.run("quickstart", methods=["formula"])
    >>> results.where({"tcp.variant": "reno", "channel.p_e<": 0.01})
    <Results 'Three TCPs over a slowly fading link': 4 points over tcp.variant, channel.p_e; formula>
    >>> results.to_pandas().shape[0]
    27
    """

    title: str
    methods: list[str]
    seed: int
    points: Sequence[Point]
    provenance: dict[str, Any]
    complete: bool = True
    axes: list[str] = field(default_factory=list)
    file_warnings: list[str] = field(default_factory=list)
    figure: Wanted = field(default_factory=Wanted)

    def __repr__(self) -> str:
        return visible(f"<Results{f' {self.title!r}' if self.title else ''}: {self._size()}>")

    def _size(self) -> str:
        """Text with the number of points, the axes, the methods and the number of runs."""
        number = len({json.dumps(point.axes) for point in self.points})
        runs = sorted({point.runs for point in self.points if point.runs})
        parts = [f"{number} point{'' if number == 1 else 's'}"]
        parts[0] += f" over {', '.join(self.axes)}" if self.axes else ""
        parts.append(", ".join(self.methods))
        parts += (
            ["1 run" if runs == [1] else f"{' to '.join(map(str, dict.fromkeys((runs[0], runs[-1]))))} runs"]
            if runs
            else []
        )
        return "; ".join([*parts, *([] if self.complete else ["incomplete"])])

    def _repr_html_(self) -> str:
        """HTML for a notebook: all metrics of a single point, or main ones of a sweep (up to 40 lines)."""
        title = f"{self.title} ({self._size()})" if self.title else self._size()
        if not self.axes:
            names = self.metrics
            rows = [[name, *cells, unit] for name, unit, cells in map(self._shown, names)]
            return html_table(title, ["metric", *self.methods, "unit"], rows)
        found = [self._shown(name) for name in self.main_metrics if name in self.metrics]
        found = found or [self._shown(name) for name in self.metrics[:4]]
        columns = [*self.axes, "method", "runs", *(f"{name}\n{unit}".strip() for name, unit, _ in found)]
        lines = [
            [*(str(label(point.axes[axis])) for axis in self.axes), point.method, str(point.runs or "-")]
            for point in self.points
        ]
        rows = [[*line, *(cells[i] for *_, cells in found)] for i, line in enumerate(lines[:MOST_LINES])]
        if (more := len(lines) - MOST_LINES) > 0:
            rows.append([f"... {more} more", *[""] * (len(columns) - 1)])
        return html_table(title, columns, rows)

    def _shown(self, name: str) -> tuple[str, str, list[str]]:
        """Name of a metric, the unit in which it is short, and its estimate at each point in that unit."""
        found = [point.metrics.get(name) for point in self.points]
        known = [vars(estimate) for estimate in found if estimate is not None]
        unit, factor = shown_unit(known)
        cells = [
            shown(None if estimate is None else vars(estimate), factor, point.runs)
            for point, estimate in zip(self.points, found, strict=True)
        ]
        return name, unit, cells

    @cached_property
    def warnings(self) -> list[str]:
        """Each warning once; for a sweep with the number of points that gave it."""
        if self.file_warnings:
            return self.file_warnings
        where, total = self._overview.warnings, self._overview.number
        return [
            f"{text} ({points} of {total} points)" if self.axes else text for text, points in where.items()
        ]

    @property
    def main_values(self) -> dict[tuple[str, str], tuple[str, array[float]]]:
        """Unit and values of the main metrics at all points that define them, by metric and method."""
        return self._overview.values

    @cached_property
    def _overview(self) -> _Overview:
        """Derived values of all points, computed in one pass since many points may be read from a file."""
        found = _Overview({}, 0, {})
        place: dict[str, Any] | None = None
        told: set[str] = set()
        for point in self.points:
            # The results of a point by several methods follow each other.
            if place != point.axes:
                place, found.number, told = point.axes, found.number + 1, set()
            for text in point.warnings:
                if text not in told:
                    told.add(text)
                    found.warnings[text] = found.warnings.get(text, 0) + 1
            for name in self.main_metrics:
                estimate = point.metrics.get(name)
                if estimate and estimate.value is not None:
                    values = found.values.setdefault((name, point.method), (estimate.unit, array("d")))
                    values[1].append(estimate.value)
        return found

    def by_method(self, method: str) -> Results:
        """Results of a single method.

        Parameters
        ----------
        method : str
            Name of the method.

        Returns
        -------
        Results
        """
        points = [point for point in self.points if point.method == method]
        return replace(self, methods=[method], points=points)

    def where(self, conditions: Mapping[str, Any]) -> Results:
        """Results of the points whose row of :meth:`table` meets conditions.

        Parameters
        ----------
        conditions : mapping
            Values by column (``{"tcp.variant": "reno", "runs>=": 10}``); a column name that ends with ``<``,
            ``<=``, ``>`` or ``>=`` compares numbers.

        Returns
        -------
        Results

        Raises
        ------
        ResultsError
            If no point is left; the message names the values of the columns.
        """
        table = self.table()
        numbered = Table([*table.columns, PLACE], [[*row, place] for place, row in enumerate(table.rows)])
        places = rows_where(numbered, conditions).cells(PLACE)
        return replace(self, points=[self.points[int(place or 0)] for place in places])

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics of the whole network that at least one point has."""
        return list(dict.fromkeys(name for point in self.points for name in point.metrics))

    @cached_property
    def main_metrics(self) -> list[str]:
        """Metrics of the first columns of tables; they differ for runs measured in slots and in seconds."""
        runs = (point.scenario.get("run") or {} for point in self.points[:1])
        in_slots = any("slots" in str(run.get("duration")) or run.get("segments") for run in runs)
        return [*(MAIN_METRICS if in_slots else MAIN_METRICS_OF_SECONDS)]

    @property
    def parts(self) -> list[str]:
        """Names of the metrics of flows and links that at least one point has."""
        return list(dict.fromkeys(name for point in self.points for name in point.parts))

    def table(self, only: Sequence[str] | None = None) -> Table:
        """Table with a row for each point and method: axes, ``method``, ``runs``, metrics and intervals.

        Parameters
        ----------
        only : sequence of str, optional
            Names of the metrics, in order (default: all).

        Returns
        -------
        Table
            Columns ``NAME_ci95``, ``NAME_ci95_low`` and ``NAME_ci95_high`` have the interval of a metric (see
            :class:`Estimate`), ``NAME_runs`` the number of runs that define it. If some value is a lower
            bound, ``NAME_at_least`` is 1 for lower bounds.

        Raises
        ------
        ScenarioError
            If there is no such metric.
        """
        columns = [*self.axes, "method", "runs"]
        names = self.chosen(only) if only else [*self.metrics, *self.parts]
        columns += [f"{name}{end}" for name, end in self._columns(names)]
        return Table.of(columns, (self._record(point) for point in self.points))

    def drawn(self, y: Sequence[str] | None = None) -> Table:
        """Table from which a figure of some metrics is drawn.

        Parameters
        ----------
        y : sequence of str, optional
            Names of the metrics (default: those of the scenario's figure, or of any figure).

        Returns
        -------
        Table
            Table of :meth:`table`. For points with too few runs for an interval, ``NAME_each_run`` has the
            value of each run.
        """
        table = self.table()
        few = [1 < point.runs < ENOUGH_RUNS for point in self.points]
        if not any(few):
            return table
        names = {*(y or []), *(self.figure.y or []), *DRAWN} & {*self.metrics, *self.parts}
        cells = [
            [each_run(point, name) if is_few else None for name in sorted(names)]
            for point, is_few in zip(self.points, few, strict=True)
        ]
        columns = [*table.columns, *(f"{name}{EACH_RUN}" for name in sorted(names))]
        return Table(columns, [[*row, *more] for row, more in zip(table.rows, cells, strict=True)])

    def _columns(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Columns of some metrics as pairs: name of the metric, and ending of the column."""
        bounds = self.bounds
        return [
            (name, end)
            for name in names
            for end in ("", *INTERVAL, RUNS, *([AT_LEAST] if name in bounds else []))
        ]

    @property
    def bounds(self) -> set[str]:
        """Names of the metrics that are a lower bound at some point."""
        return {
            name
            for point in self.points
            for name, estimate in (point.metrics | point.parts).items()
            if estimate.at_least
        }

    def chosen(self, names: Sequence[str]) -> list[str]:
        """Check the names of metrics.

        Parameters
        ----------
        names : sequence of str
            Names of metrics.

        Returns
        -------
        list of str
            The names, unchanged.

        Raises
        ------
        ScenarioError
            If no point has one of them.
        """
        known = {*self.metrics, *self.parts}
        for name in names:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(sorted(known))}"
                raise ScenarioError(
                    f"{shortened(name)}: these results have no such metric ({shortened(hint)})"
                )
        return list(names)

    def _record(self, point: Point) -> dict[str, Cell]:
        record: dict[str, Cell] = {axis: label(point.axes[axis]) for axis in self.axes}
        return record | {"method": point.method, "runs": point.runs} | cells_of(point)

    def column(self, name: str) -> np.ndarray[Any, Any]:
        """One column of :meth:`table`.

        Parameters
        ----------
        name : str
            Name of the column.

        Returns
        -------
        numpy.ndarray
            A value for each point and method: floats (NaN for an empty cell) if the column is numeric,
            otherwise objects.

        Raises
        ------
        ResultsError
            If there is no such column.
        """
        return self.table().column(name)

    def to_csv(self) -> str:
        """The table of :meth:`table` as CSV text; numbers read back exactly.

        Returns
        -------
        str
            Lines of CSV, the first with the names of the columns.
        """
        return self.table().to_csv()

    def to_pandas(self) -> Any:
        """The table of :meth:`table` as a DataFrame of pandas.

        Returns
        -------
        pandas.DataFrame
            A row for each point and method; missing numbers are NaN.
        """
        import pandas as pd  # comes with xarray, and takes a while to load

        table = self.table()
        numbers = table.columns[len(self.axes) + 2 :]
        return pd.DataFrame(table.rows, columns=table.columns).astype(dict.fromkeys(numbers, float))

    def to_xarray(self, *, layout: str = "metrics") -> xr.Dataset:
        """Results as an xarray dataset.

        Parameters
        ----------
        layout
            As in :func:`crossfade.open_results`.

        Returns
        -------
        xarray.Dataset
            Dataset as :func:`crossfade.open_results` describes it. Attributes: title, seed, warnings (a line
            each), and ``method`` if there is only one.

        Examples
        --------
        >>> import crossfade as cf
        >>> data = cf.run("quickstart", methods=["formula"]).to_xarray()
        >>> data["goodput_bps"].sel(variant="reno").dims
        ('p_e',)
        """
        from crossfade.results.labelled import Frame, is_wide  # here: numpy and xarray take a while to start

        wide = is_wide(layout)
        units = {
            name: estimate.unit
            for point in self.points
            for name, estimate in (point.metrics | point.parts).items()
        }
        at = {(json.dumps(point.axes, sort_keys=True), point.method): point for point in self.points}
        points = {id: {"axes": point.axes, "id": id} for (id, _), point in at.items()}
        frame = Frame(self.axes, list(points.values()), self.methods)
        found = [at.get(group) for group in frame.groups]
        cells = [{} if point is None else cells_of(point) for point in found]
        for name, end in self._columns([*self.metrics, *self.parts]):
            values = [cell.get(f"{name}{end}") for cell in cells]
            frame.add_metric(name, end, [math.nan if cell is None else cell for cell in values], units[name])
        for name, unit in self._numbered().items():
            at_points = [{} if point is None else part_metric(point, name) for point in found]
            for end, key in zip(("", *INTERVAL, RUNS), (*ENDS, "runs"), strict=True):
                values = [estimate.get(key) for estimate in at_points]
                frame.add_metric(name, end, [math.nan if cell is None else cell for cell in values], unit)
        frame.add("runs", [0 if point is None else point.runs for point in found], "1", "number of runs")
        attributes: dict[str, str | int] = {
            "title": self.title,
            **({"method": self.methods[0]} if len(self.methods) == 1 else {}),
            "seed": self.seed,
            "warnings": "\n".join(self.warnings),
        }
        return frame.wide(attributes) if wide else frame.dataset(attributes)

    def _numbered(self) -> dict[str, str]:
        """Names (as in rows) and units of the metrics of nodes, users, stations and Wi-Fi links."""
        found = {
            (place, number, f"{kind}:{part[kind]}.{name}"): value["unit"]
            for point in self.points
            for kind, parts in numbered_parts(point).items()
            for number, part in enumerate(parts)
            for place, (name, value) in enumerate(part.items())
            if isinstance(value, Mapping) and "unit" in value
        }
        return {name: found[place, number, name] for place, number, name in sorted(found)}

    def to_dict(self) -> list[dict[str, Any]]:
        """Results as the dictionaries that :meth:`to_json` writes.

        Returns
        -------
        list of dict
            A dictionary for each point and method; ``crossfade schema --results`` describes it.
        """
        return [point_object(point, self.seed, self.provenance) for point in self.points]

    def to_json(self) -> str:
        """The list of :meth:`to_dict` as JSON text; numbers read back exactly.

        Returns
        -------
        str
            JSON text.
        """
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        *,
        width: str | float | None = None,
        font_size: float | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Figure:
        """Draw the results.

        Parameters
        ----------
        path : path, optional
            File to write: PNG, PDF or SVG by its ending (default: none).
        width, font_size, ax
            Options of :func:`crossfade.plot` with the same names.
        **options
            Further options of :func:`crossfade.plot`.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook shows.

        Raises
        ------
        ResultsError
            If there is nothing to draw, or a column does not exist.
        """
        file = None if path is None else fspath(path)
        page = Page(width or "", font_size, ax)
        table = self.drawn(column_list(options.get("y")))
        return plot_wanted(table, file, self.figure, width=page, **{"title": self.title, **options})
