"""Figures of a table: the same bytes for the same table.

Simulation is drawn as marks with 95 % intervals, exact analysis as lines, bounds as bands (those a paper
prints as dotted lines), a formula as dashes. Where a curve is simulated only, a thin line joins its marks to
guide the eye; it states nothing between them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crossfade.errors import CrossfadeWarning, ResultsError, ScenarioError
from crossfade.figures.axes import Axis, places_beside, scaled, x_axis, y_axis
from crossfade.figures.choice import Choice, choose, held_note, prepared
from crossfade.figures.choice import where as rows_where
from crossfade.figures.curves import Curve, curves
from crossfade.figures.drawing import Drawing, draw_curves, draw_legend
from crossfade.figures.style import check_plot_file, figure, height_beside, looks, width_in_inches
from crossfade.tables import Cell, Table
from crossfade.wording import curve_word, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text


@dataclass(frozen=True)
class Envelope:
    """The best of several curves: its places and values, and where it changes from one curve to another."""

    xs: Sequence[float]
    ys: Sequence[float]
    changes: Sequence[float] = ()


INTERVALS = ["bars", "bands", "none"]
# More panels are too small to read.
MOST_PANELS = 12


def plot(
    table: Table,
    path: str,
    *,
    x: str | None = None,
    y: str | None = None,
    by: str | Sequence[str] | None = None,
    panels: str | None = None,
    where: Mapping[str, Any] | None = None,
    title: str = "",
    log_x: bool | None = None,
    log_y: bool | None = None,
    intervals: str = "bars",
    width: str | float = "single",
    envelope: Envelope | None = None,
) -> None:
    """Draw a table; see :func:`crossfade.plot`."""
    file = Path(path)
    check_plot_file(file)
    if intervals not in INTERVALS:
        raise ScenarioError(f"intervals = {intervals}: must be one of {', '.join(INTERVALS)}")
    table = rows_where(prepared(table, y), where or {})
    choice = choose(table, x, y, by, panels)
    if choice.held:
        warnings.warn(held_note(table, choice.held), CrossfadeWarning, stacklevel=2)
        table = rows_where(table, choice.held)
    across, table = x_axis(table, choice, log_x)
    groups = _by_panel(table, choice)
    parts = [part for group in groups.values() for _, found in group for part in found]
    if not parts:
        raise ResultsError(f"nothing to draw: {choice.y} has no value in these rows")
    up = y_axis(choice.y, parts, log_y)
    if up.is_log:
        _warn_of_zeros([value for part in parts for value in part.ys])
    keys = list(dict.fromkeys(key for group in groups.values() for key, _ in group))
    beside = dict(zip(keys, places_beside(len(keys)), strict=True))
    groups = {
        value: [(key, [scaled(part, across, up, beside[key]) for part in found]) for key, found in group]
        for value, group in groups.items()
    }
    drawing = Drawing(
        across,
        up,
        choice.by,
        dict(zip(keys, looks(keys), strict=True)),
        list(dict.fromkeys(part.method for part in parts)),
        intervals,
    )
    with figure(file, _grid(len(groups), width_in_inches(width))[2], width) as drawn:
        _draw(drawn, groups, choice.panels, drawing, title)
        if envelope is not None:
            _shade(drawn.axes[0], envelope, across, up)


def _draw(
    figure: Figure,
    groups: Mapping[Cell, Sequence[Curve]],
    panels_by: str | None,
    drawing: Drawing,
    title: str,
) -> None:
    """The panels, what they have in common, and below them the legend."""
    rows, columns, _ = _grid(len(groups), figure.get_figwidth())
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
    panels, unused = list(grid)[: len(groups)], list(grid)[len(groups) :]
    for axes, (value, group) in zip(panels, groups.items(), strict=True):
        draw_curves(axes, group, drawing)
        if panels_by is not None:
            axes.set_title(curve_word(panels_by, value), fontsize="medium", loc="left")
    for index, axes in enumerate(unused, start=len(groups)):
        axes.remove()
        panels[index - columns].tick_params(labelbottom=True)
    labels = _label(figure, panels, drawing, title)
    below = draw_legend(figure, panels, [curve for group in groups.values() for curve in group], drawing)
    if labels is not None:
        below += 1.5 * labels[0].get_window_extent().height
    _keep_room(figure, below)
    if labels is not None:
        _centre(labels, figure, panels)


def _shade(axes: Axes, envelope: Envelope, x: Axis, y: Axis) -> None:
    """Shade what lies below the envelope, and mark its changes."""
    xs, ys = (
        [value / axis.factor for value in values] for values, axis in ((envelope.xs, x), (envelope.ys, y))
    )
    bottom = axes.get_ylim()[0]
    axes.fill_between(xs, ys, bottom, color="0.5", alpha=0.15, linewidth=0.0, zorder=0.5)
    for change in envelope.changes:
        axes.axvline(change / x.factor, color="0.35", linewidth=0.8, linestyle=":", zorder=0.6)


def _by_panel(table: Table, choice: Choice) -> dict[Cell, list[Curve]]:
    """The curves of each panel; without panels, of the only one."""
    tables: dict[Cell, Table] = {None: table}
    if choice.panels is not None:
        values = [cell for cell in dict.fromkeys(table.cells(choice.panels)) if cell is not None]
        tables = {value: rows_where(table, {choice.panels: value}) for value in values}
    if len(tables) > MOST_PANELS:
        raise ResultsError(
            f"nothing to draw: {choice.panels} has {len(tables)} values, too many for panels "
            f"(at most {MOST_PANELS})"
        )
    return {
        value: curves(found, choice.x, choice.y, choice.by, choice.along) for value, found in tables.items()
    }


def _grid(panels: int, width: float) -> tuple[int, int, float]:
    """Rows and columns of panels, and how many times as high as usual the figure is."""
    if panels == 1:
        return 1, 1, 1.0
    most = max(round(width / 2.4), 1 if panels <= 4 else 2)
    rows = -(-panels // most)
    columns = -(-panels // rows)
    height = max(0.55 * width / columns, 1.4)
    return rows, columns, (rows * height + 0.4) / height_beside(width)


def _label(figure: Figure, panels: Sequence[Axes], drawing: Drawing, title: str) -> tuple[Text, Text] | None:
    """Name the axes and the figure: of several panels once for all, by the texts that are given back."""
    if len(panels) == 1:
        panels[0].set_xlabel(drawing.x.label)
        panels[0].set_ylabel(drawing.y.label)
        if title:
            panels[0].set_title(typeset(title), fontsize="medium", wrap=True)
        return None
    if title:
        figure.suptitle(typeset(title), fontsize="medium", wrap=True)
    # Not a supxlabel: that would stand at the bottom of the figure, where the legend is.
    across = figure.text(0.5, 0.5, drawing.x.label, fontsize="medium", va="top", ha="center")
    return across, figure.supylabel(drawing.y.label, fontsize="medium")


def _keep_room(figure: Figure, height: float) -> None:
    """Make the figure higher by that many dots, and keep them free below the panels."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if height:
        share = height / (figure.bbox.height + height)
        figure.set_figheight(figure.get_figheight() / (1.0 - share))
        engine = figure.get_layout_engine()
        assert isinstance(engine, ConstrainedLayoutEngine)
        engine.set(rect=(0.0, share, 1.0, 1.0 - share))


def _centre(labels: tuple[Text, Text], figure: Figure, panels: Sequence[Axes]) -> None:
    """Put common labels beside the middle of the panels: the figure has a title and a legend too."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()
    around = Bbox.union([axes.get_position() for axes in panels])
    lowest = min(box.y0 for axes in panels if (box := axes.get_tightbbox()) is not None)
    across, up = labels
    across.set_position((0.5 * (around.x0 + around.x1), (lowest - 0.03 * figure.dpi) / figure.bbox.height))
    up.set_y(0.5 * (around.y0 + around.y1))


def _warn_of_zeros(values: Sequence[float]) -> None:
    zeros = sum(value <= 0.0 for value in values)
    if zeros:
        text = (
            f"{zeros} of {len(values)} values are 0 and have no place on the logarithmic y axis (--linear-y)"
        )
        warnings.warn(text, CrossfadeWarning, stacklevel=3)
