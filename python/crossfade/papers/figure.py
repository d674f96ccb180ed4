"""Definition of a figure of a paper: its caption, x axis and curves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from crossfade.tables import Cell, Table

Scale = Literal["linear", "log", "dB"]


@dataclass(frozen=True)
class Along:
    """Axis along which the curves of a figure run: a column, and the spacing of its values.

    On a ``log`` axis equal steps are equal ratios; values in ``dB`` are logarithms already.
    """

    column: str
    scale: Scale = "linear"

    @property
    def is_log(self) -> bool:
        """True if curves are interpolated over the logarithm of the axis."""
        return self.scale == "log"

    def place(self, columns: dict[str, Cell]) -> float:
        """Coordinate of a point on the axis."""
        return float(str(columns[self.column]))

    def distance(self, low: float, high: float) -> float:
        """Distance of two places in the units of the axis (nepers on a ``log`` axis)."""
        return math.log(high / low) if self.is_log else high - low

    def shift_db(self, low: float, high: float) -> float:
        """Distance of two places in dB; ``ValueError`` for a linear axis."""
        if self.scale == "linear":
            raise ValueError(f"{self.column} is neither in dB nor logarithmic: no shift in dB")
        return high - low if self.scale == "dB" else 10.0 * math.log10(high / low)

    def words(self, x: float) -> str:
        """Text of a place on the axis."""
        return f"{self.column} {x:.3g}"


@dataclass(frozen=True)
class Figure:
    """A figure or (without an axis) a table of a paper: its caption, its axis, and the drawn column.

    ``y`` None is the table's default metric. ``drawn`` converts the table of the figure to the one that is
    drawn, if its columns do not distinguish the curves. ``panels`` are columns that distinguish panels,
    across and down. ``across`` is the name of the axis in the drawn table, if it has another name there.
    """

    caption: str
    along: Along | None = None
    y: str | None = None
    drawn: Callable[[Table], Table] | None = None
    panels: tuple[str, ...] = ()
    across: str | None = None

    def to_draw(self, table: Table) -> Table:
        """Table that is drawn."""
        return table if self.drawn is None else self.drawn(table)

    def asked(self, table: Table) -> dict[str, Any]:
        """Arguments of :func:`crossfade.figures.plot.plot` besides the table and a file."""
        varying = [name for name in self.panels if len(set(table.cells(name))) > 1]
        return {"x": self.x_of(table), "y": self.y, "panels": varying or None, "title": self.caption}

    def x_of(self, table: Table) -> str | None:
        """Column to draw along; None for the default one, if the axis of the figure does not vary."""
        if self.along is None or len(set(table.cells(self.along.column))) < 2:
            return None
        return self.across or self.along.column
