"""Figures of a table: the same bytes for the same table.

Simulation is drawn as marks with 95 % intervals, exact analysis as lines, bounds as bands (those a paper prints
as dotted lines), a formula as dashes. Where a curve is simulated only, a thin line joins its marks to guide the
eye; it states nothing between them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crossfade.axes import scaled, x_axis, y_axis
from crossfade.choosing import Choice, choose, held_note, where, with_ratio
from crossfade.curves import Curve, curves
from crossfade.drawing import Drawing, draw_curves, draw_legend
from crossfade.errors import CrossfadeWarning, ResultsError, ScenarioError
from crossfade.figurestyle import check_plot_file, figure, height_beside, looks, width_in_inches
from crossfade.tables import Cell, Table
from crossfade.wording import curve_word, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    only: Mapping[str, Cell] | None = None,
    title: str = "",
    log_x: bool | None = None,
    log_y: bool | None = None,
    intervals: str = "bars",
    width: str | float = "single",
) -> None:
    """Draw a table; see :func:`crossfade.plot`, whose ``where`` is ``only``."""
    file = Path(path)
    check_plot_file(file)
    if intervals not in INTERVALS:
        raise ScenarioError(f"intervals = {intervals}: must be one of {', '.join(INTERVALS)}")
    table = where(with_ratio(table, y), only or {})
    choice = choose(table, x, y, by, panels)
    if choice.held:
        warnings.warn(held_note(table, choice.held), CrossfadeWarning, stacklevel=2)
        table = where(table, choice.held)
    across, table = x_axis(table, choice, log_x)
    groups = _by_panel(table, choice)
    parts = [part for group in groups.values() for _, found in group for part in found]
    up = y_axis(choice.y, parts, log_y)
    if up.is_log:
        _warn_of_zeros([value for part in parts for value in part.ys])
    groups = {
        value: [(key, [scaled(part, across, up) for part in found]) for key, found in group]
        for value, group in groups.items()
    }
    by_key = {key: (key, found) for group in groups.values() for key, found in group}
    drawing = Drawing(
        across,
        up,
        choice.by,
        dict(zip(by_key, looks(list(by_key)), strict=True)),
        list(dict.fromkeys(part.method for part in parts)),
        intervals,
    )
    rows, columns, height = _grid(len(groups), width_in_inches(width))
    with figure(file, height, width) as drawn:
        grid = drawn.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        shown = list(grid.flat)[: len(groups)]
        for axes, (value, group) in zip(shown, groups.items(), strict=True):
            draw_curves(axes, group, drawing)
            if choice.panels is not None:
                axes.set_title(curve_word(choice.panels, value), fontsize="medium", loc="left")
        for index, unused in enumerate(list(grid.flat)[len(groups) :], start=len(groups)):
            unused.remove()
            shown[index - columns].tick_params(labelbottom=True)
        _label(drawn, shown, drawing, title)
        draw_legend(drawn, shown, list(by_key.values()), drawing)


def _by_panel(table: Table, choice: Choice) -> dict[Cell, list[Curve]]:
    """The curves of each panel; without panels, of the only one."""
    tables: dict[Cell, Table] = {None: table}
    if choice.panels is not None:
        cells = table.cells(choice.panels)
        tables = {
            value: Table(table.columns, [row for row, cell in zip(table.rows, cells, strict=True) if cell == value])
            for value in dict.fromkeys(cells)
        }
    if len(tables) > MOST_PANELS:
        raise ResultsError(
            f"nothing to draw: {choice.panels} has {len(tables)} values, too many for panels (at most {MOST_PANELS})"
        )
    return {
        value: curves(found, choice.x, choice.y, choice.by, choice.along) for value, found in tables.items()
    }


def _grid(panels: int, width: float) -> tuple[int, int, float]:
    """Rows and columns of panels, and how many times as high as usual the figure is."""
    if panels == 1:
        return 1, 1, 1.0
    columns = min(panels, max(round(width / 2.4), 1 if panels <= 4 else 2))
    rows = -(-panels // columns)
    height = max(0.62 * width / columns, 1.4)
    return rows, columns, (rows * height + 0.4) / height_beside(width)


def _label(figure: Figure, panels: Sequence[Axes], drawing: Drawing, title: str) -> None:
    """Name the axes: of several panels once for all."""
    if len(panels) == 1:
        panels[0].set_xlabel(drawing.x.label)
        panels[0].set_ylabel(drawing.y.label)
        if title:
            panels[0].set_title(typeset(title), fontsize="medium", wrap=True)
        return
    figure.supxlabel(drawing.x.label, fontsize="medium")
    figure.supylabel(drawing.y.label, fontsize="medium")
    if title:
        figure.suptitle(typeset(title), fontsize="medium", wrap=True)


def _warn_of_zeros(values: Sequence[float]) -> None:
    zeros = sum(value <= 0.0 for value in values)
    if zeros:
        text = f"{zeros} of {len(values)} values are 0 and have no place on the logarithmic y axis (--linear-y)"
        warnings.warn(text, CrossfadeWarning, stacklevel=3)
