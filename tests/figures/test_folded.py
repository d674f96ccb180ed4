"""Samples folded over a period: means of bins, intervals over periods, rates of events."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from crossfade.errors import CrossfadeWarning, ResultsError, ScenarioError
from crossfade.figures.choice import number
from crossfade.figures.phases import Period, Seen
from crossfade.pictures.drawing import draw_any
from crossfade.tables import Table
from tests.conftest import Cli
from tests.later import pandas
from tests.test_memory import PEAK

COLUMNS = (
    "time_s,event,flow,seq,cwnd,ssthresh,dupacks,backoff,flight_size,link,goodput_bps,rtt_mean_s,"
    "queue_packets,capacity_bps,retransmissions"
)


def sample(time: float, goodput: float) -> str:
    return f"{time:g},sample,0,,10,20,0,0,5,,{goodput!r},0.05,,,0"


def of_periods(rates: list[float], out: int = 2) -> Table:
    """Samples of periods of 1 s, 0.1 s apart: goodput 0 in the first ``out`` samples, then the rate of the
    period.
    """
    lines = [
        sample(0.1 * (10 * period + index + 1), 0.0 if index < out else rate)
        for period, rate in enumerate(rates)
        for index in range(10)
    ]
    return Table.from_csv("\n".join([COLUMNS, *lines]), "samples")


def test_a_bin_has_the_mean_of_all_periods() -> None:
    folded = cf.pictures.fold(of_periods([1e6, 2e6, 6e6]), "1 s", y="goodput_bps")
    assert folded["phase_s"].tolist() == pytest.approx([0.05 + 0.1 * bin_ for bin_ in range(10)])
    assert folded["mean"].tolist() == [0.0, 0.0, *[3e6] * 8]
    # Percentiles of three values are interpolated linearly between neighbours.
    assert folded["p05"].tolist()[2:] == pytest.approx([1.1e6] * 8)
    assert folded["p95"].tolist()[2:] == pytest.approx([5.6e6] * 8)
    assert set(folded["periods"]) == {3}


def test_a_period_may_begin_later() -> None:
    table = of_periods([1e6, 1e6, 1e6])
    (first, *_) = cf.pictures.fold(table, "1 s from 200 ms", y="goodput_bps").to_dict("records")
    assert first["phase_s"] == pytest.approx(0.05)
    assert first["mean"] == 1e6
    assert Period.read("15 s from 8.76 s") == Period(15.0, 8.76)
    which, phase = Period.read("200 ms").locate(0.5)
    assert which == 2
    assert phase == pytest.approx(0.1)
    for wrong in ("15", "15 packets", "0 s", "1 s from 2", "1 s from"):
        with pytest.raises(ScenarioError, match="--fold"):
            Period.read(wrong)


def test_periods_give_the_interval_and_the_recovery() -> None:
    rates = [float(rate) * 1e6 for rate in range(1, 13)]
    (row,) = cf.pictures.fold(of_periods(rates), "1 s", y="goodput_bps", slots=True).to_dict("records")
    assert row["periods"] == 12
    means = [0.8 * rate for rate in rates]
    assert row["mean"] == pytest.approx(sum(means) / 12)
    # The interval is about 1.96 standard errors to either side, for 12 values with a deviation of 2.76
    # million.
    deviation = (sum((value - sum(means) / 12) ** 2 for value in means) / 12) ** 0.5
    width = number(row["ci95_high"]) - number(row["ci95_low"])
    assert width == pytest.approx(2.0 * 1.96 * deviation / 12**0.5, rel=0.1)
    # Two samples of 0.1 s have no goodput, the third has all of it.
    assert row["recovery_s"] == pytest.approx(0.3)


def test_few_periods_are_warned_of() -> None:
    with pytest.warns(CrossfadeWarning, match="9 whole periods of 1 s"):
        cf.pictures.fold(of_periods([1e6] * 9), "1 s", slots=True)


def test_events_between_samples_are_counted() -> None:
    """Rates of losses and needless retransmissions: segment 1 is lost and retransmitted, 2 is retransmitted
    needlessly, 3 is dropped.
    """
    events = [
        (0.05, "send", 1), (0.06, "send", 2), (0.07, "lost", 1), (0.25, "send", 1), (0.35, "send", 2),
        (1.05, "send", 3), (1.06, "queue_drop", 3), (1.15, "send", 3),
    ]  # fmt: skip
    lines = [f"{time},{kind},0,{segment},10,20,0,0,5,,,,,," for time, kind, segment in events]
    rows = [sample(0.1 * (index + 1), 1e6) for index in range(20)]
    table = Table.from_csv("\n".join([COLUMNS, *lines, *rows]), "events")
    folded = cf.pictures.fold(table, "1 s", y=["losses_per_s", "spurious_per_s"])
    of = {
        name: [row["mean"] for row in folded.to_dict("records") if row["quantity"] == name]
        for name in ("losses_per_s", "spurious_per_s")
    }
    # With two periods and bins of 0.1 s, one event is a rate of 5 per second.
    assert of["losses_per_s"] == pytest.approx([10.0, *[0.0] * 9])
    assert of["spurious_per_s"] == pytest.approx([0.0, 0.0, 0.0, 5.0, *[0.0] * 6])


def test_the_command_draws_and_says_it(cli: Cli, tmp_path: Path) -> None:
    samples, drawn = tmp_path / "samples.csv", tmp_path / "folded.png"
    samples.write_text(of_periods([1e6] * 12).to_csv(), encoding="utf-8")
    done = cli("plot", samples, "--fold", "1 s", "--y", "goodput_bps,cwnd", "--out", drawn)
    assert done.code == 0, done.err
    assert drawn.stat().st_size > 10_000
    said = done.out + done.err
    assert "goodput_bps of flow 0: 8e+05, 95 % from 8e+05 to 8e+05 (12 periods)" in said
    assert "back at 90 % after 0.3 s" in said


def test_a_file_is_folded_as_its_table_is(tmp_path: Path) -> None:
    """A file gives the same result as its table: read row by row, compressed or not, with conditions of both
    kinds.
    """
    samples = of_periods([float(rate) * 1e6 for rate in range(1, 13)])
    events = [f"{0.3 * i:g},send,1,{i % 7},10,20,0,0,5,,,,,," for i in range(30)]
    text = samples.to_csv() + "\n".join(events) + "\n\n"
    table = Table.from_csv(text, "samples")
    path, packed = tmp_path / "samples.csv", tmp_path / "samples.csv.gz"
    path.write_text(text.replace("\n", "\r\n"), encoding="utf-8", newline="")
    packed.write_bytes(gzip.compress(text.encode()))
    chosen: list[dict[str, Any]] = [
        {},
        {"where": {"flow": 0}},
        {"y": ["spurious_per_s", "goodput_bps"]},
        {"where": {"time_s>=": 3, "time_s<": "7", "flow": 0}, "y": "goodput_bps"},
        {"slots": True},
    ]
    for options in chosen:
        expected = cf.pictures.fold(table, "1 s", **options)
        pandas.testing.assert_frame_equal(cf.pictures.fold(path, "1 s", **options), expected)
        pandas.testing.assert_frame_equal(cf.pictures.fold(packed, "1 s", **options), expected)
        pandas.testing.assert_frame_equal(cf.pictures.fold(table.to_pandas(), "1 s", **options), expected)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"flow": 1}, "nothing to fold"),
        ({"flow": 7}, "flow = 7: no row has that"),
        ({"time_s>": 100}, r"time_s>100: no row has that \(values: 0 to 12\)"),
        ({"colour": 1}, "column colour: not in the table"),
        ({"time_s>": "soon"}, "time_s>soon: must be compared with a number"),
    ]
    for where, message in wrong:
        for source in (table, path):
            with pytest.raises(ResultsError, match=message):
                cf.pictures.fold(source, "1 s", where=where)
    path.write_bytes(text.encode() + b"\xff\n")
    with pytest.raises(ResultsError, match=f"byte {len(text.encode())} is not UTF-8"):
        cf.pictures.fold(path, "1 s")
    path.write_text(text + "1,2\n")
    with pytest.raises(ResultsError, match="2 cells, expected 15"):
        cf.pictures.fold(path, "1 s")


def test_segments_count_as_a_set_of_them_does() -> None:
    """The compact range of segments in ``Seen`` agrees with a set of all segments."""
    draws = random.Random(3)
    for start in (0, 5):
        seen, whole = Seen(), set[int]()
        for _ in range(5000):
            segment = start + draws.randrange(60)
            if draws.random() < 0.3:
                seen.miss(segment)
                whole.discard(segment)
            else:
                assert seen.send(segment) == (segment in whole)
                whole.add(segment)
    seen = Seen()
    assert not any(seen.send(segment) for segment in range(100_000))
    assert not seen.others
    assert not seen.missing


def test_a_long_file_takes_no_memory_of_its_size(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    with path.open("w") as file:
        file.write(COLUMNS + "\n")
        for second in range(15):
            for i in range(5_000):
                # Numbers are written at length, so that few rows make a large file.
                file.write(f"{second}.{2 * i:04d}00000000,send,0,{5_000 * second + i},")
                file.write("10.000000000000,20.000000000000,0,0,5,,,,,,\n")
            file.write(sample(second + 1, 1e6) + "\n")
    program = f"""
import crossfade as cf
{PEAK}
cf.pictures.fold({str(path)!r}, "1 s", where={{"time_s<": 2}})
before = used()
cf.pictures.fold({str(path)!r}, "1 s")
print(used() - before)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    # The file has 5 MB; its table in memory would take about 50 MB.
    assert path.stat().st_size > 5e6
    assert int(found.stdout) < 4e6


def test_what_cannot_be_folded_is_said(tmp_path: Path) -> None:
    table = of_periods([1e6] * 12)
    with pytest.raises(ResultsError, match="column ssthresh: not to be folded"):
        cf.pictures.plot_events(table, tmp_path / "x.png", fold="1 s", y="ssthresh")
    with pytest.raises(ScenarioError, match="log_y = True: not for this picture"):
        draw_any(table, tmp_path / "x.png", fold="1 s", log_y=True)
    with pytest.raises(ResultsError, match="only samples and events have times"):
        cf.pictures.fold(Table(["a"], [[1]]), "1 s")
    without = Table(table.columns, [row for row in table.rows if row[1] != "sample"])
    with pytest.raises(ResultsError, match="the table has no samples"):
        cf.pictures.fold(without, "1 s")
