"""Layout of tables for a terminal, in which no number and no value of an axis is cut.

An axis with one value is a line above the table. If the table is too wide, it is reduced in this order: an
equal number of runs moves above it, long values of an axis become numbers that are explained above it, and
whole metrics are left out, with a note below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from crossfade.errors import one_line, visible

# Largest width in characters of axis values that are always shown; longer ones may be replaced by numbers.
LONG = 16
# Spaces between two columns, and before the first.
GAP, MARGIN = 3, 2


@dataclass
class Column:
    """Column of a table: its heading, and a cell for each row.

    ``is_axis`` is true for an axis, whose values may move above the table.
    """

    head: str
    cells: list[str] = field(default_factory=list)
    is_axis: bool = False
    is_metric: bool = False
    is_right: bool = False
    """True for a column of counts, which may move above the table if all its values are equal."""
    key: str = ""
    """Name of the column in the lines above the table; by default its heading."""

    @property
    def width(self) -> int:
        """Width of the widest line of the column."""
        return max(cell_len(visible(line)) for text in (self.head, *self.cells) for line in text.split("\n"))


@dataclass
class Fitted:
    """Columns that are shown, lines above the table, and number of metrics left out."""

    columns: list[Column]
    above: list[str]
    left_out: int


def fitted(columns: Sequence[Column], width: int | None) -> Fitted:
    """Columns that fit into a width (None: any width); at least one metric stays."""
    shown, above = [], []
    for column in columns:
        is_constant = column.is_axis and len(column.cells) > 1 and len(set(column.cells)) == 1
        if is_constant:
            above.append(f"{column.key or column.head} = {column.cells[0]}")
        else:
            shown.append(column)
    if width is None:
        return Fitted(shown, above, 0)
    for column in [column for column in shown if column.is_right and len({*column.cells}) == 1]:
        if len(column.cells) > 1 and _total(shown) > width:
            above.append(f"{column.key or column.head} = {column.cells[0]}")
            shown = [one for one in shown if one is not column]
    for column in sorted(shown, key=lambda column: -column.width):
        values = list(dict.fromkeys(column.cells))
        if _total(shown) <= width or not column.is_axis or max(map(cell_len, values), default=0) <= LONG:
            continue
        name = column.key or column.head
        above += [f"{name} {number} = {value}" for number, value in enumerate(values, start=1)]
        numbered = [str(values.index(cell) + 1) for cell in column.cells]
        shown = [
            Column(column.head, numbered, is_axis=True, key=column.key) if one is column else one
            for one in shown
        ]
    left_out = 0
    metrics = [column for column in shown if column.is_metric]
    while len(metrics) > 1 and _total(shown) > width:
        last = metrics.pop()
        shown = [column for column in shown if column is not last]
        left_out += 1
    return Fitted(shown, above, left_out)


def _total(columns: Sequence[Column]) -> int:
    return MARGIN + sum(column.width for column in columns) + GAP * (len(columns) - 1)


def print_fitted(to: Console, title: str, columns: Sequence[Column], width: int | None) -> None:
    """Print a table within a width (None: any width), with a note about metrics left out."""
    found = fitted(columns, width)
    to.print(Text(one_line(title), "bold"), soft_wrap=True)
    for line in found.above:
        to.print(Text(one_line(line)), soft_wrap=True)
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="")
    for column in found.columns:
        right = column.is_metric or column.is_right
        grid.add_column(column.head, justify="right" if right else "left", no_wrap=True)
    for row in zip(*(column.cells for column in found.columns), strict=True):
        grid.add_row(*row)
    print_whole(to, grid)
    if found.left_out:
        some = "1 metric" if found.left_out == 1 else f"{found.left_out} metrics"
        to.print(f"{some} left out: --columns, --csv", soft_wrap=True)


def print_whole(to: Console, grid: Grid) -> None:
    """Print a table without cutting, wider than the console if necessary.

    Columns of words break at spaces; columns that do not wrap are as wide as their widest cell.
    """
    before = to.width
    edge = 1 + GAP * len(grid.columns)
    to.width = max(before, edge + sum(_narrowest(to, grid, index) for index in range(len(grid.columns))))
    try:
        to.print(grid)
    finally:
        to.width = before


def _narrowest(to: Console, grid: Grid, index: int) -> int:
    """Least width of a column in which nothing is cut."""
    column = grid.columns[index]
    far = to.options.update(width=10**6)
    needed = [to.measure(cell, options=far) for cell in (column.header, *column.cells)]
    return max((one.maximum if column.no_wrap else one.minimum for one in needed), default=0)
