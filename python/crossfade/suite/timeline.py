"""Values of a run over time, for targets: means over a window, and recovery times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crossfade.errors import ScenarioError, shortened
from crossfade.suite.targets import Target

Series = Sequence[tuple[float, float]]
"""Pairs of a time in seconds, rising, and the value in the interval since the previous time."""


@dataclass(frozen=True)
class Timeline:
    """Values over time by name: ``goodput_bps`` of all flows, ``main.goodput_bps`` of one flow, and so on."""

    series: Mapping[str, Series]

    def value(self, target: Target) -> tuple[float, bool]:
        """Value that a target judges (NaN if undefined), and True if it is a lower bound."""
        if target.recovery is not None:
            part = target.metric.rpartition(".")[0]
            name = f"{part}.goodput_bps" if part else "goodput_bps"
            return self._recovery(self._of(name), target.recovery.after_s, target.recovery.level)
        assert target.window is not None
        first, slash, second = target.metric.partition("/")
        found = self._mean(self._of(first.strip()), target)
        if slash:
            by = self._mean(self._of(second.strip()), target)
            return (found / by if by else math.nan), False
        return found, False

    def _of(self, name: str) -> Series:
        if name not in self.series:
            raise ScenarioError(f"metric {shortened(name)}: samples have {', '.join(sorted(self.series))}")
        return self.series[name]

    @staticmethod
    def _mean(series: Series, target: Target) -> float:
        assert target.window is not None
        # A sample belongs to the window if its interval does; half a sample allows for rounding.
        half = target.every_s / 2.0
        low, high = target.window.start_s + half, target.window.end_s + half
        values = [value for time_s, value in series if low <= time_s < high and not math.isnan(value)]
        return math.fsum(values) / len(values) if values else math.nan

    @staticmethod
    def _recovery(series: Series, after_s: float, level: float) -> tuple[float, bool]:
        """Time from an event until the first sample, wholly after it, at or above a level.

        Without such a sample the time until the end of the run is a lower bound.
        """
        last = after_s
        for before, (time_s, value) in zip([0.0, *(time for time, _ in series)], series, strict=False):
            last = time_s
            if before >= after_s - 1e-9 and value >= level:
                return _to_nanoseconds(time_s - after_s), False
        return _to_nanoseconds(max(last - after_s, 0.0)), True


def _to_nanoseconds(time_s: float) -> float:
    """Difference of times rounded to nanoseconds, so that no rounding error misses an equal limit."""
    return round(time_s, 9)


def added(series: Sequence[Series]) -> Series:
    """Sum of several series with the same times."""
    sums: dict[float, float] = {}
    for one in series:
        for time_s, value in one:
            sums[time_s] = sums.get(time_s, 0.0) + value
    return sorted(sums.items())
