"""Suites with simulated controls: verdicts, rows, JUnit files, pages, baselines, exit codes."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

import crossfade as cf
from crossfade.errors import ScenarioError
from crossfade.suite.baseline import compare_with
from crossfade.suite.junit import junit
from crossfade.suite.page import page
from crossfade.suite.running import read_rows, run_suite
from tests.conftest import Cli, expect_one_line
from tests.suite.test_cases import SUITE, own

# A broken control: its window never exceeds four segments.
STUBBORN = """
from crossfade.teaching import CongestionControl

class Fixed(CongestionControl):
    "A window of four segments, whatever happens."
    def start(self, cwnd, ssthresh):
        self.cwnd, self.ssthresh = 4.0, 4.0
    def on_ack(self, ack):
        pass
    def on_loss(self, now, flight):
        pass
    def on_timeout(self, now, flight):
        self.cwnd = 1.0
"""


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_suite_of_ones_own(tmp_path: Path) -> None:
    result = run_suite(own(tmp_path), "cubic,bbr-v1", cache=False)
    assert [(row.tested, row.verdict) for row in result.rows] == [("cubic", "pass"), ("bbr-v1", "pass")]
    # The values equal those of a plain run of the scenario.
    alone = cf.run(str(tmp_path / "short.toml"), runs=5, cache=False).points[0]
    assert list(result.rows[0].values.values()) == alone.samples("main.completion_time_s")
    assert result.counts() == {"pass": 2, "fail": 0, "too close to call": 0}
    assert result.coverage == pytest.approx(1.0 - 0.05 / 2)


def test_a_failure_is_named_with_what_repeats_it(cli: Cli, tmp_path: Path) -> None:
    folder = own(tmp_path, SUITE.replace('"5 s"', '"0.2 s"'))
    done = cli("suite", folder, "--control", "reno", "--quiet", "--no-cache")
    assert done.code == 1
    (line,) = done.err.splitlines()
    assert line.startswith("failed: short, reno: main.completion_time_s at most 0.2 s; run ")
    command = line.partition("repeated by: ")[2]
    again = cli(*shlex.split(command)[1:], "--quiet")
    assert again.code == 0
    run = int(re.search(r"run (\d+) is the worst", line)[1])  # type: ignore[index]
    events = (tmp_path / f"run{run}.csv").read_text().splitlines()
    assert len(events) > 100
    # The events are of this run: the last one is at the end of the transfer, plus the reverse path.
    value = run_suite(folder, "reno", cache=False).rows[0].values[run]
    assert float(events[-1].split(",")[0]) == pytest.approx(value, abs=0.1)


def test_what_is_too_close_to_call_fails_nothing(cli: Cli, tmp_path: Path) -> None:
    mean = run_suite(own(tmp_path), "cubic", cache=False).rows[0].value
    assert mean is not None
    folder = own(tmp_path, SUITE.replace('"5 s"', f'"{mean} s"'))
    done = cli("suite", folder, "--control", "cubic", "--no-cache", "--json", "--quiet", "--junit", "x.xml")
    assert done.code == 0
    (row,) = json.loads(done.out)
    assert row["verdict"] == "too close to call"
    (suite,) = ElementTree.parse("x.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("1", "0", "1")


def test_two_runs_say_the_same(cli: Cli, tmp_path: Path) -> None:
    folder = own(tmp_path)
    outs = [
        cli(
            "suite",
            folder,
            "--control",
            "cubic,quic:cubic",
            "--json",
            "--quiet",
            "--no-cache",
            "--jobs",
            jobs,
        ).out
        for jobs in ("1", "2")
    ]
    assert outs[0] == outs[1]
    rows = json.loads(outs[0])
    assert rows[1]["tested"] == "quic:cubic"
    assert rows[0]["values"] != rows[1]["values"]


def test_stretches_of_time_and_recovery(tmp_path: Path) -> None:
    result = run_suite("c4", "cubic", cases=["blackhole"], runs=3, cache=False)
    recovery = next(row for row in result.rows if row.metric == "main.recovery_s")
    # Nothing arrives before 4 s, and a sample is 0.1 s long.
    assert all(0.09 < value < 3.0 for value in recovery.values.values())
    result = run_suite("rfc8867", "cubic", cases=["5.1-capacity"], runs=2, cache=False)
    values = [row.value or 0.0 for row in result.rows if row.metric == "main.goodput_bps"]
    # Goodput lies between 90 % and 100 % of the rate of each interval, because of headers.
    for value, rate in zip(values, (1e6, 2.5e6, 1e6), strict=True):
        assert 0.9 * rate < value < rate


def test_beside_another_control() -> None:
    result = run_suite("c4", "cubic,bbr-v1", cases=["alone"], runs=3, cache=False)
    beside = [row for row in result.rows if row.target.endswith("of cubic's")]
    assert set(beside[0].values.values()) == {1.0}
    whole = [row for row in result.rows if not row.target.endswith("of cubic's")]
    for run, value in beside[1].values.items():
        assert value == pytest.approx(whole[1].values[run] / whole[0].values[run])


def test_a_broken_control_is_caught_and_one_that_is_not_is_not(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "fixed.py").write_text(STUBBORN)
    args = ("--case", "alone", "--runs", "3", "--no-cache", "--quiet")
    assert cli("suite", "c4", "--control", "reno", *args).code == 0
    done = cli("suite", "c4", "--control", "fixed.py", *args)
    assert done.code == 1, done.err
    assert "failed: alone, fixed.py" in done.err


def test_baseline(cli: Cli, tmp_path: Path) -> None:
    old = run_suite("c4", "cubic", cases=["alone", "low-and-up"], runs=4, cache=False)
    Path("old.json").write_text(old.to_json())
    args = ("--case", "alone", "--case", "low-and-up", "--runs", "4", "--no-cache", "--quiet")
    same = cli("suite", "c4", "--control", "cubic", "--baseline", "old.json", *args)
    assert same.code == 0, same.err
    assert "baseline (no worse): cubic: faster by 0 ± 0 % on alone" in same.err
    (tmp_path / "fixed.py").write_text(STUBBORN)
    worse = cli("suite", "c4", "--control", "fixed.py", "--baseline", "old.json", *args)
    assert worse.code == 1
    assert re.search(r"baseline \(worse\): fixed\.py: slower by \d+ ± \S+ % on low-and-up", worse.err)


def test_the_interval_of_a_change_is_paired() -> None:
    """If runs differ more than the change, paired differences show the change, and means do not."""
    old = run_suite("interop", "cubic", cases=["transferloss"], runs=6, cache=False)
    rows = json.loads(old.to_json())
    for row in rows:
        row["values"] = [[run, value / 1.10] for run, value in row["values"]]
    (pair,) = compare_with(old, rows)
    assert pair.verdict == "worse"
    assert pair.half is not None
    assert pair.change == pytest.approx(0.10)
    assert old.rows[0].half is not None
    assert old.rows[0].value is not None
    assert pair.half < 0.5 * old.rows[0].half / old.rows[0].value


def test_a_page_for_somebody_who_did_not_write_it(tmp_path: Path) -> None:
    folder = own(tmp_path, SUITE.replace('"5 s"', '"0.2 s"').replace("A suite", "<b>A suite"))
    result = run_suite(folder, "cubic", cache=False)
    text = page(result)
    assert "&lt;b&gt;A suite" in text
    assert "<b>A suite" not in text
    for word in ("main.completion_time_s at most 0.2 s", "section 1", "fail", "To replay it", "ours"):
        assert word in text
    # The page explains the metric, the scenario, bars and lines.
    for word in ("Mean time of flows that have an end", "the red line is the limit", "(scenario <code>"):
        assert word in " ".join(text.split())
    assert "http" not in text.replace('http-equiv="Content-Security-Policy"', "")
    root = ElementTree.fromstring(junit(result).partition("\n")[2])
    (failure,) = root.iter("failure")
    assert "main.completion_time_s is " in failure.attrib["message"]


def test_bad_input(cli: Cli, tmp_path: Path) -> None:
    folder = own(tmp_path)
    expect_one_line(cli("suite", "interpo", "--control", "cubic"), "did you mean interop?")
    expect_one_line(cli("suite", folder, "--control", "cubci"), "cubci")
    expect_one_line(cli("suite", folder), "--control")
    expect_one_line(cli("suite", folder, "--control", "cubic", "--case", "x"), "case x: not in suite")
    expect_one_line(cli("suite", folder, "--control", "cubic", "--runs", "0"), "must be at least 1")
    expect_one_line(cli("suite", folder, "--control", "cubic", "--report", "x.txt"), "must end in .html")
    expect_one_line(cli("suite", folder, "--control", "cubic", "--margin", "2 s"), "must be a share")
    expect_one_line(cli("suite", folder, "--control", "cubic", "--baseline", "no.json"), "no.json")
    Path("rows.json").write_text('{"a": 1}')
    expect_one_line(
        cli("suite", folder, "--control", "cubic", "--baseline", "rows.json"), "must be a list of rows"
    )
    expect_one_line(cli("suite", folder, "--control", "no.py", "--quiet"), "no.py")
    with pytest.raises(ScenarioError, match="no JSON"):
        read_rows("{", "x.json")


def test_a_scenario_that_sweeps_is_no_case(tmp_path: Path) -> None:
    from tests.suite.test_cases import SCENARIO

    folder = own(tmp_path, scenario=SCENARIO + '[sweep]\n"channel.p_e" = [0.01, 0.1]\n')
    with pytest.raises(ScenarioError, match="has 2 points"):
        run_suite(folder, "cubic", cache=False)
