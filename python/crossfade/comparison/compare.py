"""Which choice has more of a metric, by how much, and where that changes, with an interval on every answer.

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
from typing import Any, Unpack, get_args

from crossfade import api, plans
from crossfade._crossfade import USUAL_METRIC
from crossfade.comparison.gates import Gate, worst_run
from crossfade.comparison.paired import COVERAGE, Crossing, Curve, Sample, Verdict, each_of
from crossfade.errors import ResultsError, ScenarioError, shortened
from crossfade.plans.options import Options, RunOptions
from crossfade.quantities import in_numbers, is_log_spaced
from crossfade.results.metrics import metric_of, near_metrics
from crossfade.results.opening import is_results_file
from crossfade.results.results import Point, Results
from crossfade.tables import Cell, Table, label
from crossfade.wording import METHODS

METHOD = "method"

Cells = tuple[Cell, ...]
"""The values of some axes, as they stand in tables."""

# Names that a line of an error has room for.
MOST_NAMED = 12


@dataclass(frozen=True)
class Pair:
    """Two choices under one condition: the ``first`` less the ``second``.

    ``verdict`` is about the first: ``higher``, ``lower``, ``too close to call`` where the interval contains
    0, ``equal`` where all runs are equal, ``cannot tell`` where a single run has no interval. ``pairs`` is
    the number of runs that both have, 0 where both are exact. ``reference`` is the mean of the second over
    these, of which a difference is a share. ``worst_run`` is the run in which the first is worst against the
    second, ``worst_difference`` the difference there; None of a single run. ``axes`` are those of the point
    of the first, ``method`` is its method.
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
    """Where the curves of two choices cross or touch along an axis, all other conditions being fixed."""

    condition: dict[str, Cell]
    axis: str
    unit: str
    first: str
    second: str
    crossing: Crossing


@dataclass(frozen=True)
class Comparison:
    """All pairs of choices under every condition, and where their curves cross."""

    by: list[str]
    metric: str
    unit: str
    conditions: list[str]
    pairs: list[Pair]
    crossings: list[CurveCrossing]
    warnings: list[str]

    def table(self) -> Table:
        """A row a condition and pair."""
        columns = [*self.conditions, "first", "second", "difference", "ci95", "pairs", "verdict"]
        columns += ["worst_run", "worst_difference"]
        return Table.of(columns, self.records())

    def records(self) -> list[dict[str, Cell]]:
        """The rows of :meth:`table`."""
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

        A condition is a verdict (``"lower"``), or a limit of the mean difference, in the metric's unit
        (``"difference<-1e5"``) or as a share of the mean of the second (``"difference<-2%"``).
        :class:`ScenarioError` where one is neither.
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

    def crossing_table(self) -> Table:
        """A row a range of an axis in which two curves cross (``x`` is where) or touch (``x`` is empty).

        ``before`` and ``after`` are verdicts about the first. ``low`` and ``high`` are empty where the range
        goes on to the end of the axis.
        """
        others = [key for key in self.conditions if any(key in found.condition for found in self.crossings)]
        columns = [*others, "axis", "unit", "first", "second", "x", "low", "high", "before", "after"]
        return Table.of(columns, (_crossing_record(found) for found in self.crossings))

    def to_csv(self) -> str:
        """:meth:`table` as CSV text; numbers read back exactly."""
        return self.table().to_csv()

    def to_json(self) -> str:
        """Pairs and crossings as JSON text; numbers read back exactly."""
        found = {
            "by": self.by,
            "metric": self.metric,
            "unit": self.unit,
            "pairs": self.records(),
            "crossings": self.crossing_table().records(),
            "warnings": self.warnings,
        }
        return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)


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
    """Compare the choices that the axes ``by`` offer, in pairs, at every point of the other axes.

    ``source`` is a scenario (which is run, with the ``options`` of :func:`crossfade.run`), its results, or a
    results file. ``by`` is an axis or several (``"tcp.variant"``, ``"tcp.variant,tcp.w_max"``), or
    ``"method"``. The difference is that of the runs that both points have, taken run by run, since run r has
    the same random numbers at every point; runs in which either lacks the metric are left out. An exact value
    has no interval: its difference to a simulated one has that of the simulation.

    ``where`` takes a part of the points (:meth:`Results.where`).

    Each interval covers its difference in 95 % of experiments; with ``together`` all of them do at once
    (Bonferroni: each at 100 % - 5 % / number of pairs).

    >>> import crossfade as cf
    >>> found = cf.compare("tcp-energy", "tcp.variant", metric="throughput_per_slot",
    ...     over={"tcp.variant": ["tahoe", "reno"], "channel.fd_t": [0.01]})
    >>> found.pairs[0].condition["channel.fading_margin_db"], found.pairs[0].verdict
    (5, 'higher')

    Raises :class:`ScenarioError` where ``by`` names no axis, :class:`ResultsError` where there is no such
    metric.
    """
    results = results_of(source, {"by": by}, [metric], Options.of(RunOptions, options, methods=methods))
    results = results.where(where) if where else results
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
    """What makes a comparison of results doubtful."""
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
    """Where the curves of a metric reach a level, with intervals, along every numeric axis.

    For a method without randomness, :func:`crossfade.threshold` finds the place itself instead of a straight
    line between the values of an axis.
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
) -> Results:
    """The results to compare: as they are, from a results file, or of a scenario that is run for them.

    ``chosen`` has the axes of the choices by the name of the option that names them. What is wrong with them
    or with a metric is said before anything runs.
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
        _check_keys(chosen, plan["axes"], [point["axes"] for point in plan["points"]], plan["methods"])
        for name in metrics:
            if name.rpartition(".")[2] not in plan["units"]:  # which flows and links there are is seen later
                raise _unknown_metric(name, list(plan["units"]))
        results = api.solve(source, options)
    known = [*results.metrics, *results.parts]
    for name in metrics:
        if name not in known:
            raise _unknown_metric(name, known)
    return results


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
