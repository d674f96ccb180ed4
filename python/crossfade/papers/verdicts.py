"""Verdicts on the claims of papers, computed from our own curves and their intervals, never written by hand.

A claim of ``claims.toml`` has checks (:mod:`crossfade.papers.checks`). At each point a check decides yes or
no, or not at all: the interval is too wide (undecided), the difference is smaller than the paper's figure
could show (``visible``: cannot be seen), or both sides are 0 (nothing to tell). Points with nothing to tell
do not count. By the other points a claim

- ``holds`` if all deciding points say yes, and they are at least nine tenths of those that can be seen;
- ``holds partly`` if some deciding points say yes and some no;
- ``does not hold`` if all deciding points say no;
- ``cannot be seen`` or is ``undecided``, whichever is more frequent, if less than half of the points decide;
  it is also ``undecided`` if all deciding points say yes, but more than a tenth of those that can be seen do
  not decide.

A claim without checks is ``not judged``, and has a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from crossfade.tables import Cell, Table, format_estimate

Silence = Literal["undecided", "cannot be seen", "nothing to tell"]
"""Reason why a point decides neither yes nor no."""

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
"""Kind of reason why a claim does not simply hold: the text before the colon of its ``because``."""

BECAUSE: tuple[Because, ...] = get_args(Because)

# Version of the rules by which points give a verdict; a new version changes stored tables of verdicts.
RULES = 2


@dataclass(frozen=True)
class Outcome:
    """Result at one point: value, half-width of its interval, and True if the claim holds (None: unknown)."""

    where: str
    value: float
    ci95: float | None
    holds: bool | None
    # Distance of the point from the limit of the claim: positive inside, negative outside.
    slack: float
    # Reason why the point does not decide, if ``holds`` is None.
    silent: Silence = "undecided"


@dataclass(frozen=True)
class Verdict:
    """Verdict of one claim under one reading.

    Attributes
    ----------
    claim : str
        Name of the claim.
    quote : str
        Sentence of the paper that states the claim.
    figure : str
        Figure or section of the paper with the claim.
    computed : str
        Description of our computation.
    tolerance : str
        Allowed difference from the paper.
    why : str
        Reason for the tolerance, or reason why the claim is not judged.
    because : str
        Reason why the claim does not simply hold under the reading of the figures: a kind of reason, a colon,
        and a sentence.
    outcomes : list of Outcome
        Result at each point.

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
    # Starts with one of BECAUSE and a colon.
    because: str
    outcomes: list[Outcome]

    @property
    def points(self) -> int:
        """Number of points that count: all but those with nothing to tell."""
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
        """Number of points whose difference is too small to be seen in the paper's figure."""
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
        """Verdict over all points."""
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
        """Point that speaks most against a judged claim; one with nothing to tell only without others."""
        counting = [one for one in self.outcomes if one.holds is not None or one.silent != "nothing to tell"]
        return min(counting or self.outcomes, key=lambda outcome: outcome.slack)

    @property
    def counts(self) -> str:
        """Text with the number of points at which the claim holds, of all, and of undecided points."""
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
    """Verdicts as a table; ``ours`` and ``ci95`` are of the worst point, ``at``."""
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
    """Verdict on a claim; ``check`` carries out each of its checks."""
    outcomes = [outcome for item in claim.get("checks", []) for outcome in check(item)]
    texts = {
        key: str(claim.get(key, "")) for key in ("quote", "figure", "computed", "tolerance", "why", "because")
    }
    return Verdict(claim=claim["id"], outcomes=outcomes, **texts)
