"""Comparison of two builds of a transport: run r of the new build with run r of the old one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from crossfade.comparison.paired import Sample, each_of
from crossfade.errors import ScenarioError, shortened
from crossfade.suite.running import Row, SuiteResult

Change = Literal["worse", "better", "no worse", "too close to call"]

MARGIN = 0.02
"""Largest change, as a share of the old value, that counts as no change."""


@dataclass(frozen=True)
class Pair:
    """Comparison of one target under the new and the old build.

    ``change`` is the new value less the old one as a share of the old, ``half`` the half-width of its
    interval; a positive change is more of the metric. If the old mean is 0, both are in the metric's unit
    (``is_share`` False). ``verdict`` is ``worse`` or ``better`` if the whole interval lies beyond the margin
    on that side, ``no worse`` if it does not reach the margin on the worse side.
    """

    case: str
    tested: str
    target: str
    metric: str
    unit: str
    change: float
    half: float | None
    pairs: int
    verdict: Change
    worst_run: int | None
    replay: str
    is_share: bool = True

    @property
    def words(self) -> str:
        """Text of the change, such as ``slower by 4.1 ± 0.8 % on wifi-home``."""
        much = abs(self.change) * (100.0 if self.is_share else 1.0)
        spread = "" if self.half is None else f" ± {self.half * (100.0 if self.is_share else 1.0):.2g}"
        unit = "%" if self.is_share else self.unit
        is_time = self.metric.rpartition(".")[2] in ("completion_time_s", "recovery_s")
        side = ("slower" if self.change > 0.0 else "faster") if is_time else _more(self.change)
        what = side if is_time else f"{self.metric} {side}"
        return f"{what} by {much:.3g}{spread} {unit} on {self.case}"


def _more(change: float) -> str:
    return "higher" if change > 0.0 else "lower"


def compare_with(result: SuiteResult, old: Sequence[Mapping[str, Any]], margin: float = MARGIN) -> list[Pair]:
    """Comparisons of a result with the rows of an older one.

    If both tested one thing, its name may differ (``old.rs``, ``new.rs``). All intervals hold together in 95
    % of comparisons (Bonferroni). Raises :class:`ScenarioError` if no row has a counterpart.
    """
    olds = list(dict.fromkeys(str(row["tested"]) for row in old))
    is_pair = len(olds) == len(result.tested) == 1
    by_place = {(row["suite"], row["case"], row["target"], str(row["tested"])): row for row in old}
    found: list[tuple[Row, Mapping[str, Any]]] = []
    for row in result.rows:
        counterpart = by_place.get((row.suite, row.case, row.target, olds[0] if is_pair else row.tested))
        if counterpart is not None and counterpart["values"]:
            found.append((row, counterpart))
    if not found:
        known = ", ".join(olds) or "nothing"
        raise ScenarioError(f"baseline: no row of it has a counterpart (it tested {shortened(known)})")
    coverage = each_of(len(found))
    return [_pair(row, earlier, coverage, margin) for row, earlier in found]


def _pair(row: Row, old: Mapping[str, Any], coverage: float, margin: float) -> Pair:
    before = {int(run): float(value) for run, value in old["values"] if value is not None}
    common = sorted(before.keys() & row.values.keys())
    differences = {run: row.values[run] - before[run] for run in common}
    reference = math.fsum(before[run] for run in common) / len(common) if common else 0.0
    is_share = reference != 0.0
    scale = abs(reference) if is_share else 1.0
    shares = Sample({run: value / scale for run, value in differences.items()})
    # For a target with an upper limit, higher values are worse.
    is_low_better = row.side == "at most"
    worse = shares if is_low_better else -shares
    half = shares.half_width(coverage)
    worst = max(worse.values, key=lambda run: worse.values[run]) if worse.values else None
    return Pair(
        case=row.case,
        tested=row.tested,
        target=row.target,
        metric=row.metric,
        unit=row.unit,
        change=shares.mean,
        half=None if math.isinf(half) else half,
        pairs=len(common),
        verdict=_verdict(worse.mean, half, margin if is_share else 0.0),
        worst_run=worst,
        replay=row.replay if worst == row.worst_run else "",
        is_share=is_share,
    )


def _verdict(worse: float, half: float, margin: float) -> Change:
    """Verdict from the interval of ``worse``, the amount by which the new result is worse."""
    if math.isnan(worse) or math.isinf(half):
        return "too close to call"
    if worse - half > margin:
        return "worse"
    if worse + half < -margin:
        return "better"
    return "no worse" if worse + half <= margin else "too close to call"
