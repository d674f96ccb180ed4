"""Places along an axis at which to change from one choice to another, for adaptive systems."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise

from crossfade.comparison.choices import Cells, Line
from crossfade.comparison.goals import Candidate, Goal
from crossfade.comparison.paired import Crossing, Curve, Sample
from crossfade.tables import Cell


@dataclass(frozen=True)
class Range:
    """A range of an axis, with the choice to use in it.

    Attributes
    ----------
    condition : dict
        Values of the other axes.
    axis : str
        Dotted key of the axis.
    unit : str
        Unit of the axis; empty for a pure number.
    start, end : float
        Ends of the range, in the unit of the axis.
    choice : dict or None
        Values of the chosen axes; None if no choice meets the constraints.
    end_low, end_high : float or None
        Ends of the interval of ``end``; None for an end that reaches the end of the axis.
    because : str
        Metric or constraint that causes the change of choice at ``end``; empty in the last range.

    Examples
    --------
    >>> import crossfade as cf
    >>> over = {"tcp.variant": ["newreno"], "channel.fd_t": [0.08], "tcp.dupthresh": [1, 3]}
    >>> found = cf.best("quickstart", "tcp.dupthresh", method="analysis", over=over)
    >>> [at.choice["tcp.dupthresh"] for at in found.ranges]
    [3, 1]
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
class _Piece:
    """A part of an axis in which the set of usable choices is constant, with the merit of each in its middle.

    A usable choice meets the constraints and is not significantly worse than the best.
    """

    start: float
    end: float
    length: float
    merits: dict[Cells, float]

    def best_of(self, choices: Container[Cells | None]) -> Cells | None:
        """The best of some choices, or None if none of them is usable."""
        allowed = [choice for choice in self.merits if choice in choices]
        return max(allowed, key=self.merits.__getitem__, default=None)


class _Along:
    """The choices along a line of points: curves of their merits, of their slacks, and of pairwise
    advantages.
    """

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
        # Advantage of the first choice of a pair over the second.
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
        """Piece between two places, with its usable choices, which its middle decides: they are constant."""
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
        """Reason of the change of choice between two pieces, a metric or constraint, and the crossing that
        causes it.
        """
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
        """Curve of the advantage of one of two choices over the other, and the sign that makes it that of
        ``one``.
        """
        curve = self._advantages.get((one, other))
        return (curve, 1.0) if curve else (self._advantages[other, one], -1.0)


def ranges(line: Line, chosen: Sequence[str], goal: Goal, coverage: float) -> Iterator[Range]:
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
    """The choice to use in each piece: the best by its mean, with no change that is not significant.

    A stretch in which the best choice is nowhere significantly better than those of its neighbours takes
    theirs.
    """
    used = [piece.best_of(piece.merits) for piece in pieces]
    while (fewer := _with_a_stretch_less(pieces, used)) is not None:
        used = fewer
    return used


def _with_a_stretch_less(pieces: Sequence[_Piece], used: Sequence[Cells | None]) -> list[Cells | None] | None:
    """The choices with the shortest removable stretch given to its neighbours; None if no stretch can be
    removed.
    """
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
    """Ranges of pieces with the same choice, as half-open pairs of indices."""
    starts = [at for at in range(len(used)) if at == 0 or used[at] != used[at - 1]]
    return list(pairwise([*starts, len(used)]))
