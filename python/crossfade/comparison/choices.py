"""Points of results sorted by *condition*, and under each condition by *choice*, for comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from crossfade.comparison.paired import COVERAGE, Curve, Sample
from crossfade.errors import ScenarioError, shortened
from crossfade.quantities import in_numbers, is_log_spaced
from crossfade.results.points import Point
from crossfade.results.results import Results
from crossfade.tables import Cell, label

METHOD = "method"

Cells = tuple[Cell, ...]
"""The values of some axes, as they stand in tables."""


@dataclass(frozen=True)
class Line:
    """The points along one numeric axis with all other conditions fixed, by choice at each of its values."""

    condition: dict[str, Cell]
    axis: str
    unit: str
    xs: list[float]
    points: Sequence[Mapping[Cells, Point]]

    @property
    def choices(self) -> list[Cells]:
        """Every choice that has a point at some value of the axis."""
        return list(dict.fromkeys(choice for points in self.points for choice in points))

    def curve(self, samples: Sequence[Sample], coverage: float = COVERAGE) -> Curve:
        """Curve through one sample per value of the axis; it is straight over log x if the axis is
        logarithmically spaced.
        """
        return Curve(self.xs, samples, is_log_spaced(self.xs), coverage)


@dataclass(frozen=True)
class Choices:
    """Points of results by condition, and under each condition by choice."""

    chosen: list[str]
    conditions: list[str]
    points: dict[Cells, dict[Cells, Point]]

    @classmethod
    def of(cls, results: Results, chosen: str | Sequence[str]) -> Choices:
        """Sort the points of results; ``chosen`` are the axes of the choices.

        All other axes are conditions, and so is the method if there are several.
        """
        chosen = keys_in(chosen)
        several = len({point.method for point in results.points}) > 1
        conditions = [axis for axis in [*results.axes, *([METHOD] if several else [])] if axis not in chosen]
        choices = cls(chosen, conditions, {})
        for point in results.points:
            under = choices.points.setdefault(_cells(point, conditions), {})
            under[_cells(point, chosen)] = point
        return choices

    def named(self, condition: Cells) -> dict[str, Cell]:
        """Values of a condition by the names of its axes."""
        return dict(zip(self.conditions, condition, strict=True))

    def lines(self) -> Iterator[Line]:
        """Lines of points along every numeric axis of the conditions with at least two values."""
        for axis in self.conditions:
            values = list(dict.fromkeys(condition[self.conditions.index(axis)] for condition in self.points))
            numbers = in_numbers(values)
            if numbers is None or len(values) < 2:
                continue
            places = dict(zip(values, numbers[0], strict=True))
            others = [key for key in self.conditions if key != axis and not self._follows(key, axis)]
            lines: dict[Cells, dict[float, Mapping[Cells, Point]]] = {}
            for condition, points in self.points.items():
                named = self.named(condition)
                fixed = tuple(named[key] for key in others)
                lines.setdefault(fixed, {})[places[named[axis]]] = points
            for fixed, by_place in lines.items():
                xs = sorted(by_place)
                if len(xs) > 1:
                    condition_here = dict(zip(others, fixed, strict=True))
                    yield Line(condition_here, axis, numbers[1], xs, [by_place[x] for x in xs])

    def _follows(self, key: str, axis: str) -> bool:
        """True if axis ``axis`` determines the value of ``key``, as for axes that change together."""
        at, given = self.conditions.index(key), self.conditions.index(axis)
        return len({(condition[at], condition[given]) for condition in self.points}) == len(
            {condition[given] for condition in self.points}
        )


def _cells(point: Point, keys: Sequence[str]) -> Cells:
    return tuple(point.method if key == METHOD else label(point.axes[key]) for key in keys)


def words(choice: Cells) -> str:
    """Values of a choice as text, separated by commas."""
    return ", ".join(f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in choice)


def keys_in(text: str | Sequence[str]) -> list[str]:
    """List of keys, from a list or from one text with commas; duplicates are dropped."""
    keys = text.split(",") if isinstance(text, str) else text
    if not isinstance(keys, Sequence) or not all(isinstance(key, str) for key in keys):
        raise ScenarioError(f"{shortened(repr(text))}: no axis; must be its key, or a list of keys")
    return list(dict.fromkeys(key.strip() for key in keys))
