"""Comparison of two choices: which has more of a metric, by how much, and where that changes, with intervals.

Two points are compared run by run (:mod:`crossfade.comparison.paired`). Points are sorted by *condition*, and
under each condition by *choice*.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Unpack, get_args

from crossfade import api
from crossfade._crossfade import USUAL_METRIC
from crossfade.comparison.choices import Cells, Choices, words
from crossfade.comparison.crossings import CurveCrossing, crossings_table
from crossfade.comparison.gates import Gate, worst_run
from crossfade.comparison.paired import COVERAGE, Sample, Verdict, each_of
from crossfade.comparison.subjects import doubts, is_better_low, missing, results_of, unit_of
from crossfade.errors import ResultsError
from crossfade.plans.options import Options, RunOptions
from crossfade.results.points import Point
from crossfade.results.results import Results
from crossfade.tables import Cell, Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Pair:
    """Difference of two choices under one condition: the ``first`` less the ``second``.

    Attributes
    ----------
    condition : dict
        Values of the other axes, whose values are not compared.
    first, second : str
        The choices.
    difference : float
        Mean of the differences run by run, in the unit of the metric.
    ci95 : float or None
        Half-width of the 95 % interval of the difference; None for a single run or exact values.
    pairs : int
        Number of runs that both choices have; 0 if both values are exact.
    verdict : str
        Statement about the first: ``higher``, ``lower``, ``too close to call`` if the interval contains 0,
        ``equal`` if every run is equal, ``cannot tell`` if there is no interval, as for a single run.
    reference : float
        Mean of the second over these runs, to which a difference in per cent refers.
    worst_run : int or None
        Number of the run in which the first is worst against the second; None for a single run.
    worst_difference : float or None
        Difference in that run.
    axes : dict
        Axes and values of the point of the first choice.
    method : str
        Method of that point.

    Examples
    --------
    >>> import crossfade as cf
    >>> over = {"tcp.variant": ["tahoe", "reno"], "channel.p_e": [0.01]}
    >>> (pair,) = cf.compare("quickstart", "tcp.variant", over=over, methods=["analysis"]).pairs
    >>> pair.first, pair.second, pair.pairs
    ('tahoe', 'reno', 0)
    """

    condition: dict[str, Cell]
    first: str
    second: str
    difference: float
    ci95: float | None
    pairs: int
    verdict: Verdict
    reference: float = math.nan
    worst_run: int | None = None
    worst_difference: float | None = None
    axes: dict[str, Any] = field(default_factory=dict, repr=False)
    method: str = ""


@dataclass(frozen=True)
class Comparison:
    """All pairs of choices under every condition, and where their curves cross.

    Attributes
    ----------
    by : list of str
        The axes whose values are compared.
    metric : str
        Name of the metric.
    unit : str
        Unit of the metric.
    conditions : list of str
        Names of the other axes.
    pairs : list of Pair
        One entry for each condition and pair of choices.
    crossings : list of CurveCrossing
        Places along numeric axes where two curves cross or touch.
    warnings : list of str
        Reasons to doubt the comparison.

    Examples
    --------
    >>> import crossfade as cf
    >>> over = {"tcp.variant": ["tahoe", "reno"], "channel.p_e": [0.01]}
    >>> found = cf.compare("quickstart", "tcp.variant", over=over, methods=["analysis"])
    >>> found.table()["first"].tolist()
    ['tahoe']
    """

    by: list[str]
    metric: str
    unit: str
    conditions: list[str]
    pairs: list[Pair]
    crossings: list[CurveCrossing]
    warnings: list[str]

    def table(self) -> pd.DataFrame:
        """One row per condition and pair of choices.

        Returns
        -------
        pandas.DataFrame
            Columns: the conditions, ``first``, ``second``, ``difference`` and ``ci95`` in the unit of the
            metric, ``pairs``, ``verdict``, ``worst_run``, ``worst_difference``.
        """
        return pairs_table(self).to_pandas()

    def records(self) -> list[dict[str, Cell]]:
        """Rows of :meth:`table` as dictionaries.

        Returns
        -------
        list of dict
            One dictionary per row; a value that does not exist is None.
        """
        return [
            pair.condition
            | {"first": pair.first, "second": pair.second, "difference": pair.difference}
            | {"ci95": pair.ci95, "pairs": pair.pairs, "verdict": pair.verdict}
            | {"worst_run": pair.worst_run, "worst_difference": pair.worst_difference}
            for pair in self.pairs
        ]

    @property
    def worst(self) -> Pair | None:
        """The pair with the largest loss of the first in any run, relative to the mean of the second; None
        without runs.
        """
        known = [pair for pair in self.pairs if pair.worst_difference is not None]
        sign = 1.0 if is_better_low(self.metric) else -1.0

        def loss(pair: Pair) -> float:
            return sign * (pair.worst_difference or 0.0) / (abs(pair.reference) or 1.0)

        return max(known, key=loss, default=None)

    def failures(self, conditions: Sequence[str]) -> list[tuple[str, Pair]]:
        """Pairs that meet any of the given conditions, each with the first condition that it meets.

        Parameters
        ----------
        conditions : sequence of str
            Each a verdict (``"lower"``), or a limit of the mean difference, in the metric's unit
            (``"difference<-1e5"``) or as a share of the mean of the second (``"difference<-2%"``).

        Returns
        -------
        list of tuple of (str, Pair)
            Tuples of a condition and a pair that meets it, in the order of the pairs.

        Raises
        ------
        ScenarioError
            If a condition has neither form.
        """
        gates = [Gate.parse(text, "difference", get_args(Verdict)) for text in conditions]
        return [
            (gate.text, pair)
            for pair in self.pairs
            if (
                gate := next(
                    (one for one in gates if one.fails(pair.verdict, pair.difference, pair.reference)), None
                )
            )
        ]

    def crossing_table(self) -> pd.DataFrame:
        """One row per range of an axis in which two curves cross (at ``x``) or touch (``x`` is missing).

        Returns
        -------
        pandas.DataFrame
            ``x``, ``low`` and ``high`` are in ``unit``, the unit of the ``axis``; ``low`` or ``high`` is
            missing if the range reaches the end of the axis. ``before`` and ``after`` are the verdicts about
            the first choice on either side.
        """
        return crossings_table(self.conditions, self.crossings).to_pandas()

    def to_csv(self) -> str:
        """Rows of :meth:`table` as CSV text; numbers read back exactly.

        Returns
        -------
        str
            CSV text; the first line has the names of the columns.
        """
        return pairs_table(self).to_csv()

    def to_json(self) -> str:
        """All differences and crossings as JSON text: a list with one object each.

        ``crossfade schema --compare`` describes the objects. Numbers read back exactly.

        Returns
        -------
        str
            JSON text.
        """
        common = {"metric": self.metric, "unit": self.unit, "by": self.by}
        differences = [
            {"kind": "difference", **common, "axes": pair.condition, "first": pair.first}
            | {"second": pair.second, "difference": pair.difference, "ci95": pair.ci95}
            | {"pairs": pair.pairs, "verdict": pair.verdict, "worst_run": pair.worst_run}
            | {"worst_difference": pair.worst_difference, "warnings": self.warnings}
            for pair in self.pairs
        ]
        crossings = [
            {"kind": "crossing", **common, "axes": at.condition, "axis": at.axis, "axis_unit": at.unit}
            | {"first": at.first, "second": at.second, "x": at.crossing.x, "low": at.crossing.low}
            | {"high": at.crossing.high, "before": at.crossing.before, "after": at.crossing.after}
            | {"warnings": self.warnings}
            for at in self.crossings
        ]
        return json.dumps([*differences, *crossings], indent=2, ensure_ascii=False, allow_nan=False)


def pairs_table(found: Comparison) -> Table:
    """Rows of :meth:`Comparison.table`, as a table."""
    columns = [*found.conditions, "first", "second", "difference", "ci95", "pairs", "verdict"]
    return Table.of([*columns, "worst_run", "worst_difference"], found.records())


def compare(
    source: Results | api.ScenarioLike,
    by: str | Sequence[str],
    *,
    metric: str = USUAL_METRIC,
    methods: Sequence[str] | None = None,
    together: bool = False,
    where: Mapping[str, Any] | None = None,
    **options: Unpack[RunOptions],
) -> Comparison:
    """Compare the choices that some axes offer, in pairs, at every point of the other axes.

    Two points are compared run by run over the runs that both have, since run r has the same random numbers
    at every point; runs in which either point lacks the metric are left out. An exact value has no interval,
    so its difference from a simulated one has the interval of the simulation.

    Parameters
    ----------
    source : Results, Scenario, mapping, path or str
        A scenario (which is run), its results, or a results file.
    by : str or sequence of str
        An axis or several (``"tcp.variant"``, ``"tcp.variant,tcp.w_max"``), or ``"method"``.
    metric : str
        Name of the metric to compare; that of a flow or link has its name in front (``near.goodput_bps``).
    methods : sequence of str, optional
        Names of methods.
    together : bool
        True if all intervals together are to hold with 95 % confidence (Bonferroni: each at 100 % - 5 % /
        number of pairs); False for each by itself.
    where : mapping, optional
        Conditions that select points (:meth:`Results.where`).
    **options
        Those of :func:`crossfade.run`, for a scenario.

    Returns
    -------
    Comparison
        Pairs and crossings; differences are in the unit of the metric.

    Raises
    ------
    ScenarioError
        If ``by`` names no axis, or an option is wrong.
    ResultsError
        If there is no such metric.

    Examples
    --------
    >>> import crossfade as cf
    >>> found = cf.compare("tcp-energy", "tcp.variant", metric="throughput_per_slot",
    ...     over={"tcp.variant": ["tahoe", "reno"], "channel.fd_t": [0.01]})
    >>> found.pairs[0].condition["channel.fading_margin_db"], found.pairs[0].verdict
    (5, 'higher')
    """
    asked = Options.of(RunOptions, options, methods=methods)
    results = results_of(source, {"by": by}, [metric], asked, where)
    choices = Choices.of(results, by)
    found = [
        (condition, first, second, difference)
        for condition, points in choices.points.items()
        for first, second in combinations(points, 2)
        if (difference := _difference(first, second, metric, points)).values
    ]
    if not found:
        raise ResultsError(f"{metric}: the choices have no run in common (are shards to be merged first?)")
    coverage = each_of(len(found)) if together else COVERAGE
    pairs = [
        _pair(choices, condition, first, second, difference, metric, coverage)
        for condition, first, second, difference in found
    ]
    crossings = [
        CurveCrossing(line.condition, line.axis, line.unit, words(first), words(second), crossing)
        for line in choices.lines()
        for first, second in combinations(line.choices, 2)
        for crossing in line.curve(
            [_difference(first, second, metric, points) for points in line.points], coverage
        ).crossings
    ]
    return Comparison(
        by=choices.chosen,
        metric=metric,
        unit=unit_of(results, metric),
        conditions=choices.conditions,
        pairs=pairs,
        crossings=crossings,
        warnings=[*doubts(results), *missing(results, [metric])],
    )


def _pair(
    choices: Choices,
    condition: Cells,
    first: Cells,
    second: Cells,
    difference: Sample,
    metric: str,
    coverage: float,
) -> Pair:
    points = choices.points[condition]
    of_runs = {} if difference.is_exact else difference.values
    worst = worst_run(of_runs, is_better_low(metric))
    reference = Sample.of(points[second], metric)
    return Pair(
        condition=choices.named(condition),
        first=words(first),
        second=words(second),
        difference=difference.mean,
        ci95=difference.ci95(coverage),
        pairs=len(of_runs),
        verdict=difference.verdict(coverage),
        reference=(reference if difference.is_exact else reference.within(of_runs)).mean,
        worst_run=worst[0] if worst else None,
        worst_difference=worst[1] if worst else None,
        axes=points[first].axes,
        method=points[first].method,
    )


def _difference(first: Cells, second: Cells, metric: str, points: Mapping[Cells, Point]) -> Sample:
    if first not in points or second not in points:
        return Sample.exact(math.nan)
    return Sample.of(points[first], metric) - Sample.of(points[second], metric)
