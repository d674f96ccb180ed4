"""The best choice under each condition, its statistical certainty, and where along an axis it changes.

Choices are compared run by run, over the runs that all of them have (:mod:`crossfade.comparison.paired`).
:mod:`crossfade.comparison.switching` finds where along an axis to change the choice.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

from crossfade import api, plans
from crossfade._crossfade import USUAL_METRIC
from crossfade.comparison.choices import Cells, Choices, words
from crossfade.comparison.gates import Gate, worst_run
from crossfade.comparison.goals import Candidate, Constraint, Goal
from crossfade.comparison.paired import COVERAGE, Sample, each_of
from crossfade.comparison.subjects import doubts, is_better_low, loaded, missing, results_of, unit_of
from crossfade.comparison.switching import Range
from crossfade.comparison.switching import ranges as switching_ranges
from crossfade.comparison.within import first_within, read_share, slacks
from crossfade.comparison.within import ranges as ranges_within
from crossfade.errors import ScenarioError
from crossfade.figures.choice import in_numbers, number
from crossfade.figures.plot import Envelope, plot
from crossfade.figures.style import Page
from crossfade.plans.options import Options, RunOptions
from crossfade.results.metrics import metric_of
from crossfade.results.results import Results
from crossfade.tables import Cell, Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Verdict = Literal[
    "best", "within", "equal", "too close to call", "constraint uncertain", "no feasible choice"
]


@dataclass(frozen=True)
class Decision:
    """Best choice under one condition, with its verdict.

    Attributes
    ----------
    condition : dict
        Values of the other axes, among which no choice is made.
    choice : dict or None
        Values of the chosen axes; None where no choice keeps to the constraints.
    value : float or None
        Mean of the metric for the choice, in the unit of the metric.
    ci95 : float or None
        Half-width of the 95 % interval of ``value``; None without one.
    at_least : bool
        True if ``value`` is a lower bound: a completion time when some flows were unfinished. ``margin`` then
        compares the times observed.
    runner_up : str or None
        Choice with the next best mean that meets the constraints. With ``within``, the best choice, if it is
        not the chosen one; otherwise None.
    margin : float or None
        Advantage over the runner-up, positive if the choice is better, in the unit of the metric.
    margin_ci95 : float or None
        Half-width of the 95 % interval of ``margin``; None without one.
    verdict : str
        ``best``: better than every other choice that may meet the constraints, beyond the interval of the
        paired difference. ``within``: significantly within the share of the best, while the choices before it
        significantly are not. ``too close to call``: the choice has the best mean, but the ``rivals`` do not
        differ from it significantly, or are better if they meet a constraint whose limit lies inside their
        interval. ``equal``: the ``rivals`` have the same value in every run, for example if nothing arrives,
        and more runs would not tell them apart. ``constraint uncertain``: for the choice itself, the limits
        of the constraints in ``uncertain`` lie inside the interval. ``no feasible choice``: no mean meets the
        constraints; ``rivals`` are the choices whose intervals reach the limits.
    rivals : list of str
        Choices that may be as good, as the verdict explains.
    uncertain : list of str
        Constraints that the choice may not meet.
    worst_run : int or None
        Number of the run in which the choice is worst against the runner-up; None of an exact value or a
        single run.

    Examples
    --------
    >>> import crossfade as cf
    >>> over = {"tcp.variant": ["tahoe", "reno"], "channel.p_e": [0.01]}
    >>> (at,) = cf.best("quickstart", "tcp.variant", method="analysis", over=over).decisions
    >>> at.choice, at.verdict
    ({'tcp.variant': 'tahoe'}, 'best')
    """

    condition: dict[str, Cell]
    choice: dict[str, Cell] | None
    value: float | None
    ci95: float | None
    at_least: bool
    runner_up: str | None
    margin: float | None
    margin_ci95: float | None
    verdict: Verdict
    rivals: list[str]
    uncertain: list[str]
    worst_run: int | None = None


@dataclass(frozen=True)
class Best:
    """Decisions under every condition, and the choice to use in each range of the numeric axes.

    Attributes
    ----------
    choose : list of str
        The axes of the choices.
    goal : Goal
        The metric, whether its lowest value is best, and the constraints.
    unit : str
        The unit of the metric.
    method : str
        Method whose results decide.
    conditions : list of str
        Names of the other axes.
    decisions : list of Decision
        The choice under each condition.
    ranges : list of Range
        Range by range along each numeric axis, the choice to use.
    warnings : list of str
        Reasons to doubt the decisions.
    results : Results
        Results from which the decisions were made.
    within : float or None
        Share of the best value that the first choice may lose; None if the best choice itself is sought.

    Examples
    --------
    >>> import crossfade as cf
    >>> over = {"tcp.variant": ["tahoe", "reno"], "channel.p_e": [0.01, 0.1]}
    >>> found = cf.best("quickstart", "tcp.variant", method="analysis", over=over)
    >>> found.table()["tcp.variant"].tolist()
    ['tahoe', 'tahoe']
    """

    choose: list[str]
    goal: Goal
    unit: str
    method: str
    conditions: list[str]
    decisions: list[Decision]
    ranges: list[Range]
    warnings: list[str]
    results: Results
    within: float | None = None
    """Share of the best value that the first choice may lose; None if the best choice itself is sought."""

    def failures(self, conditions: Sequence[str]) -> list[tuple[str, Decision]]:
        """Decisions that meet any of the given conditions, each with the first condition that it meets.

        Parameters
        ----------
        conditions : sequence of str
            Each a verdict (``"too close to call"``), a limit of the margin over the runner-up, in the
            metric's unit or as a share of the value (``"margin<2%"``), or a choice (``"choice!=reno"``).

        Returns
        -------
        list of tuple of (str, Decision)
            Pairs of a condition and a decision that meets it, in the order of the decisions.

        Raises
        ------
        ScenarioError
            If a condition has none of these forms.
        """
        gates = [Gate.parse(text, "margin", get_args(Verdict)) for text in conditions]

        def fails(gate: Gate, at: Decision) -> bool:
            choice = "none" if at.choice is None else words(tuple(at.choice.values()))
            return gate.fails(at.verdict, at.margin, at.value, choice)

        return [
            (gate.text, at)
            for at in self.decisions
            if (gate := next((one for one in gates if fails(one, at)), None))
        ]

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        *,
        width: str | float | None = None,
        font_size: float | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Figure:
        """Draw the metric of every choice, the best one shaded, with dotted lines where the best choice
        changes.

        The results need exactly one numeric axis beside those of the choices.

        Parameters
        ----------
        path : path, optional
            PNG, PDF or SVG by its ending; nothing is written without it.
        width, font_size, ax
            As in :func:`crossfade.plot`.
        **options
            Others of :func:`crossfade.plot`.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; a notebook shows it.

        Raises
        ------
        ScenarioError
            If there are other axes beside the choices.
        """
        lines = {json.dumps(found.condition) for found in self.ranges}
        if len(self.conditions) != 1 or len(lines) != 1:
            raise ScenarioError(
                f"plot: needs one numeric axis beside the choices, not {', '.join(self.conditions) or 'none'}"
            )
        (axis,) = self.conditions
        table, _ = in_numbers(self.results.table(), axis)
        xs: list[float] = []
        ys: list[float] = []
        for found in self.ranges:
            curve = sorted(
                (number(record[axis]), number(record[self.goal.metric]))
                for record in table.records()
                if found.choice is not None and found.choice.items() <= record.items()
            )
            within = [x for x, _ in curve if found.start < x < found.end]
            for x in [found.start, *within, found.end]:
                xs.append(x)
                ys.append(_interpolated(curve, x))
        shaded = Envelope(xs, ys, [found.end for found in self.ranges[:-1]])
        drawn: dict[str, Any] = {"x": axis, "y": self.goal.metric, "by": self.choose}
        drawn |= {"envelope": shaded} | options
        file = None if path is None else fspath(path)
        table = self.results.drawn([self.goal.metric])
        return plot(table, file, width=Page(width or "", font_size, ax), **drawn)

    def table(self) -> pd.DataFrame:
        """One row per condition: the best choice, its metric with interval, and the verdict.

        Returns
        -------
        pandas.DataFrame
            Columns: the conditions, the chosen axes, the metric and its ``_ci95`` in its unit, ``runner_up``,
            ``margin``, ``margin_ci95``, ``verdict``, ``rivals``, ``uncertain``, ``worst_run``.
        """
        return decisions_table(self).to_pandas()

    def _bounds(self) -> list[str]:
        """Name of the column that marks values which are lower bounds; no column if there are none."""
        return [f"{self.goal.metric}_at_least"] if any(found.at_least for found in self.decisions) else []

    def records(self) -> list[dict[str, Cell]]:
        """Rows of :meth:`table` as dictionaries.

        Returns
        -------
        list of dict
            One dictionary per row; a value that does not exist is None.
        """
        metric = self.goal.metric
        return [
            found.condition
            | (found.choice or {})
            | {metric: found.value, f"{metric}_ci95": found.ci95, "runner_up": found.runner_up}
            | dict.fromkeys(self._bounds(), int(found.at_least))
            | {"margin": found.margin, "margin_ci95": found.margin_ci95, "verdict": found.verdict}
            | {"rivals": "; ".join(found.rivals) or None, "uncertain": "; ".join(found.uncertain) or None}
            | {"worst_run": found.worst_run}
            for found in self.decisions
        ]

    def switching_table(self) -> pd.DataFrame:
        """One row per range of an axis: its ends, and the choice to use between them.

        Returns
        -------
        pandas.DataFrame
            ``from`` and ``to`` are in ``unit``, the unit of the ``axis``. ``to_low`` and ``to_high`` are the
            ends of the interval of ``to``, missing if the interval reaches the end of the axis. ``because``
            is the metric or constraint that causes the change, missing in the last range.
        """
        return ranges_table(self).to_pandas()

    def to_csv(self) -> str:
        """Rows of :meth:`table` as CSV text; numbers read back exactly.

        Returns
        -------
        str
            CSV text; the first line has the names of the columns.
        """
        return decisions_table(self).to_csv()

    def to_json(self) -> str:
        """All decisions and ranges as JSON text: a list with one object each.

        ``crossfade schema --best`` describes the objects. Numbers read back exactly.

        Returns
        -------
        str
            JSON text.
        """
        common = {
            "metric": self.goal.metric,
            "unit": self.unit,
            "lowest": self.goal.lowest,
            "within": self.within,
            "subject_to": [str(constraint) for constraint in self.goal.constraints],
            "method": self.method,
        }
        decisions = [
            {"kind": "decision", **common}
            | _renamed(asdict(found), condition="axes")
            | {"warnings": self.warnings}
            for found in self.decisions
        ]
        names = {"condition": "axes", "unit": "axis_unit", "start": "from", "end": "to"}
        names |= {"end_low": "to_low", "end_high": "to_high"}
        ranges = [
            {"kind": "range", **common} | _renamed(asdict(found), **names) | {"warnings": self.warnings}
            for found in self.ranges
        ]
        return json.dumps([*decisions, *ranges], indent=2, ensure_ascii=False, allow_nan=False)


def decisions_table(found: Best) -> Table:
    """Rows of :meth:`Best.table`, as a table."""
    metric = found.goal.metric
    columns = [*found.conditions, *found.choose, metric, f"{metric}_ci95", *found._bounds()]
    columns += ["runner_up", "margin", "margin_ci95", "verdict", "rivals", "uncertain", "worst_run"]
    return Table.of(columns, found.records())


def ranges_table(found: Best) -> Table:
    """Rows of :meth:`Best.switching_table`, as a table."""
    others = [key for key in found.conditions if any(key in at.condition for at in found.ranges)]
    columns = [*others, "axis", "unit", "from", "to", *found.choose, "to_low", "to_high", "because"]
    return Table.of(columns, map(_range_record, found.ranges))


def best(
    source: Results | api.ScenarioLike,
    choose: str | Sequence[str],
    *,
    metric: str = USUAL_METRIC,
    lowest: bool | None = None,
    within: str | float | None = None,
    subject_to: Sequence[str] = (),
    method: str | None = None,
    together: bool = False,
    where: Mapping[str, Any] | None = None,
    **options: Unpack[RunOptions],
) -> Best:
    """Find the choice with the best metric at every point of the other axes.

    Each decision compares the choice with the best mean with every other one, run by run. See
    :class:`Decision` for the verdicts, and :class:`Range` for the choice to use along an axis.

    Parameters
    ----------
    source : Results, Scenario, mapping, path or str
        A scenario (which is run), its results, or a results file.
    choose : str or sequence of str
        The axes of the choices (``"tcp.variant,tcp.w_max"``: every pair of values).
    metric : str
        Name of the metric to optimise; that of a flow or link has its name in front (``near.goodput_bps``).
    lowest : bool, optional
        True if the lowest value is best. Default: as the metric defines; required for a metric without a
        better side.
    within : str or float, optional
        Share of the best value (``"2%"``): find the first choice, in the order of its axis, that loses no
        more than this share. List choices from cheap to expensive. For a numeric axis
        :func:`crossfade.curves.knee` finds such a value with a bootstrap interval.
    subject_to : sequence of str
        Constraints on means (``["rtt_p95_s<0.8"]``).
    method : str, optional
        Method whose results decide (default: simulation, if the results have it).
    together : bool
        True if all statements together are to hold with 95 % confidence (Bonferroni); False for each by
        itself.
    where : mapping, optional
        Conditions that select points (:meth:`Results.where`).
    **options
        Those of :func:`crossfade.run`, for a scenario.

    Returns
    -------
    Best
        Decisions and ranges; values in the unit of the metric.

    Raises
    ------
    ScenarioError
        If an option is wrong.
    ResultsError
        If there is no such metric.

    Examples
    --------
    >>> import crossfade as cf
    >>> found = cf.best("quickstart", "tcp.dupthresh", method="analysis",
    ...     over={"tcp.variant": ["newreno"], "channel.fd_t": [0.08], "tcp.dupthresh": [1, 3]})
    >>> [(round(at.end, 4), at.choice["tcp.dupthresh"]) for at in found.ranges]
    [(0.0043, 3), (0.3, 1)]
    """
    goal = Goal(metric, is_lowest(metric, lowest), [Constraint.parse(text) for text in subject_to])
    share = read_share(within)
    metrics = list(dict.fromkeys([metric, *(constraint.metric for constraint in goal.constraints)]))
    source, asked = loaded(source) or source, Options.of(RunOptions, options)
    if isinstance(source, Results):
        known = source.methods
    else:
        known = plans.load(source, asked).description["methods"]
    method = method or ("simulation" if "simulation" in known else known[0])
    results = results_of(source, {"choose": choose}, metrics, replace(asked, methods=[method]), where)
    choices = Choices.of(results, choose)
    conditions = {condition: goal.candidates(points) for condition, points in choices.points.items()}
    statements = sum(
        len(under) * (len(under) - 1) // 2 + len(under) * len(goal.constraints)
        for under in conditions.values()
    )
    coverage = each_of(statements) if together else COVERAGE
    return Best(
        choose=choices.chosen,
        goal=goal,
        unit=unit_of(results, metric),
        method=results.methods[0],
        conditions=choices.conditions,
        warnings=[*doubts(results), *missing(results, metrics)],
        results=results,
        decisions=[
            _decide(choices.named(condition), choices.chosen, under, goal, coverage)
            if share is None
            else _decide_within(choices.named(condition), choices.chosen, under, goal, share, coverage)
            for condition, under in conditions.items()
        ],
        ranges=[
            found
            for line in choices.lines()
            for found in (
                switching_ranges(line, choices.chosen, goal, coverage)
                if share is None
                else ranges_within(line, choices.chosen, goal, share, coverage)
            )
        ],
        within=share,
    )


def is_lowest(metric: str, lowest: bool | None) -> bool:
    """True if the lowest value of a metric is best: ``lowest`` if given, otherwise as the metric defines.

    Raises :class:`ScenarioError` if ``lowest`` is None and the metric has no better side.
    """
    if lowest is not None:
        return lowest
    found = metric_of(metric)
    if found is not None and found.direction is None:
        raise ScenarioError(
            f"metric {metric}: neither more nor less of it is better, say --lowest or --highest"
        )
    return is_better_low(metric)


def _decide(
    condition: dict[str, Cell],
    chosen: Sequence[str],
    candidates: Mapping[Cells, Candidate],
    goal: Goal,
    coverage: float,
) -> Decision:
    """The best choice under one condition: the decision among its candidates."""
    defined = {choice: found for choice, found in candidates.items() if found.merit.values}
    doubts = {choice: goal.doubts(found, coverage) for choice, found in defined.items()}
    ranking = sorted(
        (choice for choice, found in defined.items() if goal.kept([slack.mean for slack in found.slacks])),
        key=lambda choice: -defined[choice].merit.mean,
    )
    perhaps = [choice for choice in defined if doubts[choice] is not None]

    def named(choice: Cells) -> str:
        limits = ", ".join(doubts[choice] or [])
        return f"{words(choice)} (if {limits})" if limits else words(choice)

    if not ranking:
        return Decision(
            condition=condition,
            choice=None,
            **dict.fromkeys(("value", "ci95", "runner_up", "margin", "margin_ci95")),
            at_least=False,
            verdict="no feasible choice",
            rivals=[named(choice) for choice in perhaps],
            uncertain=[],
        )
    leader = ranking[0]
    found = defined[leader]

    def advantage(other: Cells) -> Sample:
        return found.merit - defined[other].merit

    rivals = [
        choice for choice in perhaps if choice != leader and advantage(choice).verdict(coverage) != "higher"
    ]
    # A rival that may or may not meet the constraints is not "equal": more runs can decide about it.
    is_equal = all(advantage(choice).verdict(coverage) == "equal" and not doubts[choice] for choice in rivals)
    close: Verdict = "equal" if is_equal else "too close to call"
    margin = advantage(ranking[1]) if len(ranking) > 1 else None
    uncertain = doubts[leader] or []
    return Decision(
        condition=condition,
        choice=dict(zip(chosen, leader, strict=True)),
        value=found.value.mean,
        ci95=None if found.value.unfinished else found.value.ci95(coverage),
        at_least=bool(found.value.unfinished),
        runner_up=words(ranking[1]) if margin else None,
        margin=margin.mean if margin and margin.values else None,
        margin_ci95=margin.ci95(coverage) if margin and margin.values else None,
        verdict="constraint uncertain" if uncertain else close if rivals else "best",
        rivals=[named(choice) for choice in rivals],
        uncertain=uncertain,
        worst_run=_worst(margin),
    )


def _decide_within(
    condition: dict[str, Cell],
    chosen: Sequence[str],
    candidates: Mapping[Cells, Candidate],
    goal: Goal,
    share: float,
    coverage: float,
) -> Decision:
    """The decision for the first candidate, in order, that loses at most a share of the best value."""
    leader, found = slacks(candidates, goal, share)
    if leader is None:
        return _decide(condition, chosen, candidates, goal, coverage)
    first = first_within(found)
    unclear = ("too close to call", "cannot tell")
    before = list(found)[: list(found).index(first)]
    rivals = [choice for choice in before if found[choice].verdict(coverage) in unclear]
    if first != leader and found[first].verdict(coverage) in unclear:
        rivals.append(leader)
    uncertain = goal.doubts(candidates[first], coverage) or []
    value = candidates[first].value
    margin = None if first == leader else candidates[first].merit - candidates[leader].merit
    return Decision(
        condition=condition,
        choice=dict(zip(chosen, first, strict=True)),
        value=value.mean,
        ci95=None if value.unfinished else value.ci95(coverage),
        at_least=bool(value.unfinished),
        runner_up=None if margin is None else words(leader),
        margin=margin.mean if margin and margin.values else None,
        margin_ci95=margin.ci95(coverage) if margin and margin.values else None,
        verdict="constraint uncertain" if uncertain else "too close to call" if rivals else "within",
        rivals=[words(choice) for choice in rivals],
        uncertain=uncertain,
        worst_run=_worst(margin),
    )


def _worst(margin: Sample | None) -> int | None:
    """Number of the run in which an advantage is smallest; None of an exact advantage or a single run."""
    found = None if margin is None or margin.is_exact else worst_run(margin.values, lowest_is_best=False)
    return found[0] if found else None


def _interpolated(curve: Sequence[tuple[float, float]], x: float) -> float:
    """Value at ``x`` of a curve given by points, linearly interpolated; NaN outside the curve."""
    for (low, start), (high, end) in pairwise(curve):
        if low <= x <= high:
            return start + (end - start) * (x - low) / (high - low)
    return math.nan


def _renamed(record: dict[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in record.items()}


def _range_record(found: Range) -> dict[str, Cell]:
    return (
        found.condition
        | {"axis": found.axis, "unit": found.unit, "from": found.start, "to": found.end}
        | (found.choice or {})
        | {"to_low": found.end_low, "to_high": found.end_high, "because": found.because or None}
    )
