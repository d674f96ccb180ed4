"""Goal of a choice: a metric to maximise or minimise, subject to constraints."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crossfade.comparison.choices import Cells
from crossfade.comparison.paired import Sample
from crossfade.errors import ResultsError, ScenarioError
from crossfade.results.points import Point


@dataclass(frozen=True)
class Constraint:
    """Constraint on the mean of a metric: below or above a limit."""

    metric: str
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """Constraint from the text ``METRIC<LIMIT`` (or ``<=``, ``>``, ``>=``)."""
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
        """Distance of the metric from the limit, in its unit; positive if the constraint is met."""
        return -sample + self.limit if self.sign.startswith("<") else sample - self.limit

    def holds(self, slack: float) -> bool:
        """True if a slack meets the constraint; NaN (no value) does not."""
        return slack > 0.0 or (slack == 0.0 and self.sign.endswith("="))

    def surely_holds(self, slack: Sample, coverage: float) -> bool | None:
        """True if the whole interval of a slack meets the constraint, False if no part does; None if the
        limit lies inside.

        If some flows were unfinished, completion times are lower bounds: an upper limit is then never surely
        met, and a lower limit never surely missed.
        """
        half = slack.half_width(coverage)
        ends = {self.holds(slack.mean - half), self.holds(slack.mean + half)}
        if slack.unfinished:
            ends.add(not self.sign.startswith("<"))
        return ends.pop() if len(ends) == 1 else None

    def __str__(self) -> str:
        return f"{self.metric}{self.sign}{self.limit:g}"


@dataclass(frozen=True)
class Goal:
    """Metric to maximise or minimise (``lowest``), and the constraints that a choice has to meet."""

    metric: str
    lowest: bool = False
    constraints: Sequence[Constraint] = ()

    def candidates(self, points: Mapping[Cells, Point]) -> dict[Cells, Candidate]:
        """Metric and slacks of each choice under one condition, over the runs that all choices have.

        With common runs, means and differences are consistent even if a precision gave choices different
        numbers of runs.
        """
        runs = [{row.run for row in point.rows} for point in points.values() if point.runs]
        common = set.intersection(*runs) if runs else set()
        if runs and not common:
            raise ResultsError(
                f"{self.metric}: the choices have no run in common (are shards to be merged first?)"
            )

        values = {choice: Sample.of(point, self.metric) for choice, point in points.items()}
        # Some runs may lack the metric: keep those in which every choice has it, except choices that never
        # have it.
        for value in values.values():
            common &= value.values.keys() if value.values and not value.is_exact else common
        if runs and not common:
            raise ResultsError(
                f"{self.metric}: the choices have no run in common in which all of them have it"
            )

        def sample(point: Point, metric: str) -> Sample:
            return Sample.of(point, metric).within(common)

        found = {}
        for choice, point in points.items():
            value = values[choice].within(common)
            slacks = [limit.slack(sample(point, limit.metric)) for limit in self.constraints]
            found[choice] = Candidate(value, -value if self.lowest else value, slacks)
        return found

    def kept(self, slacks: Sequence[float]) -> bool:
        """True if all constraints hold, given the slack of each."""
        return all(limit.holds(slack) for limit, slack in zip(self.constraints, slacks, strict=True))

    def doubts(self, candidate: Candidate, coverage: float) -> list[str] | None:
        """Constraints of which the interval of the slack contains the limit; None if some constraint surely
        does not hold.
        """
        pairs = zip(self.constraints, candidate.slacks, strict=True)
        found = {str(limit): limit.surely_holds(slack, coverage) for limit, slack in pairs}
        return None if False in found.values() else [text for text, holds in found.items() if holds is None]


@dataclass(frozen=True)
class Candidate:
    """One choice under one condition: its metric, its merit (the metric, negated if the lowest is best), and
    its slacks.
    """

    value: Sample
    merit: Sample
    slacks: list[Sample]
