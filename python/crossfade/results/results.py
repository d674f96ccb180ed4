"""What a run gives back: points, each with its metrics and their intervals."""

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
from crossfade.results.rows import PREFIXES, Row, names_of
from crossfade.results.shown import ENDS, html_table, shown, shown_unit
from crossfade.tables import EACH_RUN, ENOUGH_RUNS, Cell, Table, format_estimate, label

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Metrics = dict[str, "Estimate"]

# The number of a row, beside its columns.
PLACE = " "
# More lines are for a figure.
MOST_LINES = 40
# Metrics that are drawn where nobody names one.
DRAWN = ("goodput_bps", "throughput_per_slot")


@dataclass(frozen=True)
class Estimate:
    """One metric of one point.

    Attributes
    ----------
    value : float or None
        Mean over the runs, in ``unit``; None where the metric is undefined, such as a mean over no packets.
    ci95 : float or None
        Half-width of its two-sided 95 % Student interval; None where there are not two runs, the method is
        exact, or events are too rare for it.
    low, high : float or None
        Ends of a 95 % interval that also covers rare events, shares at their ceiling and skewed runs; it is
        nowhere narrower than Student's, and stops where the metric can.
    n : int
        Number of runs in which the metric is defined; 0 where a method has no randomness.
    method : str
        Name of the method.
    unit : str
        The unit, ``1`` of a pure number.
    at_least : bool
        Whether it is a lower bound, since flows were unfinished when their runs ended: it has no ``high`` and
        no ``ci95``.

    Examples
    --------
    >>> import crossfade as cf
    >>> print(cf.store.Estimate(0.95, 0.01, 0.94, 0.96, 10, "simulation", "1"))
    0.950 ± 0.010
    """

    value: float | None
    ci95: float | None
    low: float | None
    high: float | None
    n: int
    method: str
    unit: str
    at_least: bool = False

    def __str__(self) -> str:
        return format_estimate(self.value, self.ci95, self.low, self.high, at_least=self.at_least)


@dataclass(frozen=True)
class Point:
    """One point of a sweep (the only one where nothing is swept), by one method.

    Attributes
    ----------
    axes : dict
        Values of the axes, by dotted key, as they were written.
    scenario : dict
        All keys with their defaults.
    method : str
        Name of the method.
    runs : int
        Number of runs; 0 where a method has no randomness.
    metrics : dict of str to Estimate
        Those of the whole.
    parts : dict of str to Estimate
        Those of named flows and of links, as ``cubic.goodput_bps`` or ``reverse.queue_drops``.
    flows, links, nodes, users : list of dict
        Each flow and link, each node of a mesh, each user of a cell.
    stations : list of dict
        Each station of a Wi-Fi network.
    warnings : list of str
        What to be careful about.
    loss_windows : list of float
        By exact analysis, the shares of first losses that find a window of 1, 2, ... segments.
    rows : sequence of Row
        The runs that count, in order; of more than 50,000 they are read whenever somebody goes through them.
    snr_db : float or None
        Of a physical layer rho, in dB; of a transport block its mean SNR.
    block : dict or None
        The transport block of method phy: bits, code blocks, symbols, modulation and code rate.
    residual, combined : list of Estimate
        By method phy the shares of frames that are not accepted after 1, 2, ... transmissions, and those of
        which the combination of so many receptions fails.

    Examples
    --------
    >>> import crossfade as cf
    >>> (point,) = cf.run("quickstart", point=0, methods=["formula"]).points
    >>> point.axes
    {'tcp.variant': 'tahoe', 'channel.p_e': 0.001}
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
    rows: Sequence[Row]
    nodes: list[dict[str, Any]] = field(default_factory=list)
    users: list[dict[str, Any]] = field(default_factory=list)
    stations: list[dict[str, Any]] = field(default_factory=list)
    snr_db: float | None = None
    block: dict[str, Any] | None = None
    residual: list[Estimate] = field(default_factory=list)
    combined: list[Estimate] = field(default_factory=list)

    def __repr__(self) -> str:
        where = ", ".join(f"{axis} = {label(value)}" for axis, value in self.axes.items())
        runs = f", {self.runs} runs" if self.runs else ""
        return visible(
            f"<Point {where + ': ' if where else ''}{self.method}{runs}, {len(self.metrics)} metrics>"
        )

    def value(self, name: str) -> float:
        """A metric's value.

        Parameters
        ----------
        name : str
            Name of the metric, also of a flow or link (``"cubic.goodput_bps"``).

        Returns
        -------
        float
            In the unit of the metric; NaN where it is undefined or the method does not give it.
        """
        found = self.metrics.get(name, self.parts.get(name))
        return math.nan if found is None or found.value is None else found.value

    def samples(self, name: str) -> list[float]:
        """A metric in each run.

        Run r of every point draws the same random numbers: compare two points run by run.

        Parameters
        ----------
        name : str
            Name of the metric, also of a flow or link.

        Returns
        -------
        list of float
            In the order of the runs; NaN where the metric is undefined.
        """
        held = {known for names in {row.names for row in self.rows} for known in names_of(names)}
        # In a row those of a flow, node or user (near.goodput_bps) say what it is.
        spelled = next((key for prefix in ("", *PREFIXES.values()) if (key := prefix + name) in held), name)
        return [row.value(spelled) for row in self.rows]


@dataclass
class _Overview:
    """What there is to say of all points: warnings, each with how many places gave it, and of how many."""

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
    """Warnings of the results file that the results come from, whose points have none of their own."""
    figure: Wanted = field(default_factory=Wanted)
    """What the scenario says about its figure."""

    def __repr__(self) -> str:
        return visible(f"<Results{f' {self.title!r}' if self.title else ''}: {self._size()}>")

    def _size(self) -> str:
        """How many points, by which methods, along which axes."""
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
        """What a notebook shows: of a single point all metrics, of a sweep the main ones (up to 40 lines)."""
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
        """What takes all points: of very many each has to be read from a file, and once is enough."""
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
            [_each_run(point, name) if is_few else None for name in sorted(names)]
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
        return record | {"method": point.method, "runs": point.runs} | _cells(point)

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
        cells = [{} if point is None else _cells(point) for point in found]
        for name, end in self._columns([*self.metrics, *self.parts]):
            values = [cell.get(f"{name}{end}") for cell in cells]
            frame.add_metric(name, end, [math.nan if cell is None else cell for cell in values], units[name])
        for name, unit in self._numbered().items():
            at_points = [{} if point is None else _numbered_of(point, name) for point in found]
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
        """The metrics of nodes, users and stations, by their names in rows, with their units."""
        found = {
            (place, number, f"{kind}:{part[kind]}.{name}"): value["unit"]
            for point in self.points
            for kind, parts in (("node", point.nodes), ("user", point.users), ("station", point.stations))
            for number, part in enumerate(parts)
            for place, (name, value) in enumerate(part.items())
            if isinstance(value, Mapping) and "unit" in value
        }
        return {name: found[place, number, name] for place, number, name in sorted(found)}

    def to_dict(self) -> list[dict[str, Any]]:
        """What :meth:`to_json` writes.

        Returns
        -------
        list of dict
            A dictionary for each point and method; ``crossfade schema --results`` describes it.
        """
        return [self._object(point) for point in self.points]

    def _object(self, point: Point) -> dict[str, Any]:
        def ends(metric: Estimate) -> dict[str, Any]:
            names = ("value", "ci95", "low", "high", "unit")
            found = {name: getattr(metric, name) for name in names} | {"runs": metric.n}
            return found | ({"at_least": True} if metric.at_least else {})

        return {
            "scenario": point.scenario,
            "axes": point.axes,
            "method": point.method,
            "seed": self.seed,
            "runs": point.runs,
            "metrics": {name: ends(metric) for name, metric in point.metrics.items()},
            "flows": point.flows,
            "links": point.links,
            **({"nodes": point.nodes} if point.nodes else {}),
            **({"users": point.users} if point.users else {}),
            **({"stations": point.stations} if point.stations else {}),
            **({"loss_windows": point.loss_windows} if point.loss_windows else {}),
            **({"residual": [ends(share) for share in point.residual]} if point.residual else {}),
            **({"combined": [ends(share) for share in point.combined]} if point.combined else {}),
            "warnings": point.warnings,
            "provenance": self.provenance,
        }

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


def _each_run(point: Point, name: str) -> str:
    """A metric in each run that has it, as words."""
    return " ".join(repr(value) for value in point.samples(name) if not math.isnan(value))


def _numbered_of(point: Point, name: str) -> Mapping[str, Any]:
    """A metric of a node, user or station (``user:0.user_goodput_bps``) at a point."""
    part, _, metric = name.rpartition(".")
    kind, _, number = part.partition(":")
    parts = {"node": point.nodes, "user": point.users, "station": point.stations}[kind]
    found: Mapping[str, Any] = next((of for of in parts if str(of[kind]) == number), {}).get(metric, {})
    return found


def _cells(point: Point) -> dict[str, float | None]:
    """The metrics of a point and their intervals, by column."""
    return {
        f"{name}{end}": cell
        for name, estimate in (point.metrics | point.parts).items()
        for end, cell in zip(
            ("", *INTERVAL, RUNS, AT_LEAST),
            (
                estimate.value,
                estimate.ci95,
                estimate.low,
                estimate.high,
                estimate.n,
                int(estimate.at_least),
            ),
            strict=True,
        )
    }
