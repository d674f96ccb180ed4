"""Verdicts on targets: pass, fail, or too close to call, by the interval of the mean over the runs."""

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
    """A target against what the runs gave.

    ``half`` is the half-width of the interval of ``value``, None where a single run has none. ``note`` says
    what the numbers alone do not.
    """

    verdict: Word
    value: float
    half: float | None
    runs: int
    worst_run: int | None
    note: str = ""


def judge(sample: Sample, target: Target, coverage: float, asked: int) -> Judged:
    """Judge a target by a metric in each run; ``asked`` is how many runs there were to be.

    A target is met where the whole interval keeps to the limit, and failed where all of it lies beyond. A
    completion time of flows that were not completed is a lower bound: it can fail, and not pass. A metric
    that no run defines fails.
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
    """A metric over that of another control, run by run over the runs that both have."""
    # A lower bound over a number is one; a number over a lower bound is an upper one, and tells nothing.
    common = [run for run in of.values if by.values.get(run) and run not in by.unfinished]
    values: Mapping[int, float] = {run: of.values[run] / by.values[run] for run in common}
    return Sample(values, unfinished=frozenset(of.unfinished & values.keys()), seen=of.seen)


def worst_of(verdicts: Sequence[Word]) -> Word:
    """The verdict on several targets together."""
    order: list[Word] = ["fail", "too close to call", "pass"]
    return next((word for word in order if word in verdicts), "pass")
