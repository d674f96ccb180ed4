"""Finished runs as they cross from the core and lie in stores."""

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
    """A kind of part of networks; see ``_crossfade.parts``."""

    name: str
    list: str
    prefix: str
    is_numbered: bool
    shown: Sequence[str]


class LinkName(NamedTuple):
    """Names of a link in results, and the tables of a scenario that describe it."""

    name: str
    is_forward: bool
    table: str
    queue: str | None
    channel: str | None


# In the order of results.
PARTS = [PartKind(**kind) for kind in _PARTS["kinds"]]
# In the order in which packets take them.
LINKS = {link["name"]: LinkName(**link) for link in _PARTS["links"]}
# How rows tell the metrics of flows, and of parts that have numbers in place of names, from those of links.
PREFIXES = {kind.name: kind.prefix for kind in PARTS if kind.prefix}
FLOW = PREFIXES["flow"]
NUMBERED = tuple(kind.prefix for kind in PARTS if kind.is_numbered)


class Row(NamedTuple):
    """One run of one point, or its solution by a method without randomness (run 0).

    Rows that differ in ``seconds`` alone are the same row.
    """

    key: str
    """32 hex digits: a hash of everything that decides the values, the results version included."""
    point: str
    """32 hex digits: the id of the point, whatever the seed and the method."""
    method: str
    seed: int
    run: int
    names: str
    """The metrics that are defined in this run, sorted and joined by line breaks.

    A link's are ``reverse.queue_drops``, a flow's ``flow:cubic.goodput_bps``.
    """
    values: bytes
    """Values of the metrics in that order, as little-endian float64, and the run's packed distributions."""
    failure: str | None
    """Why there are none."""
    seconds: float
    """Duration of the run on its thread, in seconds."""

    def metrics(self) -> dict[str, float]:
        """The values by name."""
        names = names_of(self.names)
        return dict(zip(names, struct.unpack_from(f"<{len(names)}d", self.values), strict=True))

    def value(self, name: str) -> float:
        """The value of a metric, NaN where it is undefined."""
        names = names_of(self.names)
        at = bisect_left(names, name)
        if at == len(names) or names[at] != name:
            return math.nan
        found: float = struct.unpack_from("<d", self.values, 8 * at)[0]
        return found


@lru_cache(maxsize=4096)
def names_of(joined: str) -> tuple[str, ...]:
    """The names in :attr:`Row.names`."""
    return tuple(joined.split("\n")) if joined else ()


def value_at(scenario: Any, key: str) -> Any:
    """The value of a dotted key of a scenario, None where there is none."""
    for name in key.split("."):
        scenario = scenario.get(name) if isinstance(scenario, Mapping) else None
    return scenario
