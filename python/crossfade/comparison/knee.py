"""Knee of a curve: for example the smallest window that loses at most 2 % of the throughput.

The best value is estimated from runs, so the place of the knee has an interval: runs are resampled with
replacement, and the knee is determined anew (percentile bootstrap; Efron and Tibshirani, An Introduction to
the Bootstrap, 1993, chapter 13). A run has the same random numbers at every place, so each resample takes the
same runs everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from crossfade._crossfade import USUAL_METRIC
from crossfade.comparison.paired import COVERAGE, Sample
from crossfade.errors import ResultsError
from crossfade.plans import load_results
from crossfade.results.points import Point
from crossfade.results.results import Results
from crossfade.tables import Cell, label

if TYPE_CHECKING:
    import numpy as np

# Number of bootstrap resamples of the runs.
DRAWS = 2000
# Seed of the resampling, fixed so that intervals are reproducible.
SEED = 1


@dataclass(frozen=True)
class Knee:
    """The smallest value of an axis at which a metric is within a share of its best (0: the best itself).

    Attributes
    ----------
    condition : dict
        Values of the other axes.
    x : float
        Value of the axis at the knee, in the unit of the axis.
    low, high : float or None
        Ends of the 95 % bootstrap interval of ``x``; None for a single run or exact values.
    value : float
        Metric at ``x``, in its unit.
    best : float
        Best value of the metric over all values of the axis.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.curves.Knee({}, x=8.0, low=6.0, high=8.0, value=0.98, best=1.0).x
    8.0
    """

    condition: dict[str, Cell]
    x: float
    low: float | None
    high: float | None
    value: float
    best: float


def knee(
    results: Results | str | PathLike[str],
    *,
    x: str,
    metric: str = USUAL_METRIC,
    share: float = 0.02,
    method: str | None = None,
) -> list[Knee]:
    """Find the knee of each curve of results: one for each combination of the other axes.

    Parameters
    ----------
    results : Results or path
        Results, or a results file.
    x : str
        Dotted key of a numeric axis.
    metric : str
        Name of a metric of which more is better.
    share : float
        Share of the best value that may be lost, from 0 to below 1.
    method : str, optional
        Method whose curves are used (default: each method).

    Returns
    -------
    list of Knee
        One knee per curve.

    Raises
    ------
    ResultsError
        If there is no such axis or metric.

    Examples
    --------
    >>> import crossfade as cf
    >>> over = {"tcp.variant": ["reno"], "channel.p_e": [0.01], "tcp.w_max": [3, 6, 12, 24]}
    >>> results = cf.run("quickstart", over=over, methods=["analysis"])
    >>> [found.x for found in cf.curves.knee(results, x="tcp.w_max", metric="throughput_per_slot")]
    [6.0]
    """
    if not isinstance(results, Results):
        results = load_results(results)
    if not 0.0 <= share < 1.0:
        raise ResultsError(f"share = {share}: must be from 0 to below 1")
    if x not in results.axes:
        raise ResultsError(f"x = {x}: no axis (there are: {', '.join(results.axes) or 'none'})")
    if method is not None:
        results = results.by_method(method)
    if metric not in {*results.metrics, *results.parts}:
        raise ResultsError(f"metric = {metric}: no metric of these results")
    groups: dict[tuple[Cell, ...], list[Point]] = {}
    others = [axis for axis in results.axes if axis != x]
    for point in results.points:
        key = (*(label(point.axes[axis]) for axis in others), point.method)
        groups.setdefault(key, []).append(point)
    found = []
    for key, points in groups.items():
        condition = dict(zip([*others, "method"], key, strict=True))
        if len(results.methods) == 1:
            del condition["method"]
        curve = {_number(x, point.axes[x]): Sample.of(point, metric) for point in points}
        found.append(knee_of(curve, share, condition))
    return found


def knee_of(curve: Mapping[float, Sample], share: float, condition: Mapping[str, Cell] | None = None) -> Knee:
    """The knee of one curve, given by its samples at values of the axis: the smallest value within a share of
    the best.
    """
    import numpy as np  # here, since importing numpy takes long and starts threads

    places = sorted(curve)
    means = np.array([curve[place].mean for place in places])
    at = _first(means, share)
    low, high = interval(drawn(curve, share))
    return Knee(dict(condition or {}), places[at], low, high, float(means[at]), float(means.max()))


def _first(means: np.ndarray, share: float) -> int:
    """Index of the first mean that is within ``share`` of the best one."""
    return int((means >= means.max() - share * abs(means.max())).argmax())


def drawn(curve: Mapping[float, Sample], share: float) -> np.ndarray | None:
    """Value of the axis at the knee in each bootstrap resample of the runs; None if the runs do not vary.

    Curves of the same runs are resampled alike, so that sums of their knees have an interval too.
    """
    import numpy as np

    places = sorted(curve)
    samples = [curve[place] for place in places]
    runs = sorted(set.intersection(*(set(sample.values) for sample in samples)))
    if len(runs) < 2 or any(sample.is_exact for sample in samples):
        return None
    values = np.array([[sample.values[run] for run in runs] for sample in samples])
    draws = np.random.default_rng(SEED).integers(len(runs), size=(DRAWS, len(runs)))
    means = values[:, draws].mean(axis=2)
    best = means.max(axis=0)
    chosen = np.argmax(means >= best - share * np.abs(best), axis=0)
    found: np.ndarray = np.array(places)[chosen]
    return found


def interval(draws: np.ndarray | None) -> tuple[float | None, float | None]:
    """Ends of the 95 % interval of bootstrap resamples; None for both if there are none."""
    import numpy as np

    if draws is None:
        return None, None
    tail = (1.0 - COVERAGE) / 2.0
    low, high = np.quantile(draws, [tail, 1.0 - tail], method="inverted_cdf")
    return float(low), float(high)


def _number(x: str, value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise ResultsError(f"x = {x}: its values must be numbers, not {value}")
    return number
