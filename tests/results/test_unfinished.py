"""Flows that were unfinished at the end of their run: short runs never make completion times look shorter."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import crossfade as cf
from crossfade.figures.choice import number
from crossfade.results.results import Results
from tests.conftest import Cli

TRANSFER = """\
schema = 1
run = { duration = "60 s", runs = 20 }
channel = { model = "iid", p_e = 0.04 }
link = { rate = "2 Mbit/s", delay = "40 ms", packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "sack" }
[flows.page]
traffic = "transfer"
size = "1500 kB"
"""
DURATIONS = [8, 10, 12, 20, 60]
# Load of 1.2 times the link's rate, so transfers take longer the longer the run lasts.
OVERLOAD = """\
schema = 1
run = { duration = "20 s", runs = 10 }
channel = { model = "none" }
link = { rate = "2 Mbit/s", delay = "20 ms", packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "sack" }
[flows.page]
traffic = "arrivals"
arrivals_per_s = 6
size = "50 kB"
sizes = "fixed"
"""


@pytest.fixture(scope="module")
def swept() -> Results:
    """Results of the transfer for several durations of the run."""
    return cf.run(TRANSFER, over={"run.duration": [f"{seconds} s" for seconds in DURATIONS]}, cache=False)


def times_of(results: Results) -> np.ndarray:
    """Duration of the transfer in each run, from the longest runs, in which all transfers ended."""
    whole = results.points[-1]
    assert whole.samples("flows_completed") == [1.0] * 20
    return np.array(whole.samples("completion_time_s"))


def test_no_duration_tells_a_lie(swept: Results) -> None:
    times = times_of(swept)
    truth = times.mean()
    left = [int((times > seconds).sum()) for seconds in DURATIONS]
    assert left[0] == 20, "too short for any"
    assert 0 < left[1] < 20, "in 10 s some, and they are the quick ones"
    for seconds, unfinished, point in zip(DURATIONS, left, swept.points, strict=True):
        mean, completed = point.metrics["completion_time_s"], point.metrics["flows_completed"]
        assert completed.value == pytest.approx((20 - unfinished) / 20)
        assert completed.n == mean.n == 20
        assert point.metrics["flows_unfinished"].value == pytest.approx(unfinished / 20)
        # Each unfinished transfer counts with its observed time.
        assert mean.value == pytest.approx(np.minimum(times, seconds).mean(), rel=1e-9)
        assert mean.at_least == (unfinished > 0)
        assert mean.value is not None
        assert mean.low is not None
        if unfinished:
            assert mean.value < truth
            assert (mean.high, mean.ci95) == (None, None)
            assert mean.low <= mean.value
            warning = (
                f"{unfinished} of 20 flows were unfinished when the run ended, in {unfinished} of 20 runs"
            )
            assert warning in " ".join(point.warnings)
        else:
            assert mean.value == truth
            assert mean.ci95 is not None
            assert "unfinished" not in " ".join(point.warnings)
        # The 95 % quantile is known if 95 % have ended; otherwise it is a lower bound.
        quantile = point.metrics["completion_time_p95_s"]
        assert quantile.at_least == (unfinished > 1)
        exact = np.quantile(np.minimum(times, seconds), 0.95, method="inverted_cdf")
        assert quantile.value == pytest.approx(exact, rel=1 / 64)


def test_bounds_are_told_wherever_they_are_shown(swept: Results, cli: Cli, tmp_path: Path) -> None:
    is_bound = [float(point.metrics["completion_time_s"].at_least) for point in swept.points]
    table = [dict(zip(swept.table().columns, row, strict=True)) for row in swept.table().rows]
    assert [row["completion_time_s_at_least"] for row in table] == is_bound
    assert [row["completion_time_s_runs"] for row in table] == [20] * len(DURATIONS)
    file = tmp_path / "transfer.toml"
    file.write_text(TRANSFER)
    shown = cli("run", file, "--set", "run.duration=10 s")
    assert "at least" in next(
        line for line in shown.out.splitlines() if line.startswith(" completion_time_s")
    )
    assert "flows were unfinished when the run ended" in shown.err
    found = json.loads(cli("run", file, "--set", "run.duration=10 s", "--json").out)[0]["metrics"]
    assert found["completion_time_s"]["at_least"] is True
    assert (found["completion_time_s"]["runs"], found["completion_time_s"]["high"]) == (20, None)
    assert "at_least" not in found["goodput_bps"]
    text = cli("run", file, "--set", "run.duration=10 s", "--csv", "-", "--quiet").out
    (row,) = csv.DictReader(io.StringIO(text))
    assert float(row["completion_time_s_at_least"]) == 1.0
    assert row["completion_time_s_ci95_high"] == ""


def test_some_of_twenty_and_twenty_of_twenty_are_not_equal(swept: Results) -> None:
    verdicts = {
        (pair.first, pair.second): pair.verdict
        for pair in cf.compare(swept, "run.duration", metric="completion_time_s").pairs
    }
    # The same transfers, some of them unfinished in the shorter run.
    assert verdicts.pop(("20 s", "60 s")) == "equal", "all ended in both"
    assert set(verdicts.values()) == {"cannot tell"}
    (decision,) = cf.best(swept, "run.duration", metric="completion_time_s").decisions
    assert decision.at_least
    assert decision.verdict != "best", "the shortest run is not the quickest transfer"
    # With equal observation times, more transfers end with fewer losses.
    found = cf.run(TRANSFER, set={"run.duration": "10 s"}, over={"channel.p_e": [0.04, 0.005]}, cache=False)
    few, all_of_them = (point.value("flows_completed") for point in found.points)
    assert 0.0 < few < 0.5
    assert all_of_them == 1.0
    for metric, verdict in [("completion_time_s", "higher"), ("flows_completed", "lower")]:
        (pair,) = cf.compare(found, "channel.p_e", metric=metric).pairs
        assert pair.verdict == verdict
    (decision,) = cf.best(found, "channel.p_e", metric="completion_time_s").decisions
    assert (decision.choice, decision.verdict, decision.at_least) == ({"channel.p_e": 0.005}, "best", False)


def test_at_a_load_above_one_times_are_bounds() -> None:
    point = cf.run(OVERLOAD, cache=False).points[0]
    # Transfers that began in the first 20 s, in runs long enough for all of them to end.
    longer = cf.store.Table.of_frame(cf.runs.transfers(OVERLOAD, set={"run.duration": "200 s"}))
    columns = [map(number, longer.cells(name)) for name in ("start_s", "completion_time_s")]
    pairs = [(start, time) for start, time in zip(*columns, strict=True) if start < 20.0]
    times = np.array([time for _, time in pairs])
    began = sum(point.samples("flows_completed")) + sum(point.samples("flows_unfinished"))
    assert len(times) == began
    assert np.isfinite(times).all()
    seen = np.array([min(time, 20.0 - start) for start, time in pairs])
    mean, quantile = point.metrics["completion_time_s"], point.metrics["completion_time_p95_s"]
    assert mean.value == pytest.approx(seen.mean(), rel=1e-6)
    assert mean.at_least
    assert mean.value < times.mean()
    survivors = np.mean([time for start, time in pairs if start + time < 20.0])
    assert survivors < 0.9 * times.mean(), "else there would be nothing to tell"
    assert quantile.at_least
    assert quantile.value <= np.quantile(times, 0.95, method="inverted_cdf") * (1 + 1 / 64)
