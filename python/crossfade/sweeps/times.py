"""Durations of finished runs, for a subset of points spread over a plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

# Largest number of points kept by method; beyond it every second point is dropped.
MOST_POINTS = 4096


class Times:
    """Mean duration of finished runs, by method and point, for at most :data:`MOST_POINTS` points."""

    def __init__(self) -> None:
        self._of: defaultdict[str, dict[int, tuple[int, float]]] = defaultdict(dict)
        self._every = 1

    def learn(self, method: str, point: int, seconds: float) -> None:
        """Add the duration of a finished run, in seconds."""
        if point % self._every:
            return
        known = self._of[method]
        number, mean = known.get(point, (0, 0.0))
        known[point] = (number + 1, mean + (seconds - mean) / (number + 1))
        if len(known) > MOST_POINTS:
            self._every *= 2
            for of_method in self._of.values():
                for other in [other for other in of_method if other % self._every]:
                    del of_method[other]

    def points(self, method: str) -> Iterable[int]:
        """Numbers of the points with known durations of a method, in rising order."""
        return sorted(self._of[method])

    def mean_s(self, method: str, point: int) -> float:
        """Mean duration of runs at one of :meth:`points`, in seconds."""
        return self._of[method][point][1]
