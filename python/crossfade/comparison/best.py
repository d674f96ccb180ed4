"""The best choice under each condition, its certainty, and where to change it.

Choices are compared over the runs that all of them have, run by run (:mod:`crossfade.comparison.paired`);
where to change is in :mod:`crossfade.comparison.switching`.
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
        Values of the axes that are not chosen.
    choice : dict or None
        Values of the chosen axes; None where no choice keeps to the constraints.
    value : float or None
        The metric of the choice, in its unit.
    ci95 : float or None
        Half-width of its interval.
    at_least : bool
        Whether ``value`` is a lower bound: a completion time where flows were unfinished; ``margin`` is then
        that of the times seen.
    runner_up : str or None
        The next best mean that keeps to the constraints. Where the first choice within a share of the best is
        asked for, the best choice, if another one.
    margin : float or None
        Advantage over the runner-up.
    margin_ci95 : float or None
        Half-width of its interval.
    verdict : str
        ``best``: better than every other one that may keep to the constraints, beyond the interval of the
        paired difference. ``within``: surely within the share of the best, and those before it surely are
        not. ``too close to call``: it has the best mean, but the ``rivals`` cannot be told from it, or are
        better if they keep to a constraint whose limit lies inside their interval. ``equal``: the ``rivals``
        have the same value in every run, as where nothing arrives, and more runs would not tell them apart.
        ``constraint uncertain``: the limit of one of its own constraints, those in ``uncertain``, lies inside
        the interval. ``no feasible choice``: no mean keeps to the constraints; ``rivals`` are those that
        perhaps do.
    rivals : list of str
        Choices that may be as good.
    uncertain : list of str
        Constraints that may not be kept.
    worst_run : int or None
        Run in which the choice is worst against the runner-up.

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
        The metric, which side of it is better, and the constraints.
    unit : str
        The unit of the metric.
    method : str
        The method that decides.
    conditions : list of str
        The other axes.
    decisions : list of Decision
        The choice under each condition.
    ranges : list of Range
        From where to where along an axis which choice is to be used.
    warnings : list of str
        What makes the decisions doubtful.
    results : Results
        What was decided by.
    within : float or None
        The share of the best that the first choice may cost; None where the best itself is asked for.

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
    """The share of the best that the first choice may cost, None where the best itself is asked for."""

    def failures(self, conditions: Sequence[str]) -> list[tuple[str, Decision]]:
        """The decisions that meet one of some conditions, each with the first condition that it meets.

        Parameters
        ----------
        conditions : sequence of str
            A condition is a verdict (``"too close to call"``), a limit of the margin over the runner-up, in
            the metric's unit or as a share of the value (``"margin<2%"``), or a choice (``"choice!=reno"``).

        Returns
        -------
        list of tuple of (str, Decision)
            Conditions with the decisions that meet them, in the order of the decisions.

        Raises
        ------
        ScenarioError
            If a condition is none of these.
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
        """Draw the metric of every choice, the best shaded, dotted lines where to change.

        It needs one numeric axis beside the choices.

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
        """A row a condition: the choice, the metric with its interval, and how sure it is.

        Returns
        -------
        pandas.DataFrame
            Columns: the conditions, the chosen axes, the metric and its ``_ci95`` in its unit, ``runner_up``,
            ``margin``, ``margin_ci95``, ``verdict``, ``rivals``, ``uncertain``, ``worst_run``.
        """
        return decisions_table(self).to_pandas()

    def _bounds(self) -> list[str]:
        """The column that says which values are lower bounds, where there are any."""
        return [f"{self.goal.metric}_at_least"] if any(found.at_least for found in self.decisions) else []

    def records(self) -> list[dict[str, Cell]]:
        """The rows of :meth:`table`.

        Returns
        -------
        list of dict
            A dictionary a row; None where there is nothing.
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
        """A row a range of an axis: from where to where which choice is to be used.

        Returns
        -------
        pandas.DataFrame
            ``from`` and ``to`` are in ``unit``, that of the ``axis``; ``to_low`` and ``to_high`` are the
            interval of ``to`` (missing where it goes on to the end of the axis); ``because`` is the metric or
            constraint that makes the change, missing in the last range.
        """
        return ranges_table(self).to_pandas()

    def to_csv(self) -> str:
        """:meth:`table` as CSV text; numbers read back exactly.

        Returns
        -------
        str
            Lines of CSV, with names at first.
        """
        return decisions_table(self).to_csv()

    def to_json(self) -> str:
        """All that was found as JSON text: a list, an object for each decision and each range of an axis.

        ``crossfade schema --best`` describes it. Numbers read back exactly.

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

    A decision compares the best mean with each other choice, run by run. See :class:`Decision` for the
    verdicts, and :class:`Range` for what to use along an axis.

    Parameters
    ----------
    source : Results, Scenario, mapping, path or str
        A scenario (which is run), its results, or a results file.
    choose : str or sequence of str
        The axes of the choices (``"tcp.variant,tcp.w_max"``: every pair of values).
    metric : str
        What is to be best, also of a flow or link.
    lowest : bool, optional
        Whether the lowest is best (default: the metric itself knows; it is needed for one of which neither
        is).
    within : str or float, optional
        A share of the best (``"2%"``): asks for the first choice, in the order of its axis, that costs no
        more. List choices from cheap to dear. :func:`crossfade.curves.knee` does the same of numbers, with a
        bootstrap.
    subject_to : sequence of str
        Constraints on means (``["rtt_p95_s<0.8"]``).
    method : str, optional
        The method that decides (default: the simulation, where there is one).
    together : bool
        Whether all statements hold at once with 95 % (Bonferroni), instead of each by itself.
    where : mapping, optional
        A part of the points (:meth:`Results.where`).
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
    """Whether the lowest of a metric is the best: as asked for, else as it is of the metric.

    :class:`ScenarioError` where neither is said and neither is the better one.
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
    """The decision among some candidates."""
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
    # Of a rival that only perhaps keeps to the constraints more runs do tell more.
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
    """The first of some candidates that costs no more than a share of the best."""
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
    """The run in which an advantage is smallest."""
    found = None if margin is None or margin.is_exact else worst_run(margin.values, lowest_is_best=False)
    return found[0] if found else None


def _interpolated(curve: Sequence[tuple[float, float]], x: float) -> float:
    """The value of a curve between two of its points; NaN of no curve."""
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
