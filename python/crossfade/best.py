"""Which choice is best under each condition, how surely, and where along an axis to change it.

Choices are compared over the runs that all of them have, run by run (:mod:`crossfade.paired`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, combinations, pairwise
from typing import Any, Literal, Unpack

from crossfade import api
from crossfade.comparing import (
    Cells,
    Choices,
    Line,
    RunOptions,
    doubts,
    loaded,
    planned,
    results_of,
    unit_of,
    words,
)
from crossfade.errors import ResultsError, ScenarioError
from crossfade.paired import COVERAGE, Crossing, Curve, Sample, each_of
from crossfade.results import Point, Results
from crossfade.tables import Cell, Table

Verdict = Literal["best", "too close to call", "constraint uncertain", "no feasible choice"]


@dataclass(frozen=True)
class Constraint:
    """What a choice must keep to: a metric below or above a limit."""

    metric: str
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """Read ``METRIC<LIMIT`` (or <=, >, >=)."""
        match = re.fullmatch(r"\s*([\w.:-]+)\s*(<=|>=|<|>)\s*(\S+)\s*", text)
        try:
            limit = float(match[3]) if match else math.nan
        except ValueError:
            limit = math.nan
        if match is None or not math.isfinite(limit):
            allowed = "METRIC<NUMBER, or with <=, >, >= (rtt_p95_s<0.8)"
            raise ScenarioError(f"subject to {text}: must be {allowed}")
        return cls(match[1], match[2], limit)

    def slack(self, sample: Sample) -> Sample:
        """By how much the metric is on the right side."""
        return -sample + self.limit if self.sign.startswith("<") else sample - self.limit

    def holds(self, slack: float) -> bool:
        """Whether a slack is enough; NaN (no value) is not."""
        return slack > 0.0 or (slack == 0.0 and self.sign.endswith("="))

    def surely_holds(self, slack: Sample, coverage: float) -> bool | None:
        """The same of a slack with its interval, None where the limit lies inside."""
        half = slack.half_width(coverage)
        ends = {self.holds(slack.mean - half), self.holds(slack.mean + half)}
        return ends.pop() if len(ends) == 1 else None

    def __str__(self) -> str:
        return f"{self.metric}{self.sign}{self.limit:g}"


@dataclass(frozen=True)
class Goal:
    """What is to be as high (or as low) as possible, and what a choice must keep to."""

    metric: str
    lowest: bool = False
    constraints: Sequence[Constraint] = ()

    def candidates(self, points: Mapping[Cells, Point]) -> dict[Cells, Candidate]:
        """The choices under one condition, over the runs that all of them have.

        So their means and their differences are of one piece, also where a precision gave them different
        numbers of runs.
        """
        runs = [{row.run for row in point.rows} for point in points.values() if point.runs]
        common = set.intersection(*runs) if runs else set()
        if runs and not common:
            raise ResultsError(
                f"{self.metric}: the choices have no run in common (are shards to be merged first?)"
            )

        def sample(point: Point, metric: str) -> Sample:
            return Sample.of(point, metric).within(common)

        found = {}
        for choice, point in points.items():
            value = sample(point, self.metric)
            slacks = [limit.slack(sample(point, limit.metric)) for limit in self.constraints]
            found[choice] = Candidate(value, -value if self.lowest else value, slacks)
        return found

    def kept(self, slacks: Sequence[float]) -> bool:
        """Whether all constraints hold, by these slacks."""
        return all(limit.holds(slack) for limit, slack in zip(self.constraints, slacks, strict=True))

    def doubts(self, candidate: Candidate, coverage: float) -> list[str] | None:
        """The constraints that may or may not hold; None where one surely does not."""
        pairs = zip(self.constraints, candidate.slacks, strict=True)
        found = {str(limit): limit.surely_holds(slack, coverage) for limit, slack in pairs}
        return None if False in found.values() else [text for text, holds in found.items() if holds is None]


@dataclass(frozen=True)
class Candidate:
    """A choice under one condition: the metric, the same with more being better, slacks of constraints."""

    value: Sample
    merit: Sample
    slacks: list[Sample]


@dataclass(frozen=True)
class Decision:
    """The choice under one condition.

    ``best``: it is better than every other one that may keep to the constraints, beyond the interval of the
    paired difference. ``too close to call``: it has the best mean, but the ``rivals`` cannot be told from it,
    or are better if they keep to a constraint whose limit lies inside their interval. ``constraint
    uncertain``: that is so of its own constraints, those in ``uncertain``. ``no feasible choice``: no mean
    keeps to the constraints; ``rivals`` are those that perhaps do. ``margin`` is the advantage over the
    ``runner_up``, the next best mean that keeps to the constraints.
    """

    condition: dict[str, Cell]
    choice: dict[str, Cell] | None
    value: float | None
    ci95: float | None
    runner_up: str | None
    margin: float | None
    margin_ci95: float | None
    verdict: Verdict
    rivals: list[str]
    uncertain: list[str]


@dataclass(frozen=True)
class Range:
    """A range of an axis and the choice to use there, None where no choice keeps to the constraints.

    ``end_low`` to ``end_high`` is the interval of its upper end (None: it goes on to the end of the axis),
    ``because`` the metric or constraint that makes the change there; of the last range all three are empty.
    """

    condition: dict[str, Cell]
    axis: str
    unit: str
    start: float
    end: float
    choice: dict[str, Cell] | None
    end_low: float | None
    end_high: float | None
    because: str


@dataclass(frozen=True)
class Best:
    """The decision under every condition, and the ranges of each numeric axis with the choice to use."""

    choose: list[str]
    goal: Goal
    unit: str
    method: str
    conditions: list[str]
    decisions: list[Decision]
    ranges: list[Range]
    warnings: list[str]

    def table(self) -> Table:
        """A row a condition: the choice, the metric with its interval, and how sure it is."""
        metric = self.goal.metric
        columns = [*self.conditions, *self.choose, metric, f"{metric}_ci95", "runner_up", "margin"]
        columns += ["margin_ci95", "verdict", "rivals", "uncertain"]
        return Table.of(columns, self.records())

    def records(self) -> list[dict[str, Cell]]:
        """The rows of :meth:`table`."""
        metric = self.goal.metric
        return [
            found.condition
            | (found.choice or {})
            | {metric: found.value, f"{metric}_ci95": found.ci95, "runner_up": found.runner_up}
            | {"margin": found.margin, "margin_ci95": found.margin_ci95, "verdict": found.verdict}
            | {"rivals": "; ".join(found.rivals) or None, "uncertain": "; ".join(found.uncertain) or None}
            for found in self.decisions
        ]

    def switching_table(self) -> Table:
        """A row a range of an axis: from where to where which choice is to be used.

        ``to_low`` and ``to_high`` are the interval of ``to`` (empty where it goes on to the end of the axis);
        ``because`` is the metric or constraint that makes the change, empty in the last range.
        """
        others = [key for key in self.conditions if any(key in found.condition for found in self.ranges)]
        columns = [*others, "axis", "unit", "from", "to", *self.choose, "to_low", "to_high", "because"]
        return Table.of(columns, (_range_record(found) for found in self.ranges))

    def to_csv(self) -> str:
        """:meth:`table` as CSV text; numbers read back exactly."""
        return self.table().to_csv()

    def to_json(self) -> str:
        """Decisions and switching points as JSON text; numbers read back exactly."""
        found = {
            "metric": self.goal.metric,
            "unit": self.unit,
            "lowest": self.goal.lowest,
            "subject_to": [str(constraint) for constraint in self.goal.constraints],
            "method": self.method,
            "points": [_renamed(asdict(found), condition="axes") for found in self.decisions],
            "switching": [
                _renamed(
                    asdict(found),
                    condition="axes",
                    start="from",
                    end="to",
                    end_low="to_low",
                    end_high="to_high",
                )
                for found in self.ranges
            ],
            "warnings": self.warnings,
        }
        return json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)


def best(
    source: Results | api.Scenario,
    choose: str | Sequence[str],
    *,
    metric: str = "goodput_bps",
    lowest: bool = False,
    subject_to: Sequence[str] = (),
    method: str | None = None,
    together: bool = False,
    **options: Unpack[RunOptions],
) -> Best:
    """Find the choice with the highest (or ``lowest``) metric at every point of the other axes.

    ``source`` is a scenario (which is run, with the ``options`` of :func:`crossfade.run`), its results, or a
    results file. ``choose`` are the axes of the choices (``"tcp.variant,tcp.w_max"``: every pair of values).
    ``subject_to`` are constraints on means (``["rtt_p95_s<0.8"]``). Of several methods ``method`` is the one
    that decides; the simulation, where it is not given and there is one.

    A decision compares the best mean with each other choice, run by run, at 95 % each; with ``together`` all
    statements hold at once with 95 % (Bonferroni). See :class:`Decision` for the verdicts, and
    :class:`Range` for what to use along an axis.

    >>> import crossfade as cf
    >>> found = cf.best("quickstart", "tcp.dupthresh", method="analysis",
    ...     over={"tcp.variant": ["newreno"], "channel.fd_t": [0.08], "tcp.dupthresh": [1, 3]})
    >>> [(round(at.end, 4), at.choice["tcp.dupthresh"]) for at in found.ranges]
    [(0.0043, 3), (0.3, 1)]

    Raises :class:`ScenarioError` where an option is wrong, :class:`ResultsError` where there is no such
    metric.
    """
    goal = Goal(metric, lowest, [Constraint.parse(text) for text in subject_to])
    metrics = list(dict.fromkeys([metric, *(constraint.metric for constraint in goal.constraints)]))
    source = loaded(source) or source
    known = source.methods if isinstance(source, Results) else planned(source, None, options)["methods"]
    method = method or ("simulation" if "simulation" in known else known[0])
    results = results_of(source, {"choose": choose}, metrics, [method], options)
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
        warnings=doubts(results),
        decisions=[
            _decide(choices.named(condition), choices.chosen, under, goal, coverage)
            for condition, under in conditions.items()
        ],
        ranges=[found for line in choices.lines() for found in _ranges(line, choices.chosen, goal, coverage)],
    )


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
    margin = advantage(ranking[1]) if len(ranking) > 1 else None
    uncertain = doubts[leader] or []
    return Decision(
        condition=condition,
        choice=dict(zip(chosen, leader, strict=True)),
        value=found.value.mean,
        ci95=found.value.ci95(coverage),
        runner_up=words(ranking[1]) if margin else None,
        margin=margin.mean if margin and margin.values else None,
        margin_ci95=margin.ci95(coverage) if margin and margin.values else None,
        verdict="constraint uncertain" if uncertain else "too close to call" if rivals else "best",
        rivals=[named(choice) for choice in rivals],
        uncertain=uncertain,
    )


@dataclass(frozen=True)
class _Piece:
    """A part of an axis in which nothing changes: the choices that may be used there, and how good they are.

    They keep to the constraints and are not clearly worse than the best.
    """

    start: float
    end: float
    length: float
    merits: dict[Cells, float]

    def best_of(self, choices: Container[Cells | None]) -> Cells | None:
        """The best of some of the choices, None where none of them may be used."""
        allowed = [choice for choice in self.merits if choice in choices]
        return max(allowed, key=self.merits.__getitem__, default=None)


class _Along:
    """The choices along a line of points: curves of their merits, their slacks, and of each over each."""

    def __init__(self, line: Line, goal: Goal, coverage: float) -> None:
        places = [goal.candidates(points) for points in line.points]
        none = Sample.exact(math.nan)
        nothing = Candidate(none, none, [none] * len(goal.constraints))
        along = {choice: [place.get(choice, nothing) for place in places] for choice in line.choices}
        self._goal = goal
        self._merits = {
            choice: line.curve([at.merit for at in found], coverage) for choice, found in along.items()
        }
        self._slacks = {
            choice: [
                line.curve([at.slacks[number] for at in found], coverage)
                for number in range(len(goal.constraints))
            ]
            for choice, found in along.items()
        }
        # Of the first choice over the second.
        self._advantages = {
            (one, other): line.curve(
                [a.merit - b.merit for a, b in zip(along[one], along[other], strict=True)], coverage
            )
            for one, other in combinations(line.choices, 2)
        }
        curves = [*self._advantages.values(), *chain.from_iterable(self._slacks.values())]
        places_of_change = sorted({*line.xs, *chain.from_iterable(curve.breaks for curve in curves)})
        self.pieces = [self._piece(start, end) for start, end in pairwise(places_of_change)]

    def _piece(self, start: float, end: float) -> _Piece:
        """What may be used between two places; it is the same all the way, so the middle tells."""
        some_curve = next(iter(self._merits.values()))
        x = some_curve.middle(start, end)
        merits = {choice: curve.at(x)[0] for choice, curve in self._merits.items()}
        kept = {
            choice: merit
            for choice, merit in merits.items()
            if not math.isnan(merit) and self._goal.kept([slack.at(x)[0] for slack in self._slacks[choice]])
        }
        leader = max(kept, key=kept.__getitem__, default=None)

        def may_be_best(choice: Cells) -> bool:
            if leader is None or choice == leader:
                return True
            curve, sign = self._between(leader, choice)
            advantage, half = curve.at(x)
            return sign * advantage <= half

        usable = {choice: merit for choice, merit in kept.items() if may_be_best(choice)}
        return _Piece(start, end, some_curve.distance(start, end), usable)

    def change(
        self, at: _Piece, after: _Piece, old: Cells | None, new: Cells | None
    ) -> tuple[str, Crossing | None]:
        """What makes the choice change between two pieces, and the range in which that happens."""
        for choice, elsewhere in ((old, after), (new, at)):
            if choice is None:
                continue
            for limit, slack in zip(self._goal.constraints, self._slacks[choice], strict=True):
                if not limit.holds(slack.at(slack.middle(elsewhere.start, elsewhere.end))[0]):
                    return str(limit), slack.crossing_at(at.end)
        if old is None or new is None:
            return self._goal.metric, None
        return self._goal.metric, self._between(old, new)[0].crossing_at(at.end)

    def _between(self, one: Cells, other: Cells) -> tuple[Curve, float]:
        """The curve of the advantage of one choice over another, and its sign."""
        curve = self._advantages.get((one, other))
        return (curve, 1.0) if curve else (self._advantages[other, one], -1.0)


def _ranges(line: Line, chosen: Sequence[str], goal: Goal, coverage: float) -> Iterator[Range]:
    """The ranges of an axis, each with the choice to use."""
    along = _Along(line, goal, coverage)
    pieces = along.pieces
    used = _used(pieces)
    for start, end in _stretches(used):
        choice, because, crossing = used[start], "", None
        if end < len(used):
            because, crossing = along.change(pieces[end - 1], pieces[end], choice, used[end])
        yield Range(
            condition=line.condition,
            axis=line.axis,
            unit=line.unit,
            start=pieces[start].start,
            end=pieces[end - 1].end,
            choice=None if choice is None else dict(zip(chosen, choice, strict=True)),
            end_low=crossing.low if crossing else None,
            end_high=crossing.high if crossing else None,
            because=because,
        )


def _used(pieces: Sequence[_Piece]) -> list[Cells | None]:
    """The choice to use in each piece: the best by its mean, but with no change that nothing asks for.

    A stretch in which the best one is nowhere clearly better than its neighbours is left to them.
    """
    used = [piece.best_of(piece.merits) for piece in pieces]
    while (fewer := _with_a_stretch_less(pieces, used)) is not None:
        used = fewer
    return used


def _with_a_stretch_less(pieces: Sequence[_Piece], used: Sequence[Cells | None]) -> list[Cells | None] | None:
    """The same with the shortest such stretch left to its neighbours; None where there is none."""
    stretches = _stretches(used)

    def length(ends: tuple[int, int]) -> float:
        return sum(piece.length for piece in pieces[slice(*ends)])

    for start, end in sorted(stretches, key=length):
        neighbours = {used[at] for at in (start - 1, end) if 0 <= at < len(used)}
        instead = [piece.best_of(neighbours) for piece in pieces[start:end]]
        changed = [*used[:start], *instead, *used[end:]]
        if None not in instead and len(_stretches(changed)) < len(stretches):
            return changed
    return None


def _stretches(used: Sequence[Cells | None]) -> list[tuple[int, int]]:
    """Where the same choice is used, from piece to piece (the latter not included)."""
    starts = [at for at in range(len(used)) if at == 0 or used[at] != used[at - 1]]
    return list(pairwise([*starts, len(used)]))


def _renamed(record: dict[str, Any], **names: str) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in record.items()}


def _range_record(found: Range) -> dict[str, Cell]:
    return (
        found.condition
        | {"axis": found.axis, "unit": found.unit, "from": found.start, "to": found.end}
        | (found.choice or {})
        | {"to_low": found.end_low, "to_high": found.end_high, "because": found.because or None}
    )
