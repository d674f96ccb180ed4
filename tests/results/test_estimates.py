"""Means and intervals of many points at once: equal to summarising a plan and to Student's; wrong input is
refused.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crossfade._crossfade as _crossfade
from crossfade import plans
from crossfade.plans.options import Options
from crossfade.results.file import ResultsFile
from crossfade.results.rows import Row
from tests.conftest import SMALL, SWEEP
from tests.later import stats
from tests.results.results_files import wide

SCALED = st.builds(
    lambda x, e: x * 10.0**e, st.floats(0.1, 1.0), st.integers(-140, 140)
)  # values with finite squares


@given(st.data())
@settings(max_examples=settings().max_examples // 4)
def test_estimates_are_those_of_summarise(data: st.DataObject) -> None:
    precision = data.draw(st.sampled_from([None, "1 %", "50 %"]))
    runs = data.draw(st.integers(20, 30) if precision else st.integers(1, 25))
    limit = {"set": {"run.max_runs": runs}} if precision else {"runs": runs}
    plan = plans.load(SWEEP, Options(precision=precision, **limit))
    keys = iter(plan.core.keys())
    points = plan.description["points"]
    near = st.floats(0.9, 1.1)  # values whose spread may reach the precision
    goodputs = st.one_of(near, SCALED) if data.draw(st.booleans()) else near
    rows, arrays = [], []
    for point in points:
        for run in range(runs):
            metrics = {"goodput_bps": data.draw(goodputs)}
            if data.draw(st.booleans()):
                metrics["timeouts"] = data.draw(SCALED)
            packed = np.array([metrics[name] for name in sorted(metrics)]).tobytes()
            names = "\n".join(sorted(metrics))
            rows.append(Row(next(keys), point["id"], "simulation", 1, run, names, packed, None, 0.0))
            arrays.append([metrics.get("goodput_bps", math.nan), metrics.get("timeouts", math.nan)])
    share = None if precision is None else plan.description["stop"]["precision"]
    means, *intervals, defined, _, counts, precise = _crossfade.estimates(
        np.array(arrays),
        np.arange(len(points)) * runs,
        ["goodput_bps", "timeouts"],
        [0, 1],
        None if share is None else (share, 0),
        ranges=np.array(plan.core.ranges(list(range(len(points))), ["goodput_bps", "timeouts"])),
    )
    summary = json.loads(plan.core.known().results(range(len(points)), [rows[:7], rows[7:]]))
    for i, found in enumerate(summary):
        assert counts[i] == found["runs"]
        for column, name in enumerate(["goodput_bps", "timeouts"]):
            metric = found["metrics"].get(name, dict.fromkeys(("value", "ci95", "low", "high"), math.nan))
            assert repr(means[i, column].item()) == repr(metric["value"])
            assert defined[i, column] == metric.get("runs", 0)
            for array, key in zip(intervals, ("ci95", "low", "high"), strict=True):
                expected = math.nan if metric[key] is None else metric[key]
                assert repr(array[i, column].item()) == repr(expected)
        reached = not any("has not reached the precision" in text for text in found["warnings"])
        assert precise[i] == (reached and "interrupted" not in " ".join(found["warnings"]))


def test_estimates_are_means_with_student_intervals() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(10.0, 2.0, (60, 3))
    values[rng.random((60, 3)) < 0.3] = np.nan
    values[:, 2] = np.nan
    starts = np.array([0, 0, 1, 13, 60])
    names = ["goodput_bps", "rtt_mean_s", "rtt_p95_s"]
    means, ci95, low, high, defined, at_least, counts, precise = _crossfade.estimates(
        values, starts, names, [0, 1, 2]
    )
    assert not at_least.any()
    assert counts.tolist() == [0, 1, 12, 47, 0]
    assert precise.all()
    for i, (begin, end) in enumerate(zip(starts, [*starts[1:], 60], strict=True)):
        for column in range(3):
            group = values[begin:end, column]
            group = group[~np.isnan(group)]
            assert defined[i, column] == len(group)
            if len(group) == 0:
                assert math.isnan(means[i, column])
            else:
                assert means[i, column] == pytest.approx(group.mean(), rel=1e-14)
            if len(group) < 2:
                assert math.isnan(ci95[i, column])
            else:
                half = stats.t.ppf(0.975, len(group) - 1) * stats.sem(group)
                assert ci95[i, column] == pytest.approx(half, rel=1e-9)
                # An interval that also covers skewed runs is never narrower than Student's.
                assert low[i, column] <= means[i, column] - half * (1.0 - 1e-9)
                assert high[i, column] >= means[i, column] + half * (1.0 - 1e-9)


def test_no_interval_goes_beyond_what_the_link_carries(tmp_path: Path) -> None:
    """Intervals end at the link's limit: 1.5 Mbit/s in packets of 1400 bytes with 40 of headers carry 1.4571
    Mbit/s, 1 packet per slot.

    Two runs of 0.1 and three of 1.4 Mbit/s have a mean of 0.88, a deviation of 0.712, and with t(0.975, 4) =
    2.776 a half-width of 0.884.
    """
    values = {"goodput_bps": [1e5, 1e5, 1.4e6, 1.4e6, 1.4e6], "throughput_per_slot": [0.1, 0.1, 1, 1, 1]}
    most = {"goodput_bps": 1.5e6 * 1360 / 1400, "throughput_per_slot": 1.0}
    plan = plans.load(SMALL, Options(runs=5))
    point = plan.description["points"][0]["id"]
    rows = [
        Row(key, point, "simulation", 1, run, "\n".join(values), packed, None, 0.0)
        for run, key in enumerate(plan.core.keys())
        for packed in [np.array([runs[run] for runs in values.values()]).tobytes()]
    ]
    (found,) = json.loads(plan.core.known().results([0], [rows]))
    assert found["metrics"]["goodput_bps"]["ci95"] == pytest.approx(0.884e6, rel=1e-3)
    assert found["metrics"]["goodput_bps"]["low"] == 0.0
    for name, end in most.items():
        assert found["metrics"][name]["high"] == pytest.approx(end, rel=1e-6)
    assert plan.core.ranges([0], ["timeouts"]) == [[[0.0, math.inf]]]
    file = tmp_path / "few.sqlite"
    with ResultsFile.create(file) as results:
        results.add_plan(plan.stored)
        results.put(rows)
    assert float(wide(file)["goodput_bps_ci95_high"]) == pytest.approx(most["goodput_bps"], rel=1e-6)


def test_no_interval_of_a_round_trip_goes_below_the_propagation(tmp_path: Path) -> None:
    """Intervals of delays end at the propagation delay: 30 ms forward and 20 ms back. Four runs of 60 ms and
    one of 300 ms are 108 ± 133 ms, but not below 50 ms.

    One-way delays of 32 ms four times and 270 ms once are 80 ± 132 ms, but not below the 20 ms of the shorter
    direction, since data may go either way.
    """
    values = {"one_way_delay_p95_s": [0.032] * 4 + [0.27], "rtt_p95_s": [0.06] * 4 + [0.3]}
    away = {"link.delay": "30 ms", "reverse.delay": "20 ms"}
    plan = plans.load(SMALL, Options(runs=5, set=away))
    point = plan.description["points"][0]["id"]
    rows = [
        Row(key, point, "simulation", 1, run, "\n".join(values), packed, None, 0.0)
        for run, key in enumerate(plan.core.keys())
        for packed in [np.array([runs[run] for runs in values.values()]).tobytes()]
    ]
    (found,) = json.loads(plan.core.known().results([0], [rows]))
    assert found["metrics"]["rtt_p95_s"]["low"] == pytest.approx(0.05)
    assert found["metrics"]["one_way_delay_p95_s"]["low"] == pytest.approx(0.02)
    file = tmp_path / "few.sqlite"
    with ResultsFile.create(file) as results:
        results.add_plan(plan.stored)
        results.put(rows)
    assert float(wide(file)["rtt_p95_s_ci95_low"]) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("starts", "precision"), [([1, 0], None), ([0, 5], None), ([-1], None), ([0], (0.1, 2))]
)
def test_estimates_refuse_what_does_not_fit(starts: list[int], precision: tuple[float, int] | None) -> None:
    with pytest.raises(IndexError):
        _crossfade.estimates(
            np.zeros((4, 2)), np.array(starts), ["goodput_bps", "timeouts"], [0, 1], precision
        )
