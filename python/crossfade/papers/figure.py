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
    """The axis that the curves of a figure run along: a column, and how its values are spaced.

    On a ``log`` axis equal steps are equal ratios; in ``dB`` the logarithm is taken already.
    """

    column: str
    scale: Scale = "linear"

    @property
    def is_log(self) -> bool:
        """Whether straight lines are drawn over the logarithm."""
        return self.scale == "log"

    def place(self, columns: dict[str, Cell]) -> float:
        """Coordinate of a point."""
        return float(str(columns[self.column]))

    def distance(self, low: float, high: float) -> float:
        """Distance of two places, in the steps of the axis (nepers of a ``log`` axis)."""
        return math.log(high / low) if self.is_log else high - low

    def shift_db(self, low: float, high: float) -> float:
        """Distance of two places in dB; ``ValueError`` for an axis without ratios."""
        if self.scale == "linear":
            raise ValueError(f"{self.column} is neither in dB nor logarithmic: no shift in dB")
        return high - low if self.scale == "dB" else 10.0 * math.log10(high / low)

    def words(self, x: float) -> str:
        """A place as text."""
        return f"{self.column} {x:.3g}"


@dataclass(frozen=True)
class Figure:
    """A figure or (without an axis) a table: its caption, its axis, and the column that is drawn.

    Without ``y`` that is the usual metric of the table. ``drawn`` makes the table that is drawn of the table
    of the figure, where its columns do not tell the curves apart; ``panels`` are columns that tell panels
    apart, across and down; ``across`` is the column of what is drawn that stands for the axis, where it has
    another name.
    """

    caption: str
    along: Along | None = None
    y: str | None = None
    drawn: Callable[[Table], Table] | None = None
    panels: tuple[str, ...] = ()
    across: str | None = None

    def to_draw(self, table: Table) -> Table:
        """The table that is drawn."""
        return table if self.drawn is None else self.drawn(table)

    def asked(self, table: Table) -> dict[str, Any]:
        """Arguments of :func:`crossfade.figures.plot.plot` besides the table and a file."""
        varying = [name for name in self.panels if len(set(table.cells(name))) > 1]
        return {"x": self.x_of(table), "y": self.y, "panels": varying or None, "title": self.caption}

    def x_of(self, table: Table) -> str | None:
        """The column to draw along; None, for the usual one, where it does not vary."""
        if self.along is None or len(set(table.cells(self.along.column))) < 2:
            return None
        return self.across or self.along.column
