"""Grids of the points of a sweep: dimensions with their coordinates."""

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
    """Values of one key along a dimension: numbers, with their unit if they have one, or labels."""

    key: str
    values: NDArray[Any]
    unit: str


@dataclass(frozen=True)
class Dimension:
    """Dimension of a sweep; keys that vary together (zipped) share one, which the first key names."""

    coordinates: list[Coordinate]

    @property
    def name(self) -> str:
        """Name of the dimension: its first key."""
        return self.coordinates[0].key

    def __len__(self) -> int:
        return len(self.coordinates[0].values)


@dataclass(frozen=True)
class Grid:
    """Dimensions of a sweep, and the id of the point in each cell; the last dimension varies fastest."""

    dimensions: list[Dimension]
    points: list[str]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each dimension."""
        return tuple(len(dimension) for dimension in self.dimensions)

    @classmethod
    def of(cls, axes: Sequence[str], points: Sequence[dict[str, Any]]) -> Grid:
        """Grid of a plan's axes and its points ``{"axes": {key: value}, "id"}``."""
        # Values may be tables, and a value given twice is one step.
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
    """Groups of keys that form a dimension together, as ranges of keys.

    The points are all combinations of the keys before a cut with those behind it exactly if there are as many
    points as combinations. Zipped keys stand side by side, so that no other cuts need be tried.
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
    """Unit of a bare number, if the name of its key implies one."""
    return "dB" if key.endswith("_db") else ""
