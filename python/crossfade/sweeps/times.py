"""Durations of finished runs, for some points spread over a plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

# Of more points than these every second one is forgotten.
MOST_POINTS = 4096


class Times:
    """The mean time of the runs at hand of some points, by method."""

    def __init__(self) -> None:
        self._of: defaultdict[str, dict[int, tuple[int, float]]] = defaultdict(dict)
        self._every = 1

    def learn(self, method: str, point: int, seconds: float) -> None:
        """Take in how long a run took."""
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
        """The points of which a method's times are known, lowest first."""
        return sorted(self._of[method])

    def mean_s(self, method: str, point: int) -> float:
        """The mean time of the runs of one of :meth:`points`."""
        return self._of[method][point][1]
