"""Figures of a table; equal tables give equal bytes.

Simulation is drawn as marks with 95 % intervals, exact analysis as lines, bounds as bands (those that a paper
prints as dotted lines), a formula as dashes. If a curve is only simulated, a thin line joins its marks to
guide the eye; it says nothing about values between them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

from crossfade.errors import CrossfadeWarning, ResultsError, ScenarioError
from crossfade.figures.axes import Axis, places_beside, scaled, x_axis, y_axis
from crossfade.figures.choice import Choice, choose, column_list, held_note, prepared, relabelled
from crossfade.figures.choice import where as rows_where
from crossfade.figures.curves import Curve, Part, curves
from crossfade.figures.drawing import Drawing, draw_curves, draw_legend, draw_legend_onto, settle_ticks
from crossfade.figures.style import (
    Onto,
    Width,
    check_plot_file,
    figure,
    height_beside,
    in_lines,
    looks,
    made,
    page_of,
    width_in_inches,
)
from crossfade.figures.wanted import OVER_TIME, Wanted
from crossfade.tables import Cell, Table
from crossfade.wording import curve_word, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text


@dataclass(frozen=True)
class Envelope:
    """Envelope of several curves: its places and values, and the places where the best curve changes."""

    xs: Sequence[float]
    ys: Sequence[float]
    changes: Sequence[float] = ()


INTERVALS = ["bars", "bands", "none"]
# Greatest number of panels that are large enough to read.
MOST_PANELS = 12
# Length in inches that a letter takes in a vertical label.
LETTER_IN = 0.065


def plot(
    table: Table,
    path: str | Path | None = None,
    *,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    panels: str | Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    title: str = "",
    log_x: bool | None = None,
    log_y: bool | None = None,
    intervals: str = "bars",
    markers: bool = True,
    width: Width | None = None,
    labels: Mapping[str, str] | None = None,
    envelope: Envelope | None = None,
) -> Figure:
    """Draw a table of results, as :func:`crossfade.plot` does."""
    file = None if path is None else Path(path)
    if file is not None:
        check_plot_file(file)
    if intervals not in INTERVALS:
        raise ScenarioError(f"intervals = {intervals}: must be one of {', '.join(INTERVALS)}")
    metrics: Sequence[str | None] = column_list(y) or [None]
    for metric in metrics:
        table = prepared(table, metric)
    table = rows_where(table, where or {})
    choice = choose(table, x, metrics[0], by, panels)
    if choice.held:
        warnings.warn(held_note(table, choice.held), CrossfadeWarning, stacklevel=2)
        table = rows_where(table, choice.held)
    across, table = x_axis(table, choice, log_x, labels or {})
    table = relabelled(table, [*choice.by, *choice.panels], labels or {})
    rows = [_row(table, replace(choice, y=metric or choice.y), log_y) for metric in metrics]
    keys = list(dict.fromkeys(key for row in rows for found in row.panels.values() for key, _ in found))
    beside = dict(zip(keys, places_beside(len(keys)), strict=True))
    look_of = dict(zip(keys, looks(keys), strict=True))
    methods = list(dict.fromkeys(part.method for row in rows for part in row.parts()))
    across_all = (
        [x for row in rows for part in row.parts() for x in map(float, part.xs)] if not across.words else []
    )
    span = (min(across_all, default=0.0) / across.factor, max(across_all, default=0.0) / across.factor)
    shown = [
        Panel(
            value,
            [(key, [scaled(part, across, row.axis, beside[key]) for part in parts]) for key, parts in found],
            Drawing(across, row.axis, choice.by, look_of, methods, intervals, markers, span),
        )
        for row in rows
        for value, found in row.panels.items()
    ]
    grid = Grid.of(choice.panels, shown, len(metrics), width)
    with figure(file, grid.height, grid.width) as drawn:
        if isinstance(drawn, Onto):
            _draw_onto(drawn, shown, title)
        else:
            _draw(drawn, shown, choice.panels, grid, title)
        if envelope is not None:
            axes = drawn.ax if isinstance(drawn, Onto) else drawn.axes[0]
            _shade(axes, envelope, across, rows[0].axis)
    return made(drawn)


def plot_wanted(
    table: Table,
    path: str | Path | None,
    wanted: Wanted,
    *,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    panels: str | Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    log_x: bool | None = None,
    log_y: bool | None = None,
    labels: Mapping[str, str] | None = None,
    **options: Any,
) -> Figure:
    """Draw a table as its scenario's ``figure`` says, except for the given options."""
    # A figure over time in the scenario does not apply to a figure of results.
    wanted = (Wanted() if wanted.of in OVER_TIME else wanted).over(table, x, y, by, panels, where)
    return plot(
        table,
        path,
        x=wanted.x,
        y=wanted.y,
        by=wanted.by,
        panels=wanted.panels,
        where=wanted.where,
        log_x=wanted.log_x if log_x is None and x is None else log_x,
        log_y=wanted.log_y if log_y is None and y is None else log_y,
        labels=wanted.labels | dict(labels or {}),
        **options,
    )


@dataclass(frozen=True)
class Row:
    """A metric of a figure: its y axis, and its curves in each panel, by the values of the panel."""

    axis: Axis
    panels: dict[tuple[Cell, ...], list[Curve]]

    def parts(self) -> list[Part]:
        """All parts of all curves of the metric."""
        return [part for found in self.panels.values() for _, parts in found for part in parts]


def _row(table: Table, choice: Choice, log_y: bool | None) -> Row:
    """Curves of a metric; :class:`ResultsError` if it has no value."""
    values = [[v for v in dict.fromkeys(table.cells(name)) if v is not None] for name in choice.panels]
    found: dict[tuple[Cell, ...], list[Curve]] = {
        key: curves(_rows_of(table, choice.panels, key), choice.x, choice.y, choice.by, choice.along)
        for key in product(*values)
    }
    row = Row(Axis(""), found)
    if not row.parts():
        raise ResultsError(f"nothing to draw: {choice.y} has no value in these rows")
    axis = y_axis(choice.y, row.parts(), log_y)
    if axis.is_log:
        _warn_of_zeros([value for part in row.parts() for value in part.ys])
    return replace(row, axis=axis)


def _rows_of(table: Table, names: Sequence[str], values: Sequence[Cell]) -> Table:
    """Rows of the table that belong to a panel."""
    places = [table.columns.index(name) for name in names]
    wanted = list(values)
    return Table(table.columns, [row for row in table.rows if [row[place] for place in places] == wanted])


@dataclass(frozen=True)
class Panel:
    """A panel of a figure: the values that it stands for, its curves, and how they are drawn."""

    values: tuple[Cell, ...]
    curves: list[Curve]
    drawing: Drawing


@dataclass(frozen=True)
class Grid:
    """Layout of panels, and size of the figure (``height`` times the usual height)."""

    rows: int
    columns: int
    metrics: int
    width: Width
    height: float

    @staticmethod
    def of(panels_by: Sequence[str], panels: Sequence[Panel], metrics: int, width: Width | None) -> Grid:
        """Layout of the panels. For one metric and one axis, as many are side by side as have room.

        Otherwise the first axis runs across, the second axis and metrics run down.
        """
        if len(panels) > MOST_PANELS:
            raise ResultsError(
                f"nothing to draw: {len(panels)} panels are too many (at most {MOST_PANELS}); "
                f"hold an axis (--where) or tell curves apart by it (--by)"
            )
        across = len(dict.fromkeys(panel.values[:1] for panel in panels))
        is_strict = metrics > 1 or len(panels_by) > 1
        page = page_of("" if width is None else width)
        if page.ax is not None and len(panels) > 1:
            raise ScenarioError(f"ax: holds one panel, and this figure has {len(panels)}")
        if page.width == "":
            page = replace(page, width="double" if is_strict and across > 1 else "single")
        width = page
        inches = width_in_inches(width)
        if len(panels) == 1:
            return Grid(1, 1, 1, width, 1.0)
        if is_strict:
            rows = len(panels) // across
        else:
            most = max(round(inches / 2.4), 1 if len(panels) <= 4 else 2)
            rows = -(-len(panels) // most)
            across = -(-len(panels) // rows)
        each = max(0.55 * inches / across, 1.4)
        return Grid(rows, across, metrics, width, (rows * each + 0.4) / height_beside(inches, page.scale))

    def in_order(self, panels: Sequence[Panel]) -> list[Panel]:
        """Panels line by line; of two axes that distinguish panels the first runs across."""
        if len(panels[0].values) < 2:
            return list(panels)
        down = len(panels) // (self.metrics * self.columns)
        return [
            panels[(metric * self.columns + column) * down + row]
            for metric in range(self.metrics)
            for row in range(down)
            for column in range(self.columns)
        ]


def _draw(figure: Figure, panels: Sequence[Panel], panels_by: Sequence[str], grid: Grid, title: str) -> None:
    """Draw the panels, their common labels, and the legend below them."""
    shared: Literal["all", "row"] = "all" if grid.metrics == 1 else "row"
    panels = grid.in_order(panels)
    places = list(figure.subplots(grid.rows, grid.columns, sharex=True, sharey=shared, squeeze=False).flat)
    used, unused = places[: len(panels)], places[len(panels) :]
    for axes, panel in zip(used, panels, strict=True):
        draw_curves(axes, panel.curves, panel.drawing)
        if panels_by:
            words = [curve_word(name, value) for name, value in zip(panels_by, panel.values, strict=True)]
            axes.set_title(", ".join(words), fontsize="medium", loc="left")
    for index, axes in enumerate(unused, start=len(panels)):
        axes.remove()
        used[index - grid.columns].tick_params(labelbottom=True)
    settle_ticks(used, panels[0].drawing)
    labels = _label(figure, used, panels, grid, title)
    every = [curve for panel in panels for curve in panel.curves]
    below = draw_legend(figure, used, every, panels[0].drawing)
    if labels is not None:
        below += 1.5 * labels[0].get_window_extent().height
    _keep_room(figure, below)
    if labels is not None:
        _centre(labels, figure, used)


def _draw_onto(onto: Onto, panels: Sequence[Panel], title: str) -> None:
    """Draw the only panel of a figure into Axes of the user."""
    (panel,) = panels
    axes, drawing = onto.ax, panel.drawing
    draw_curves(axes, panel.curves, drawing)
    settle_ticks([axes], drawing)
    axes.set_xlabel(drawing.x.label)
    axes.set_ylabel(drawing.y.label)
    if title:
        axes.set_title(typeset(title))
    draw_legend_onto(axes, panel.curves, drawing)


def _shade(axes: Axes, envelope: Envelope, x: Axis, y: Axis) -> None:
    """Shade the area below the envelope, and mark its changes."""
    xs, ys = (
        [value / axis.factor for value in values] for values, axis in ((envelope.xs, x), (envelope.ys, y))
    )
    bottom = axes.get_ylim()[0]
    axes.fill_between(xs, ys, bottom, color="0.5", alpha=0.15, linewidth=0.0, zorder=0.5)
    for change in envelope.changes:
        axes.axvline(change / x.factor, color="0.35", linewidth=0.8, linestyle=":", zorder=0.6)


def _label(
    figure: Figure, places: Sequence[Axes], panels: Sequence[Panel], grid: Grid, title: str
) -> tuple[Text, Text | None] | None:
    """Label the axes and the title of a figure; several panels share labels, which are returned.

    With several metrics each row of panels has its own y label.
    """
    drawing = panels[0].drawing
    if len(places) == 1:
        places[0].set_xlabel(drawing.x.label)
        places[0].set_ylabel(drawing.y.label)
        if title:
            places[0].set_title(in_lines(title, figure), fontsize="medium")
        return None
    if title:
        figure.suptitle(in_lines(title, figure), fontsize="medium")
    # Not a supxlabel, which would be at the bottom of the figure, where the legend is.
    across = figure.text(0.5, 0.5, drawing.x.label, fontsize="medium", va="top", ha="center")
    if grid.metrics == 1:
        return across, figure.supylabel(drawing.y.label, fontsize="medium")
    room = round(figure.get_figheight() / grid.rows / LETTER_IN)
    for axes, panel in list(zip(places, panels, strict=True))[:: grid.columns]:
        axes.set_ylabel(fill(panel.drawing.y.label, room))
    figure.align_ylabels()
    return across, None


def _keep_room(figure: Figure, height: float) -> None:
    """Make the figure higher by ``height`` dots, and keep them free below the panels."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if height:
        share = height / (figure.bbox.height + height)
        figure.set_figheight(figure.get_figheight() / (1.0 - share))
        engine = figure.get_layout_engine()
        assert isinstance(engine, ConstrainedLayoutEngine)
        engine.set(rect=(0.0, share, 1.0, 1.0 - share))


def _centre(labels: tuple[Text, Text | None], figure: Figure, panels: Sequence[Axes]) -> None:
    """Centre common labels on the panels, since the figure has a title and a legend too."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()
    around = Bbox.union([axes.get_position() for axes in panels])
    lowest = min(box.y0 for axes in panels if (box := axes.get_tightbbox()) is not None)
    across, up = labels
    across.set_position((0.5 * (around.x0 + around.x1), (lowest - 0.03 * figure.dpi) / figure.bbox.height))
    if up is not None:
        up.set_y(0.5 * (around.y0 + around.y1))


def _warn_of_zeros(values: Sequence[float]) -> None:
    zeros = sum(value <= 0.0 for value in values)
    if zeros:
        text = (
            f"{zeros} of {len(values)} values are 0 and have no place on the logarithmic y axis (--linear-y)"
        )
        warnings.warn(text, CrossfadeWarning, stacklevel=3)
