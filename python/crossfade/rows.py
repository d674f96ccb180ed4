"""A row: one finished run (or one solution), as it crosses to and from the core and lies in files."""

from __future__ import annotations

import struct
from typing import NamedTuple


class Row(NamedTuple):
    """One finished run of a point by simulation, or its one solution by another method (run 0).

    ``key`` (32 hex digits) is a hash of everything that decides the values, ``point`` that of the point
    alone: equal keys, equal values. Metrics that are undefined in the run are absent. ``seconds`` is how long
    the run took on its thread; it is no part of what makes two rows equal.
    """

    key: str
    point: str
    method: str
    seed: int
    run: int
    names: str
    """The names of the metrics, sorted, joined by line feeds."""
    values: bytes
    """Their values in that order, float64, little-endian."""
    failure: str | None
    seconds: float

    def metrics(self) -> dict[str, float]:
        """The metrics by name."""
        names = metric_names(self.names)
        return dict(zip(names, struct.unpack(f"<{len(names)}d", self.values), strict=True))


def metric_names(names: str) -> list[str]:
    """The names that a row keeps as one text."""
    return names.split("\n") if names else []
