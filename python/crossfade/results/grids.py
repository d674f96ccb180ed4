"""Grid of the points of a sweep: dimensions with their coordinates."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossfade.quantities import in_numbers
from crossfade.tables import label


@dataclass(frozen=True)
class Coordinate:
    """The values of one key along a dimension: numbers, with their unit if they have one, or labels."""

    key: str
    values: NDArray[Any]
    unit: str


@dataclass(frozen=True)
class Dimension:
    """An axis of a sweep. Keys that vary together (zipped) share one, and the first names it."""

    coordinates: list[Coordinate]

    @property
    def name(self) -> str:
        """The first key."""
        return self.coordinates[0].key

    def __len__(self) -> int:
        return len(self.coordinates[0].values)


@dataclass(frozen=True)
class Grid:
    """The dimensions of a sweep, and the id of the point in each cell (the last dimension varies fastest)."""

    dimensions: list[Dimension]
    points: list[str]

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions."""
        return tuple(len(dimension) for dimension in self.dimensions)

    @classmethod
    def of(cls, axes: Sequence[str], points: Sequence[dict[str, Any]]) -> Grid:
        """The grid of a plan's axes and points ``{"axes": {key: value}, "id"}``."""
        # Values may be tables; and a step that is given twice is one step.
        texts = [tuple(json.dumps(point["axes"][key], sort_keys=True) for key in axes) for point in points]
        values = [
            {text[i]: point["axes"][key] for text, point in zip(texts, points, strict=True)}
            for i, key in enumerate(axes)
        ]
        dimensions, places = [], []
        for begin, end in _cuts(texts, len(axes)):
            steps = list(dict.fromkeys(text[begin:end] for text in texts))
            coordinates = [
                _coordinate(axes[i], [values[i][step[i - begin]] for step in steps])
                for i in range(begin, end)
            ]
            dimensions.append(Dimension(coordinates))
            number = {step: place for place, step in enumerate(steps)}
            places.append([number[text[begin:end]] for text in texts])
        ids = [""] * math.prod(len(dimension) for dimension in dimensions)
        strides = [math.prod(len(d) for d in dimensions[i + 1 :]) for i in range(len(dimensions))]
        for place, point in zip(zip(*places, strict=True) if places else [()], points, strict=True):
            ids[sum(i * stride for i, stride in zip(place, strides, strict=True))] = point["id"]
        return cls(dimensions, ids)


def _cuts(texts: Sequence[tuple[str, ...]], keys: int) -> list[tuple[int, int]]:
    """Keys that form a dimension together, as ranges.

    The points are all combinations of what lies before a cut with what lies behind it exactly where there are
    as many of them as that gives. Zipped keys stand side by side, so that no other cuts need be tried.
    """
    total = len(set(texts))
    ends = [
        i
        for i in range(1, keys)
        if len({text[:i] for text in texts}) * len({text[i:] for text in texts}) == total
    ]
    return list(zip([0, *ends], [*ends, keys], strict=True)) if keys else []


def _coordinate(key: str, values: list[Any]) -> Coordinate:
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return Coordinate(key, np.array(values), _unit(key))
    if (found := in_numbers(values)) is not None:
        numbers, unit = found
        return Coordinate(key, np.array(numbers), unit or _unit(key))
    words = ["none" if value is None else str(label(value)) for value in values]
    return Coordinate(key, np.array(words), "")


def _unit(key: str) -> str:
    """The unit of a bare number, where its key names it."""
    return "dB" if key.endswith("_db") else ""
