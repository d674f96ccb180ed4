"""Rows of finished runs, as the core passes them and stores keep them."""

from __future__ import annotations

import json
import math
import struct
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import crossfade._crossfade as _crossfade

_PARTS: dict[str, Any] = json.loads(_crossfade.parts())


class PartKind(NamedTuple):
    """Kind of network part, as :func:`_crossfade.parts` lists it."""

    name: str
    list: str
    prefix: str
    is_numbered: bool
    shown: Sequence[str]


class LinkName(NamedTuple):
    """Name of a link in results, and the scenario tables that describe it."""

    name: str
    is_forward: bool
    table: str
    queue: str | None
    channel: str | None


# Kinds of network parts, in the order of results.
PARTS = [PartKind(**kind) for kind in _PARTS["kinds"]]
# Names of links, in the order in which packets take them.
LINKS = {link["name"]: LinkName(**link) for link in _PARTS["links"]}
# Prefixes of the metrics of flows and of numbered parts in rows; those of links have none.
PREFIXES = {kind.name: kind.prefix for kind in PARTS if kind.prefix}
FLOW = PREFIXES["flow"]
NUMBERED = tuple(kind.prefix for kind in PARTS if kind.is_numbered)


class Row(NamedTuple):
    """Row of one run of one point, or of its solution by a method without randomness (run 0).

    Rows that differ only in ``seconds`` are the same row.
    """

    key: str
    """Hash of everything that decides the values, the results version included: 32 hex digits."""
    point: str
    """Id of the point, independent of seed and method: 32 hex digits."""
    method: str
    seed: int
    run: int
    names: str
    """Names of the metrics that are defined in this run, sorted and joined by line breaks.

    A metric of a link is named ``reverse.queue_drops``, one of a flow ``flow:cubic.goodput_bps``.
    """
    values: bytes
    """Values of the metrics in the order of ``names`` as little-endian float64, then packed distributions."""
    failure: str | None
    """Reason why the method gave no values; None if it gave some."""
    seconds: float
    """Duration of the run on its thread, in seconds."""

    def metrics(self) -> dict[str, float]:
        """Metrics of the run by name."""
        names = names_of(self.names)
        return dict(zip(names, struct.unpack_from(f"<{len(names)}d", self.values), strict=True))

    def value(self, name: str) -> float:
        """Value of a metric; NaN if it is undefined."""
        names = names_of(self.names)
        at = bisect_left(names, name)
        if at == len(names) or names[at] != name:
            return math.nan
        found: float = struct.unpack_from("<d", self.values, 8 * at)[0]
        return found


@lru_cache(maxsize=4096)
def names_of(joined: str) -> tuple[str, ...]:
    """Names of metrics in :attr:`Row.names`, as a tuple."""
    return tuple(joined.split("\n")) if joined else ()


def value_at(scenario: Any, key: str) -> Any:
    """Value of a dotted key of a scenario; None if it is absent."""
    for name in key.split("."):
        scenario = scenario.get(name) if isinstance(scenario, Mapping) else None
    return scenario
