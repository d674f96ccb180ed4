"""Results of a run: the points of a scenario, as a table, a dataset, JSON and a figure."""

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

# The number of a row, beside its columns.
PLACE = " "
# More lines are for a figure.
MOST_LINES = 40
# Metrics that are drawn where nobody names one.
DRAWN = ("goodput_bps", "throughput_per_slot")


@dataclass
class _Overview:
    """Warnings of all points, each with the number of points that gave it, and of all points."""

    warnings: dict[str, int]
    number: int
    values: dict[tuple[str, str], tuple[str, array[float]]]


@dataclass(frozen=True)
class Results:
    """All points of a scenario, in the order of its sweep; each by every method, in the order asked for.

    Attributes
    ----------
    title : str
        The scenario's own words.
    methods : list of str
        The methods.
    seed : int
        Seed of all random numbers.
    points : sequence of Point
        A point for each combination of the axes and each method.
    provenance : dict
        ``version``, ``results_version`` and ``overrides``: what it takes to make them again.
    complete : bool
        Whether no point and no run is missing.
    axes : list of str
        Dotted keys of the axes.
    file_warnings : list of str
        Warnings of the results file that the results come from, whose points have none of their own.
    figure : Wanted
        What the scenario says about its figure.

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
        """Number of points, their methods and axes."""
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
        """View in a notebook: all metrics of a single point, the main ones of a sweep (up to 40 lines)."""
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
        """A metric, the unit in which it is short, and its estimate at each point in that."""
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
        """Every warning once, with the number of points that gave it where there are several."""
        if self.file_warnings:
            return self.file_warnings
        where, total = self._overview.warnings, self._overview.number
        return [
            f"{text} ({points} of {total} points)" if self.axes else text for text, points in where.items()
        ]

    @property
    def main_values(self) -> dict[tuple[str, str], tuple[str, array[float]]]:
        """The unit and the values of main metrics wherever they are defined, by metric and method."""
        return self._overview.values

    @cached_property
    def _overview(self) -> _Overview:
        """Derived values of all points, made once, since very many are read from a file."""
        found = _Overview({}, 0, {})
        place: dict[str, Any] | None = None
        told: set[str] = set()
        for point in self.points:
            # The methods of a place stand together.
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
        """The points of one method alone.

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
        """The points whose row of :meth:`table` has some values.

        Parameters
        ----------
        conditions : mapping
            Columns and values (``{"tcp.variant": "reno", "runs>=": 10}``); a name that ends with ``<``,
            ``<=``, ``>`` or ``>=`` compares.

        Returns
        -------
        Results

        Raises
        ------
        ResultsError
            If no point is left; the message names the values that there are.
        """
        table = self.table()
        numbered = Table([*table.columns, PLACE], [[*row, place] for place, row in enumerate(table.rows)])
        places = rows_where(numbered, conditions).cells(PLACE)
        return replace(self, points=[self.points[int(place or 0)] for place in places])

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics of the whole that at least one point has."""
        return list(dict.fromkeys(name for point in self.points for name in point.metrics))

    @cached_property
    def main_metrics(self) -> list[str]:
        """The metrics that a person sees first, where runs count in slots and where they last seconds."""
        runs = (point.scenario.get("run") or {} for point in self.points[:1])
        in_slots = any("slots" in str(run.get("duration")) or run.get("segments") for run in runs)
        return [*(MAIN_METRICS if in_slots else MAIN_METRICS_OF_SECONDS)]

    @property
    def parts(self) -> list[str]:
        """The names of the metrics of flows and links that at least one point has."""
        return list(dict.fromkeys(name for point in self.points for name in point.parts))

    def table(self, only: Sequence[str] | None = None) -> Table:
        """A row a point and method: axes, ``method``, ``runs``, each metric and its interval.

        Parameters
        ----------
        only : sequence of str, optional
            The metrics that are wanted, in order (default: all).

        Returns
        -------
        Table
            The interval is ``NAME_ci95``, ``NAME_ci95_low`` and ``NAME_ci95_high``, and ``NAME_runs`` the
            number of runs that the metric is of; ``NAME_at_least``, where some value is a lower bound, is 1
            there. See :class:`Estimate`.

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
        """Give the table that a figure of some metrics is drawn of.

        Parameters
        ----------
        y : sequence of str, optional
            Metrics that are drawn (default: those of the scenario's figure, or the usual ones).

        Returns
        -------
        Table
            Where points have too few runs for an interval, ``NAME_each_run`` has the value in each.
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
        """The columns of metrics: each with the endings of what stands beside it."""
        bounds = self.bounds
        return [
            (name, end)
            for name in names
            for end in ("", *INTERVAL, RUNS, *([AT_LEAST] if name in bounds else []))
        ]

    @property
    def bounds(self) -> set[str]:
        """The metrics that are a lower bound at some point."""
        return {
            name
            for point in self.points
            for name, estimate in (point.metrics | point.parts).items()
            if estimate.at_least
        }

    def chosen(self, names: Sequence[str]) -> list[str]:
        """The metrics of these names.

        Parameters
        ----------
        names : sequence of str
            Names of metrics.

        Returns
        -------
        list of str
            The names.

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
            A value for each point and method; of float (NaN where there is none) where it is numeric, else of
            object.

        Raises
        ------
        ResultsError
            If there is no such column.
        """
        return self.table().column(name)

    def to_csv(self) -> str:
        """:meth:`table` as CSV text; numbers read back exactly.

        Returns
        -------
        str
            Lines of CSV, with names at first.
        """
        return self.table().to_csv()

    def to_pandas(self) -> Any:
        """:meth:`table` as a DataFrame.

        Returns
        -------
        pandas.DataFrame
            A row a point and method; numbers that there are not are NaN.
        """
        import pandas as pd  # comes with xarray, and takes a while to load

        table = self.table()
        numbers = table.columns[len(self.axes) + 2 :]
        return pd.DataFrame(table.rows, columns=table.columns).astype(dict.fromkeys(numbers, float))

    def to_xarray(self, *, layout: str = "metrics") -> xr.Dataset:
        """Give the results as an xarray dataset.

        Parameters
        ----------
        layout
            As in :func:`crossfade.open_results`.

        Returns
        -------
        xarray.Dataset
            As :func:`crossfade.open_results` describes it. Attributes: title, seed; warnings, a line each;
            ``method`` where there is but one.

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
        """The metrics of nodes, users, stations and Wi-Fi links, by their names in rows, with their units."""
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
        """Data that :meth:`to_json` writes.

        Returns
        -------
        list of dict
            A dictionary for each point and method; ``crossfade schema --results`` describes it.
        """
        return [point_object(point, self.seed, self.provenance) for point in self.points]

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON text; numbers read back exactly.

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
            PNG, PDF or SVG by its ending; nothing is written without it.
        width, font_size, ax
            As in :func:`crossfade.plot`.
        **options
            Others of :func:`crossfade.plot`.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; a notebook shows it.

        Raises
        ------
        ResultsError
            If there is nothing to draw, or a column does not exist.
        """
        file = None if path is None else fspath(path)
        page = Page(width or "", font_size, ax)
        table = self.drawn(column_list(options.get("y")))
        return plot_wanted(table, file, self.figure, width=page, **{"title": self.title, **options})
