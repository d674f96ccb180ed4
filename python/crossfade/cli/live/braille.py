"""Curves in a terminal as braille patterns: eight dots in a character."""

from __future__ import annotations

import math
from collections.abc import Sequence

# Braille patterns of Unicode: first code point, and bit of each dot by row and column of a character.
_BLANK = 0x2800
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))

Curve = Sequence[tuple[float, float]]


def plot(
    curves: Sequence[Curve], width: int, height: int, x: tuple[float, float], top: float
) -> list[list[tuple[str, int | None]]]:
    """Characters of each line, each with the number of the last curve that has a dot in it (None: no dot).

    ``x`` is the range from left to right, ``top`` the value at the upper edge; the lower edge is 0.
    """
    dots = [[0] * width for _ in range(height)]
    owner: list[list[int | None]] = [[None] * width for _ in range(height)]
    span = max(x[1] - x[0], 1e-9)

    def place(point: tuple[float, float]) -> tuple[float, float]:
        right = (point[0] - x[0]) / span * (2 * width - 1)
        return right, (1.0 - min(max(point[1] / top, 0.0), 1.0)) * (4 * height - 1)

    for number, curve in enumerate(curves):
        points = [place(point) for point in curve if x[0] <= point[0] <= x[1] and math.isfinite(point[1])]
        for (x0, y0), (x1, y1) in zip(points, points[1:] or points, strict=False):
            steps = max(1, math.ceil(max(abs(x1 - x0), abs(y1 - y0))))
            for step in range(steps + 1):
                column = round(x0 + (x1 - x0) * step / steps)
                row = round(y0 + (y1 - y0) * step / steps)
                dots[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
                owner[row // 4][column // 2] = number
    return [
        [(chr(_BLANK + dot) if dot else " ", who) for dot, who in zip(line, whose, strict=True)]
        for line, whose in zip(dots, owner, strict=True)
    ]


def nice_top(value: float) -> float:
    """Round number at or above a value, for the upper edge of a plot."""
    if not value > 0.0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 2.5, 5.0, 10.0) if step * power >= value * (1.0 - 1e-9))
