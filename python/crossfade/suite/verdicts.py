"""Verdicts on targets by the interval of the mean over the runs: pass, fail, or too close to call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from crossfade.comparison.gates import worst_run
from crossfade.comparison.paired import Sample
from crossfade.suite.targets import Target

Word = Literal["pass", "fail", "too close to call"]


@dataclass(frozen=True)
class Judged:
    """Verdict on a target.

    ``half`` is the half-width of the interval of ``value``, None for a single run without one. ``note`` is a
    remark that the numbers do not show.
    """

    verdict: Word
    value: float
    half: float | None
    runs: int
    worst_run: int | None
    note: str = ""


def judge(sample: Sample, target: Target, coverage: float, asked: int) -> Judged:
    """Judge a target by a metric in each run; ``asked`` is the planned number of runs.

    A target is met if the whole interval keeps the limit, and failed if all of it lies beyond. A completion
    time of unfinished flows is a lower bound: it can fail, but not pass. A metric that no run defines fails.
    """
    if not sample.values:
        return Judged("fail", math.nan, None, 0, None, "no run defines it")
    word = (sample - target.limit).verdict(coverage)
    good = "higher" if target.side == "at least" else "lower"
    worst = worst_run(sample.values, target.side == "at most")
    notes = []
    if (lacking := asked - len(sample.values)) > 0:
        notes.append(f"not defined in {lacking} of {asked} runs")
    if sample.unfinished:
        notes.append(f"not finished in {len(sample.unfinished)} of {len(sample.values)} runs: a lower bound")
    verdict: Word = "too close to call"
    if word == good or word == "equal":
        verdict = "too close to call" if sample.unfinished else "pass"
    elif word in ("higher", "lower"):
        verdict = "fail"
    if len(sample.values) == 1 and not sample.is_exact:
        notes.append("a single run has no interval")
    half = sample.half_width(coverage)
    return Judged(
        verdict=verdict,
        value=sample.mean,
        half=None if math.isinf(half) else half,
        runs=len(sample.values),
        worst_run=worst[0] if worst else next(iter(sample.values)),
        note="; ".join(notes),
    )


def quotient(of: Sample, by: Sample) -> Sample:
    """Metric divided by that of another control, run by run over the runs that both have."""
    # A lower bound divided by a number is a lower bound; a number divided by a lower bound is left out.
    common = [run for run in of.values if by.values.get(run) and run not in by.unfinished]
    values: Mapping[int, float] = {run: of.values[run] / by.values[run] for run in common}
    return Sample(values, unfinished=frozenset(of.unfinished & values.keys()), seen=of.seen)


def worst_of(verdicts: Sequence[Word]) -> Word:
    """Verdict on several targets together: the worst of them."""
    order: list[Word] = ["fail", "too close to call", "pass"]
    return next((word for word in order if word in verdicts), "pass")
