"""Thresholds: value of a key at which a metric reaches a level, such as the fading margin for a throughput of
0.9.
"""

from __future__ import annotations

from crossfade import api
from crossfade.errors import ScenarioError
from crossfade.results.points import Point


def threshold(
    scenario: api.ScenarioLike,
    *,
    metric: str,
    level: float,
    key: str,
    between: tuple[float, float],
    set: api.Values | None = None,
    method: str = "analysis",
    accuracy: float = 1e-6,
) -> tuple[float, Point]:
    """Find the value of a key at which a metric reaches a level, and solve the point there.

    The value is found by halving the range: the metric must lie on different sides of the level at the two
    ends; if it crosses the level several times, one of the crossings is found.

    Parameters
    ----------
    scenario : Scenario, mapping, path or str
        A scenario of one point.
    metric : str
        Name of the metric.
    level : float
        Level, in the unit of the metric.
    key : str
        Dotted key to vary.
    between : tuple of (float, float)
        Ends of the range of the key.
    set : mapping, optional
        Keys to set.
    method : str
        A method without randomness, since the noise of simulated values crosses a level in many places.
    accuracy : float
        Accuracy of the value, as a share of the range.

    Returns
    -------
    tuple of (float, Point)
        The value of the key, and the point there.

    Raises
    ------
    ScenarioError
        If the level is not reached between the two ends, or the scenario has a sweep.

    Examples
    --------
    >>> import crossfade as cf
    >>> link = '''
    ... schema = 2
    ... channel = { model = "markov", fading_margin_db = 20, fd_t = 0.01 }
    ... link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
    ... tcp = { flavour = "paper", variant = "tahoe", w_max = 24, rto = { fixed = "100 slots" } }
    ... '''
    >>> margin, point = cf.curves.threshold(
    ...     link, metric="throughput_per_slot", level=0.9, key="channel.fading_margin_db", between=(0, 40)
    ... )
    >>> round(margin, 2)
    14.35
    """
    if method == "simulation":
        raise ScenarioError('method = "simulation": must be one without randomness, such as "analysis"')

    def at(value: float) -> tuple[float, Point]:
        points = api.run(scenario, set={**(set or {}), key: value}, methods=[method], cache=False).points
        if len(points) > 1:
            raise ScenarioError(f"{key}: a threshold is that of one curve, and the scenario has a sweep")
        if metric not in points[0].metrics:
            known = ", ".join(points[0].metrics)
            raise ScenarioError(f'metric = "{metric}": no metric of method {method} (there are: {known})')
        return points[0].value(metric) - level, points[0]

    low, high = (float(end) for end in between)
    (at_low, _), (at_high, point) = at(low), at(high)
    if at_low * at_high > 0.0:
        ends = f"{at_low + level:.6g} at {low:g}, {at_high + level:.6g} at {high:g}"
        raise ScenarioError(f"{metric} = {level:g}: is not reached while {key} goes from end to end ({ends})")
    tolerance = accuracy * abs(high - low)
    while abs(high - low) > tolerance:
        middle = (low + high) / 2.0
        here, point = at(middle)
        if here * at_low > 0.0:
            low, at_low = middle, here
        else:
            high = middle
    return (low + high) / 2.0, point
