"""Verdicts on what a paper says, computed from our own curves and their intervals; none is written by hand.

A claim of ``claims.toml`` holds checks (:mod:`crossfade.papers.checks`), whose points say yes or no, or
nothing: the interval is too wide (undecided), the difference is smaller than what could be seen in the
paper's figure (``visible``: it cannot be seen), or there is nothing on either side (0 > 0: nothing to tell).
Points with nothing to tell do not count. Of the others a claim

- ``holds`` where all that tell say yes, and they are nine tenths at least of those that can be seen;
- ``holds partly`` where some say yes and some no;
- ``does not hold`` where all that tell say no;
- ``cannot be seen`` or is ``undecided`` where less than half tell, by which of the two is more frequent, and
  ``undecided`` where all that tell say yes, but more than a tenth of what can be seen does not tell.

A claim without checks is ``not judged``, and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from crossfade.tables import Cell, Table, format_estimate

Silence = Literal["undecided", "cannot be seen", "nothing to tell"]
"""Why a point says neither yes nor no."""

Word = Literal[
    "holds",
    "holds partly",
    "does not hold",
    "cannot be seen",
    "undecided",
    "nothing to tell",
    "not judged",
]
WORDS: tuple[Word, ...] = get_args(Word)

Because = Literal[
    "misprint",
    "curves coincide",
    "paper generous",
    "another reading",
    "another environment",
    "the paper contradicts itself",
]
"""Why a claim does not simply hold: what stands before the colon of its ``because``."""

BECAUSE: tuple[Because, ...] = get_args(Because)

# Raised when points that say the same come to another verdict: tables of verdicts that are kept then change.
RULES = 2


@dataclass(frozen=True)
class Outcome:
    """Result at one point: our value, its interval, and whether the claim holds (None: undecided)."""

    where: str
    value: float
    ci95: float | None
    holds: bool | None
    # How far inside (positive) or outside (negative) of what is claimed the point lies.
    slack: float
    # Why it does not tell, if it does not.
    silent: Silence = "undecided"


@dataclass(frozen=True)
class Verdict:
    """Verdict of one claim under one reading.

    Attributes
    ----------
    claim : str
        Name of the claim.
    quote : str
        The sentence of the paper.
    figure : str
        Where it stands.
    computed : str
        How ours is computed.
    tolerance : str
        How much it may differ.
    why : str
        Why so much, or why the claim is not judged.
    because : str
        Why it does not simply hold, under the reading of the figures: a word for the kind of reason, a colon,
        a sentence.
    outcomes : list of Outcome
        What each point says.

    Examples
    --------
    >>> import crossfade as cf
    >>> cf.papers.Verdict("a", "It grows.", "fig2", "", "", "no number", "", []).verdict
    'not judged'
    """

    claim: str
    quote: str
    figure: str
    computed: str
    tolerance: str
    why: str
    # Why it does not simply hold, under the reading of the figures: one of BECAUSE, a colon, a sentence.
    because: str
    outcomes: list[Outcome]

    @property
    def points(self) -> int:
        """Number of points that count: all that decide something."""
        return len(self.outcomes) - self.silent("nothing to tell")

    @property
    def holding(self) -> int:
        """Number of points at which the claim holds."""
        return sum(outcome.holds is True for outcome in self.outcomes)

    @property
    def failing(self) -> int:
        """Number of points at which the claim does not hold."""
        return sum(outcome.holds is False for outcome in self.outcomes)

    @property
    def undecided(self) -> int:
        """Number of points whose interval is too wide to decide."""
        return self.silent("undecided")

    @property
    def unseen(self) -> int:
        """Number of points with a difference too small to be seen."""
        return self.silent("cannot be seen")

    def silent(self, why: Silence) -> int:
        """Number of points that are undecided for a stated reason.

        Parameters
        ----------
        why : {"undecided", "cannot be seen", "nothing to tell"}
            The reason.

        Returns
        -------
        int
        """
        return sum(outcome.holds is None and outcome.silent == why for outcome in self.outcomes)

    @property
    def verdict(self) -> Word:
        """The verdict over all points."""
        if not self.outcomes:
            return "not judged"
        if not self.points:
            return "nothing to tell"
        told = self.holding + self.failing
        if 2 * told < self.points:
            return "cannot be seen" if self.unseen > self.undecided else "undecided"
        if self.failing:
            return "holds partly" if self.holding else "does not hold"
        return "holds" if 10 * told >= 9 * (self.points - self.unseen) else "undecided"

    @property
    def worst(self) -> Outcome:
        """The point that speaks most against a claim that is judged; of those that count, if any."""
        counting = [one for one in self.outcomes if one.holds is not None or one.silent != "nothing to tell"]
        return min(counting or self.outcomes, key=lambda outcome: outcome.slack)

    @property
    def counts(self) -> str:
        """Number of points at which the claim holds, of all, and undecided points by reason."""
        parts = [f"{self.holding} of {self.points} points", f"{self.undecided} undecided"]
        parts += [f"{self.unseen} cannot be seen"] if self.unseen else []
        nothing = self.silent("nothing to tell")
        return ", ".join(parts + ([f"{nothing} more with nothing to tell"] if nothing else []))

    def __str__(self) -> str:
        if not self.outcomes:
            return ""
        ours = format_estimate(self.worst.value, self.worst.ci95)
        return f"{self.counts}; worst: {ours} at {self.worst.where}"


COLUMNS = [
    *("claim", "figure", "verdict", "points", "holding", "undecided", "ours", "ci95", "at", "quote"),
    *("computed", "tolerance", "why", "unseen", "nothing_to_tell", "because"),
]


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Verdicts as a table; ``ours`` and ``ci95`` are those of the point ``at``, most against the claim."""
    return Table.of(COLUMNS, (_record(verdict) for verdict in verdicts))


def _record(verdict: Verdict) -> dict[str, Cell]:
    worst = verdict.worst if verdict.outcomes else None
    return {
        "claim": verdict.claim,
        "figure": verdict.figure,
        "verdict": verdict.verdict,
        "points": verdict.points,
        "holding": verdict.holding,
        "undecided": verdict.undecided,
        "unseen": verdict.unseen,
        "nothing_to_tell": verdict.silent("nothing to tell"),
        "ours": worst.value if worst else None,
        "ci95": worst.ci95 if worst else None,
        "at": worst.where if worst else None,
        "quote": verdict.quote,
        "computed": verdict.computed,
        "tolerance": verdict.tolerance,
        "why": verdict.why,
        "because": verdict.because,
    }


def judge(claim: Mapping[str, Any], check: Callable[[Mapping[str, Any]], list[Outcome]]) -> Verdict:
    """The verdict on a claim, all of whose checks are carried out by ``check``."""
    outcomes = [outcome for item in claim.get("checks", []) for outcome in check(item)]
    texts = {
        key: str(claim.get(key, "")) for key in ("quote", "figure", "computed", "tolerance", "why", "because")
    }
    return Verdict(claim=claim["id"], outcomes=outcomes, **texts)
