"""Optimal limits of the windows of chains: where throughput saturates, by one of several definitions.

``argmax`` is the limit with the best throughput, ``knee-5`` the smallest limit within 5 % of the best. The
paper does not say which share of the best counts as saturated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from crossfade.comparison.knee import drawn, interval, knee_of
from crossfade.comparison.paired import Sample
from crossfade.errors import ScenarioError
from crossfade.results.points import Point
from crossfade.tables import Cell

if TYPE_CHECKING:
    import numpy as np

METRIC = "ip_goodput_bps"
KNEE = "knee-"
DEFINITIONS = "argmax, or knee- with the percentage of the best throughput that may be missing (knee-5)"


class Chain(NamedTuple):
    """Chain of nodes and its conditions, for which the optimal window is sought."""

    mac: str
    rule: str | None
    interference_class: str
    hops: int

    @property
    def rthc(self) -> int:
        """Number of hops there and back."""
        return 2 * self.hops

    def __str__(self) -> str:
        parts = (self.mac, self.rule and f"rule {self.rule}", self.interference_class, f"{self.hops} hops")
        return ", ".join(part for part in parts if part)


def share_of(definition: str) -> float:
    """Share of the best throughput that a saturated window may lack, from 0 to below 1."""
    percent = 0.0 if definition == "argmax" else _percent(definition)
    if not 0.0 <= percent < 100.0:
        raise ScenarioError(f"over optimum = {definition}: must be {DEFINITIONS}")
    return percent / 100.0


def _percent(definition: str) -> float:
    try:
        return float(definition.removeprefix(KNEE)) if definition.startswith(KNEE) else math.nan
    except ValueError:
        return math.nan


@dataclass(frozen=True)
class Optimum:
    """Optimal limit of a chain's window in packets, with the ends of its 95 % bootstrap interval.

    An upper end of None lies beyond the largest limit that was tried.
    """

    chain: Chain
    cwl: int
    low: float | None
    high: float | None
    # Optimum of each bootstrap draw of the runs (the same draws for every chain); None for a single run.
    draws: np.ndarray | None

    @property
    def k(self) -> float:
        """The paper's constant k: the limit divided by the hops there and back."""
        return self.cwl / self.chain.rthc


def optimum_of(chain: Chain, points: Mapping[int | None, Point], share: float) -> Optimum | None:
    """Smallest limit within a share of the best throughput; None if it is the largest that was tried."""
    curve = {float(cwl): Sample.of(point, METRIC) for cwl, point in points.items() if cwl is not None}
    found, last = knee_of(curve, share), max(curve)
    if found.x == last and len(curve) > 1:
        return None
    high = None if found.high == last and len(curve) > 1 else found.high
    return Optimum(chain, int(found.x), found.low, high, drawn(curve, share))


def within_the_grid(chain: Chain, points: Mapping[int | None, Point], definition: str) -> Optimum:
    """Like :func:`optimum_of`, but raises ``ScenarioError`` if the optimum lies at the end of the grid."""
    found = optimum_of(chain, points, share_of(definition))
    if found is None:
        last = max(cwl for cwl in points if cwl is not None)
        raise ScenarioError(
            f"over cwl = ...,{last}: the optimum of {chain} ({definition}) lies at the end of the grid, "
            f"which must reach further (--over cwl=1:{2 * last}:1)"
        )
    return found


class Mean(NamedTuple):
    """Mean of k, without unit, and its 95 % interval; an end is None if it is unknown."""

    k: float
    low: float | None
    high: float | None


def mean_k(optima: Sequence[Optimum]) -> Mean:
    """Mean of k over chains, as in the paper, with a bootstrap interval over runs.

    The upper end is unknown if the interval of some chain reaches the end of the grid.
    """
    k = math.fsum(one.k for one in optima) / len(optima)
    drawn_ks = [one.draws / one.chain.rthc for one in optima if one.draws is not None]
    if len(drawn_ks) < len(optima):
        return Mean(k, None, None)
    low, high = interval(sum(drawn_ks[1:], drawn_ks[0]) / len(optima))
    return Mean(k, low, None if any(one.high is None for one in optima) else high)


def growth(smaller: Optimum, larger: Optimum) -> tuple[float, float, float]:
    """Difference of two optima in packets, with its bootstrap interval."""
    value = float(larger.cwl - smaller.cwl)
    if smaller.draws is None or larger.draws is None:
        return value, value, value
    low, high = interval(larger.draws - smaller.draws)
    assert low is not None
    assert high is not None
    return value, low, high


def varying(records: Iterable[Mapping[str, Cell]], columns: Iterable[str]) -> list[str]:
    """Columns with more than one value, empty cells not counted, which distinguish curves."""
    rows = list(records)
    return [column for column in columns if len({row[column] for row in rows} - {None}) > 1]
