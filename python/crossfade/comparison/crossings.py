"""Places where two curves cross or one reaches a level, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

from crossfade import api
from crossfade._crossfade import USUAL_METRIC
from crossfade.comparison.choices import Choices
from crossfade.comparison.paired import Crossing, Sample
from crossfade.comparison.subjects import results_of
from crossfade.plans.options import Options, RunOptions
from crossfade.results.results import Results
from crossfade.tables import Cell, Table


@dataclass(frozen=True)
class CurveCrossing:
    """Crossing of the curves of two choices along an axis, with all other conditions fixed.

    Attributes
    ----------
    condition : dict
        Values of the other axes.
    axis : str
        Dotted key of the axis.
    unit : str
        Unit of the axis; empty for a pure number.
    first, second : str
        The choices.
    crossing : Crossing
        Place and interval of the crossing.

    Examples
    --------
    >>> import crossfade as cf
    >>> over = {"channel.fd_t": [0.08], "tcp.dupthresh": [1, 3], "tcp.variant": ["newreno"]}
    >>> found = cf.compare("quickstart", "tcp.dupthresh", metric="throughput_per_slot",
    ...     over=over, methods=["analysis"])
    >>> [(at.axis, round(at.crossing.x, 4)) for at in found.crossings]
    [('channel.p_e', 0.0043)]
    """

    condition: dict[str, Cell]
    axis: str
    unit: str
    first: str
    second: str
    crossing: Crossing


def crossings(
    source: Results | api.ScenarioLike,
    level: float,
    *,
    metric: str = USUAL_METRIC,
    methods: Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> list[CurveCrossing]:
    """Places along every numeric axis where the curve of a metric reaches a level, with intervals.

    Between values of an axis the curve is a straight line. For a method without randomness,
    :func:`crossfade.curves.threshold` finds the exact place.

    Parameters
    ----------
    source : Results, Scenario, mapping, path or str
        A scenario (which is run), its results, or a results file.
    level : float
        Level, in the unit of the metric.
    metric : str
        Name of the metric.
    methods : sequence of str, optional
        Names of methods.
    **options
        Those of :func:`crossfade.run`, for a scenario.

    Returns
    -------
    list of CurveCrossing
        Places, each in the unit of its axis.

    Raises
    ------
    ScenarioError
        If an option is wrong.
    ResultsError
        If there is no such metric.

    Examples
    --------
    >>> import crossfade as cf
    >>> over = {"tcp.variant": ["reno"], "channel.p_e": "log:0.001:0.3:7"}
    >>> found = cf.curves.crossings(
    ...     "quickstart", 0.5, metric="throughput_per_slot", over=over, methods=["analysis"]
    ... )
    >>> [(at.axis, round(at.crossing.x, 2)) for at in found]
    [('channel.p_e', 0.13)]
    """
    results = results_of(source, {}, [metric], Options.of(RunOptions, options, methods=methods))
    return [
        CurveCrossing(line.condition, line.axis, line.unit, metric, f"{level:g}", crossing)
        for line in Choices.of(results, []).lines()
        for crossing in line.curve(
            [Sample.of(points[()], metric) - level for points in line.points]
        ).crossings
    ]


def crossings_table(conditions: Sequence[str], found: Sequence[CurveCrossing]) -> Table:
    """Crossings as a table, with a column for each of ``conditions`` that some crossing fixes."""
    others = [key for key in conditions if any(key in at.condition for at in found)]
    columns = [*others, "axis", "unit", "first", "second", "x", "low", "high", "before", "after"]
    return Table.of(columns, map(_record, found))


def _record(found: CurveCrossing) -> dict[str, Cell]:
    named: dict[str, Cell] = {"axis": found.axis, "unit": found.unit, "first": found.first}
    crossing = found.crossing
    place = {"x": crossing.x, "low": crossing.low, "high": crossing.high}
    sides = {"before": crossing.before, "after": crossing.after}
    return found.condition | named | {"second": found.second} | place | sides
