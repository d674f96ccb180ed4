"""Comparison of two choices: which has more of a metric, by how much, where that changes; with intervals.

The difference of two points is taken run by run (:mod:`crossfade.comparison.paired`). Points are sorted into
*conditions*, and under each condition into *choices*: what is compared.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack, get_args

from crossfade import api, plans
from crossfade._crossfade import USUAL_METRIC
from crossfade.comparison.gates import Gate, worst_run
from crossfade.comparison.paired import COVERAGE, Crossing, Curve, Sample, Verdict, each_of
from crossfade.errors import ResultsError, ScenarioError, shortened
from crossfade.figures.choice import COMPARISON, limit
from crossfade.plans.options import Options, RunOptions
from crossfade.plans.selection import axis_of
from crossfade.quantities import in_numbers, is_log_spaced
from crossfade.results.metrics import metric_of, near_metrics, not_metrics
from crossfade.results.opening import is_results_file
from crossfade.results.points import Point
from crossfade.results.results import Results
from crossfade.tables import Cell, Table, label
from crossfade.wording import METHODS

if TYPE_CHECKING:
    import pandas as pd

METHOD = "method"

Cells = tuple[Cell, ...]
"""The values of some axes, as they stand in tables."""

# Names that a line of an error has room for.
MOST_NAMED = 12


@dataclass(frozen=True)
class Pair:
    """Two choices under one condition: the ``first`` less the ``second``.

    Attributes
    ----------
    condition : dict
        Values of the axes that are not compared.
    first, second : str
        The choices.
    difference : float
        Mean of the differences run by run, in the unit of the metric.
    ci95 : float or None
        Half-width of its interval; None of a single run.
    pairs : int
        Number of runs that both have; 0 where both are exact.
    verdict : str
        About the first: ``higher``, ``lower``, ``too close to call`` where the interval contains 0, ``equal``
        where all runs are equal, ``cannot tell`` where a single run has no interval.
    reference : float
        Mean of the second over these runs, of which a difference is a share.
    worst_run : int or None
        Run in which the first is worst against the second; None of a single run.
    worst_difference : float or None
        The difference there.
    axes : dict
        Those of the point of the first.
    method : str
        Its method.

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
class CurveCrossing:
    """Crossing of the curves of two choices along an axis, all other conditions being fixed.

    Attributes
    ----------
    condition : dict
        Values of the other axes.
    axis : str
        Dotted key of the axis.
    unit : str
        Its unit, empty of a pure number.
    first, second : str
        The choices.
    crossing : Crossing
        The place.

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
        Its unit.
    conditions : list of str
        The other axes.
    pairs : list of Pair
        Two choices under one condition each.
    crossings : list of CurveCrossing
        Where curves cross or touch.
    warnings : list of str
        What makes the comparison doubtful.

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
        """A row a condition and pair.

        Returns
        -------
        pandas.DataFrame
            Columns: the conditions, ``first``, ``second``, ``difference`` and ``ci95`` in the unit of the
            metric, ``pairs``, ``verdict``, ``worst_run``, ``worst_difference``.
        """
        return pairs_table(self).to_pandas()

    def records(self) -> list[dict[str, Cell]]:
        """The rows of :meth:`table`.

        Returns
        -------
        list of dict
            A dictionary a row; None where there is nothing.
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
        """The pair with the run in which the first falls behind most, as a share of the second."""
        known = [pair for pair in self.pairs if pair.worst_difference is not None]
        sign = 1.0 if is_better_low(self.metric) else -1.0

        def loss(pair: Pair) -> float:
            return sign * (pair.worst_difference or 0.0) / (abs(pair.reference) or 1.0)

        return max(known, key=loss, default=None)

    def failures(self, conditions: Sequence[str]) -> list[tuple[str, Pair]]:
        """The pairs that meet one of some conditions, each with the first condition that it meets.

        Parameters
        ----------
        conditions : sequence of str
            A condition is a verdict (``"lower"``), or a limit of the mean difference, in the metric's unit
            (``"difference<-1e5"``) or as a share of the mean of the second (``"difference<-2%"``).

        Returns
        -------
        list of tuple of (str, Pair)
            Conditions with the pairs that meet them, in the order of the pairs.

        Raises
        ------
        ScenarioError
            If a condition is neither.
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
        """A row a range of an axis in which two curves cross (``x`` is where) or touch (``x`` is missing).

        Returns
        -------
        pandas.DataFrame
            ``x``, ``low`` and ``high`` are in ``unit``, that of the ``axis``; the last two are missing where
            the range goes on to the end of the axis. ``before`` and ``after`` are verdicts about the first.
        """
        return crossings_table(self).to_pandas()

    def to_csv(self) -> str:
        """:meth:`table` as CSV text; numbers read back exactly.

        Returns
        -------
        str
            Lines of CSV, with names at first.
        """
        return pairs_table(self).to_csv()

    def to_json(self) -> str:
        """All that was found as JSON text: a list, with an object for each difference and each crossing.

        ``crossfade schema --compare`` describes it. Numbers read back exactly.

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


def crossings_table(found: Comparison) -> Table:
    """Rows of :meth:`Comparison.crossing_table`, as a table."""
    others = [key for key in found.conditions if any(key in at.condition for at in found.crossings)]
    columns = [*others, "axis", "unit", "first", "second", "x", "low", "high", "before", "after"]
    return Table.of(columns, map(_crossing_record, found.crossings))


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

    The difference is that of the runs that both points have, taken run by run, since run r has the same
    random numbers at every point; runs in which either lacks the metric are left out. An exact value has no
    interval: its difference to a simulated one has that of the simulation.

    Parameters
    ----------
    source : Results, Scenario, mapping, path or str
        A scenario (which is run), its results, or a results file.
    by : str or sequence of str
        An axis or several (``"tcp.variant"``, ``"tcp.variant,tcp.w_max"``), or ``"method"``.
    metric : str
        What is compared, also of a flow or link.
    methods : sequence of str, optional
        Names of methods.
    together : bool
        Whether all intervals hold at once with 95 % (Bonferroni: each at 100 % - 5 % / number of pairs),
        instead of each by itself.
    where : mapping, optional
        A part of the points (:meth:`Results.where`).
    **options
        Those of :func:`crossfade.run`, for a scenario.

    Returns
    -------
    Comparison
        Pairs and crossings; differences in the unit of the metric.

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


def is_better_low(metric: str) -> bool:
    """Whether less of a metric is better."""
    found = metric_of(metric)
    return found is not None and found.direction == "lower"


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


def missing(results: Results, metrics: Sequence[str]) -> list[str]:
    """The metrics that some runs of a point lack while others of it have them."""
    found = []
    for metric in metrics:
        lacking = [
            (point.runs - len(values), point.runs)
            for point in results.points
            if point.runs and 0 < len(values := Sample.of(point, metric).values) < point.runs
        ]
        if lacking:
            left, of = map(sum, zip(*lacking, strict=True))
            found.append(
                f"{metric} is undefined in {left} of {of} runs of {len(lacking)} of {len(results.points)} "
                "points: these runs are left out, which may be a bias"
            )
    return found


def doubts(results: Results) -> list[str]:
    """Reasons to doubt a comparison of results."""
    found = list(results.warnings)
    if any(point.runs == 1 for point in results.points):
        found.append("a single run has no interval: nothing can be told of it")
    if not results.complete:
        found.append("the results are not complete: points or runs are missing")
    return found


def crossings(
    source: Results | api.ScenarioLike,
    level: float,
    *,
    metric: str = USUAL_METRIC,
    methods: Sequence[str] | None = None,
    **options: Unpack[RunOptions],
) -> list[CurveCrossing]:
    """Places where the curves of a metric reach a level, with intervals, along every numeric axis.

    For a method without randomness, :func:`crossfade.curves.threshold` finds the place itself instead of a
    straight line between the values of an axis.

    Parameters
    ----------
    source : Results, Scenario, mapping, path or str
        A scenario (which is run), its results, or a results file.
    level : float
        In the unit of the metric.
    metric : str
        Name of the metric.
    methods : sequence of str, optional
        Names of methods.
    **options
        Those of :func:`crossfade.run`, for a scenario.

    Returns
    -------
    list of CurveCrossing
        Places, in the unit of their axis.

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


def _difference(first: Cells, second: Cells, metric: str, points: Mapping[Cells, Point]) -> Sample:
    if first not in points or second not in points:
        return Sample.exact(math.nan)
    return Sample.of(points[first], metric) - Sample.of(points[second], metric)


@dataclass(frozen=True)
class Line:
    """The points along one numeric axis, all other conditions being fixed: choices at each place."""

    condition: dict[str, Cell]
    axis: str
    unit: str
    xs: list[float]
    points: Sequence[Mapping[Cells, Point]]

    @property
    def choices(self) -> list[Cells]:
        """Every choice that there is at some place."""
        return list(dict.fromkeys(choice for points in self.points for choice in points))

    def curve(self, samples: Sequence[Sample], coverage: float = COVERAGE) -> Curve:
        """The curve of a quantity, given at each place; straight over log x where the axis is so spaced."""
        return Curve(self.xs, samples, is_log_spaced(self.xs), coverage)


@dataclass(frozen=True)
class Choices:
    """Points by condition, and under each condition by choice."""

    chosen: list[str]
    conditions: list[str]
    points: dict[Cells, dict[Cells, Point]]

    @classmethod
    def of(cls, results: Results, chosen: str | Sequence[str]) -> Choices:
        """``chosen`` are the axes of the choices; all others, and the method if there are several, are
        conditions.
        """
        chosen = keys_in(chosen)
        several = len({point.method for point in results.points}) > 1
        conditions = [axis for axis in [*results.axes, *([METHOD] if several else [])] if axis not in chosen]
        choices = cls(chosen, conditions, {})
        for point in results.points:
            under = choices.points.setdefault(_cells(point, conditions), {})
            under[_cells(point, chosen)] = point
        return choices

    def named(self, condition: Cells) -> dict[str, Cell]:
        """A condition by the names of its axes."""
        return dict(zip(self.conditions, condition, strict=True))

    def lines(self) -> Iterator[Line]:
        """Along every numeric axis of the conditions that has two values or more."""
        for axis in self.conditions:
            values = list(dict.fromkeys(condition[self.conditions.index(axis)] for condition in self.points))
            numbers = in_numbers(values)
            if numbers is None or len(values) < 2:
                continue
            places = dict(zip(values, numbers[0], strict=True))
            others = [key for key in self.conditions if key != axis and not self._follows(key, axis)]
            lines: dict[Cells, dict[float, Mapping[Cells, Point]]] = {}
            for condition, points in self.points.items():
                named = self.named(condition)
                fixed = tuple(named[key] for key in others)
                lines.setdefault(fixed, {})[places[named[axis]]] = points
            for fixed, by_place in lines.items():
                xs = sorted(by_place)
                if len(xs) > 1:
                    condition_here = dict(zip(others, fixed, strict=True))
                    yield Line(condition_here, axis, numbers[1], xs, [by_place[x] for x in xs])

    def _follows(self, key: str, axis: str) -> bool:
        """Whether the value of an axis is given by that of another: they are zipped."""
        at, given = self.conditions.index(key), self.conditions.index(axis)
        return len({(condition[at], condition[given]) for condition in self.points}) == len(
            {condition[given] for condition in self.points}
        )


def _cells(point: Point, keys: Sequence[str]) -> Cells:
    return tuple(point.method if key == METHOD else label(point.axes[key]) for key in keys)


def words(choice: Cells) -> str:
    """A choice as text."""
    return ", ".join(f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in choice)


def keys_in(text: str | Sequence[str]) -> list[str]:
    """Keys, separated by commas where they are one text."""
    keys = text.split(",") if isinstance(text, str) else text
    if not isinstance(keys, Sequence) or not all(isinstance(key, str) for key in keys):
        raise ScenarioError(f"{shortened(repr(text))}: no axis; must be its key, or a list of keys")
    return list(dict.fromkeys(key.strip() for key in keys))


def loaded(source: Results | api.ScenarioLike) -> Results | None:
    """The results that ``source`` is or holds, None of a scenario that is yet to be run."""
    if isinstance(source, str | PathLike) and is_results_file(source):
        return plans.load_results(source)
    return source if isinstance(source, Results) else None


def results_of(
    source: Results | api.ScenarioLike,
    chosen: Mapping[str, str | Sequence[str]],
    metrics: Sequence[str],
    options: Options,
    where: Mapping[str, Any] | None = None,
) -> Results:
    """The results to compare: as they are, from a results file, or of a scenario that is run for them.

    ``chosen`` has the axes of the choices by the name of the option that names them, ``where`` conditions of
    the points (:meth:`Results.where`); of a scenario only the points that meet those of axes are run. A wrong
    axis, metric or condition is an error before anything runs.
    """
    if (results := loaded(source)) is not None:
        for name in ("set", "over", "runs", "precision", "seed", "jobs", "point", "at"):
            if getattr(options, name) is not None:
                raise ScenarioError(f"{name}: is for a scenario to be run, and these are results")
        results = results if options.methods is None else _by_methods(results, options.methods)
        _check_keys(chosen, results.axes, [point.axes for point in results.points], results.methods)
    else:
        assert not isinstance(source, Results)
        plan = plans.load(source, options).description
        at = _of_axes({} if where is None else where, plan)
        if at and options.point is None:
            options = replace(options, at={**(options.at or {}), **at})
            plan = plans.load(source, options).description
        _check_keys(chosen, plan["axes"], [point["axes"] for point in plan["points"]], plan["methods"])
        for name in metrics:
            if name.rpartition(".")[2] not in plan["units"]:  # which flows and links there are is seen later
                raise _unknown_metric(name, list(plan["units"]))
        results = api.solve(source, options)
    results = results.where(where) if where else results
    known = [*results.metrics, *results.parts]
    for name in metrics:
        if name not in known:
            raise _unknown_metric(name, known)
    return results


def _of_axes(where: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions that are about axes of a plan; :class:`ScenarioError` for one about no column."""
    if not isinstance(where, Mapping):
        raise ResultsError(f"where = {shortened(repr(where))}: must be a mapping from columns to values")
    found: dict[str, Any] = {}
    for name, value in where.items():
        column = axis_of(str(name))
        if COMPARISON.fullmatch(str(name)):
            limit(str(name), value)
        if column in plan["axes"]:
            found[name] = value
        elif column not in (METHOD, "runs") and not_metrics(column):
            axes = ", ".join(plan["axes"]) or "none: this is a single point"
            hint = near_metrics(column) or f"axes: {axes}"
            raise ScenarioError(f"where {shortened(column)}: no axis and no metric ({hint})")
    return found


def _by_methods(results: Results, methods: Sequence[str]) -> Results:
    aliases = {method.alias: method.name for method in METHODS.values()}
    full = [aliases.get(method, method) for method in methods]
    for method in full:
        if method not in results.methods:
            raise ScenarioError(
                f"method {method}: not in the results (there are: {', '.join(results.methods)})"
            )
    points = [point for point in results.points if point.method in full]
    return replace(results, methods=full, points=points)


def _check_keys(
    chosen: Mapping[str, str | Sequence[str]],
    axes: Sequence[str],
    points: Sequence[Mapping[str, Any]],
    methods: Sequence[str],
) -> None:
    for option, keys in chosen.items():
        for key in keys_in(keys):
            if key not in [*axes, METHOD]:
                known = ", ".join(axes) or "none: give some with over"
                raise ScenarioError(f"{option} {key}: not an axis (axes: {shortened(known)})")
            values = set(methods) if key == METHOD else {label(point[key]) for point in points}
            if len(values) < 2:
                raise ScenarioError(f"{option} {key}: has but one value, which leaves no choice")


def _unknown_metric(name: str, known: Sequence[str]) -> ResultsError:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else near_metrics(name)
    hint = hint or f"there are: {', '.join(known[:MOST_NAMED])}{', ...' * (len(known) > MOST_NAMED)}"
    return ResultsError(f"metric {name}: not in the results ({hint})")


def unit_of(results: Results, metric: str) -> str:
    """The unit of a metric that the results have."""
    found = ({**point.metrics, **point.parts}.get(metric) for point in results.points)
    return next((estimate.unit for estimate in found if estimate is not None), "")


def _crossing_record(found: CurveCrossing) -> dict[str, Cell]:
    named: dict[str, Cell] = {"axis": found.axis, "unit": found.unit, "first": found.first}
    crossing = found.crossing
    place = {"x": crossing.x, "low": crossing.low, "high": crossing.high}
    sides = {"before": crossing.before, "after": crossing.after}
    return found.condition | named | {"second": found.second} | place | sides
