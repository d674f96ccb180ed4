"""Results to compare: given, read from a file, or of a scenario run first; reasons to doubt them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from crossfade import api, plans
from crossfade.comparison.choices import METHOD, keys_in
from crossfade.comparison.paired import Sample
from crossfade.errors import ResultsError, ScenarioError, shortened
from crossfade.figures.choice import COMPARISON, limit
from crossfade.plans.options import Options
from crossfade.plans.selection import axis_of
from crossfade.results.metrics import metric_of, near_metrics, not_metrics
from crossfade.results.opening import is_results_file
from crossfade.results.results import Results
from crossfade.tables import label
from crossfade.wording import METHODS

# Largest number of names that an error message lists.
MOST_NAMED = 12


def results_of(
    source: Results | api.ScenarioLike,
    chosen: Mapping[str, str | Sequence[str]],
    metrics: Sequence[str],
    options: Options,
    where: Mapping[str, Any] | None = None,
) -> Results:
    """The results to compare: given, read from a results file, or of a scenario that is run for them.

    ``chosen`` maps the name of each option to the axes of choices that it names. ``where`` selects points
    (:meth:`Results.where`); of a scenario, only points that meet its conditions on axes are run. A wrong
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
            if name.rpartition(".")[2] not in plan["units"]:  # names of parts are known after the runs
                raise _unknown_metric(name, list(plan["units"]))
        results = api.solve(source, options)
    results = results.where(where) if where else results
    known = [*results.metrics, *results.parts]
    for name in metrics:
        if name not in known:
            raise _unknown_metric(name, known)
    return results


def loaded(source: Results | api.ScenarioLike) -> Results | None:
    """Results given or read from a results file; None if ``source`` is a scenario that is not run yet."""
    if isinstance(source, str | PathLike) and is_results_file(source):
        return plans.load_results(source)
    return source if isinstance(source, Results) else None


def _of_axes(where: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """Conditions of ``where`` on axes of a plan; :class:`ScenarioError` for a name that is no column."""
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
    """Unit of a metric in the results; empty if no point has the metric."""
    found = ({**point.metrics, **point.parts}.get(metric) for point in results.points)
    return next((estimate.unit for estimate in found if estimate is not None), "")


def is_better_low(metric: str) -> bool:
    """True if lower values of a metric are better."""
    found = metric_of(metric)
    return found is not None and found.direction == "lower"


def missing(results: Results, metrics: Sequence[str]) -> list[str]:
    """Warnings about metrics that some runs of a point lack while others have them, one line each."""
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
    """Reasons to doubt a comparison of results, one line each."""
    found = list(results.warnings)
    if any(point.runs == 1 for point in results.points):
        found.append("a single run has no interval: nothing can be told of it")
    if not results.complete:
        found.append("the results are not complete: points or runs are missing")
    return found
