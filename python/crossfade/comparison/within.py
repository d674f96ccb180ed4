"""The first choice, in the order of its axis, that loses no more than a share of the best value.

If choices are listed from cheap to expensive (retransmissions 0, 1, 2, 4, 10), it is the cheapest sufficient
one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from crossfade.comparison.choices import Cells, Line
from crossfade.comparison.goals import Candidate, Goal
from crossfade.comparison.paired import Sample
from crossfade.comparison.switching import Range
from crossfade.errors import ScenarioError, shortened


def read_share(text: str | float | None) -> float | None:
    """Share from 0 to below 1, given as ``"2%"`` or 0.02; None stays None."""
    if text is None:
        return None
    try:
        words = str(text).strip()
        share = float(words.removesuffix("%")) / 100.0 if words.endswith("%") else float(words)
    except ValueError:
        share = math.nan
    if isinstance(text, bool) or not 0.0 <= share < 1.0:
        raise ScenarioError(f'within {shortened(str(text))}: must be a share below 100 %, such as "2%"')
    return share


def slacks(
    candidates: Mapping[Cells, Candidate], goal: Goal, share: float
) -> tuple[Cells | None, dict[Cells, Sample]]:
    """The best choice that meets the constraints, and how far the merit of each choice lies above the limit,
    by run.
    """
    kept = {
        choice: found
        for choice, found in candidates.items()
        if found.merit.values and goal.kept([slack.mean for slack in found.slacks])
    }
    if not kept:
        return None, {}
    leader = max(kept, key=lambda choice: kept[choice].merit.mean)
    best = kept[leader].merit
    limit = best - share * abs(best.mean)
    return leader, {choice: found.merit - limit for choice, found in kept.items()}


def first_within(found: Mapping[Cells, Sample]) -> Cells:
    """The first choice whose mean slack is not negative."""
    return next(choice for choice, slack in found.items() if slack.mean >= 0.0)


def ranges(line: Line, chosen: Sequence[str], goal: Goal, share: float, coverage: float) -> Iterator[Range]:
    """The ranges of an axis, each with the first choice that is within a share of the best.

    Between two values of the axis the choice changes where the curve of the earlier choice crosses the limit.
    """
    at_places = [slacks(goal.candidates(points), goal, share) for points in line.points]
    choices = [first_within(found) if leader is not None else None for leader, found in at_places]
    order = {choice: place for place, choice in enumerate(line.choices)}
    nothing = Sample.exact(math.nan)
    changes: list[tuple[float, float | None, float | None, str]] = []
    for place, (old, new) in enumerate(pairwise(choices)):
        if old == new:
            continue
        low, high = line.xs[place : place + 2]
        x = (low + high) / 2.0
        end_low: float | None = low
        end_high: float | None = high
        if old is not None and new is not None:
            earlier = min(old, new, key=order.__getitem__)
            curve = line.curve([found.get(earlier, nothing) for _, found in at_places], coverage)
            if zeros := [zero for zero in curve.zeros if low <= zero <= high]:
                x = zeros[0]
                crossing = curve.crossing_at(x)
                end_low, end_high = (crossing.low, crossing.high) if crossing else (low, high)
        changes.append((x, end_low, end_high, goal.metric))
    stretches = [choice for choice, _ in groupby(choices)]
    ends: list[tuple[float, float | None, float | None, str]] = [*changes, (line.xs[-1], None, None, "")]
    start = line.xs[0]
    for choice, (end, end_low, end_high, because) in zip(stretches, ends, strict=True):
        yield Range(
            condition=line.condition,
            axis=line.axis,
            unit=line.unit,
            start=start,
            end=end,
            choice=None if choice is None else dict(zip(chosen, choice, strict=True)),
            end_low=end_low,
            end_high=end_high,
            because=because,
        )
        start = end
