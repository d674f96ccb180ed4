"""Conditions under which a comparison fails, and the worst run: by hand and on the command line."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.results.results import Results
from tests.comparison.synthetic import results
from tests.conftest import Cli, expect_one_line

LOSSY = """
schema = 2
run = { duration = "5 s", runs = 6 }
channel = { model = "iid", p_e = 0.02 }
link = { rate = "2 Mbit/s", delay = "10 ms", packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "newreno", w_max = 9 }
[sweep]
"tcp.w_max" = [40, 2]
"channel.p_e" = [0.005, 0.05]
"""


def two() -> Results:
    """Results of a (10, 8, 12, 6) and b (10, 12, 14, 8): a less b is 0, -4, -2, -2, on average -2 of 11, or
    -18.18 %.
    """
    runs = {"a": [10.0, 8.0, 12.0, 6.0], "b": [10.0, 12.0, 14.0, 8.0]}
    return results("tcp", {tcp: {"goodput_bps": values} for tcp, values in runs.items()})


def test_the_worst_run_and_the_share_by_hand() -> None:
    found = cf.compare(two(), "tcp")
    (pair,) = found.pairs
    assert (pair.difference, pair.reference, pair.worst_run, pair.worst_difference) == (-2.0, 11.0, 1, -4.0)
    assert found.worst == pair
    for condition, fails in {
        "difference<-18%": True,
        "difference<-18.2%": False,
        "difference<=-2": True,
        "difference<-2": False,
        "difference>-3": True,
        "difference >= -1.9": False,
        # The half-width is 3.182 * 1.633 / 2 = 2.6.
        "too close to call": True,
        "lower": False,
    }.items():
        assert bool(found.failures([condition])) is fails, condition
    assert found.failures(["lower", "difference<-1"])[0] == ("difference<-1", pair)


def test_of_a_metric_whose_less_is_better_the_worst_run_is_the_longest() -> None:
    runs = {"a": [10.0, 8.0, 13.0], "b": [10.0, 12.0, 12.0]}
    made = results("tcp", {tcp: {"rtt_mean_s": values} for tcp, values in runs.items()})
    (pair,) = cf.compare(made, "tcp", metric="rtt_mean_s").pairs
    assert (pair.worst_run, pair.worst_difference) == (2, 1.0)


def test_conditions_of_a_choice_by_hand() -> None:
    found = cf.best(two(), "tcp")
    (at,) = found.decisions
    # The mean of b is 11, with a margin of 2; its margin is smallest in run 0.
    assert (at.choice, at.margin, at.worst_run) == ({"tcp": "b"}, 2.0, 0)
    for condition, fails in {
        "margin<18.2%": True,
        "margin<18%": False,
        "choice!=b": False,
        "choice!=a": True,
        "choice=b": True,
        "too close to call": True,
        "no feasible choice": False,
    }.items():
        assert bool(found.failures([condition])) is fails, condition


def test_a_gate_ends_with_1_and_its_command_shows_the_failing_run(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lossy.toml").write_text(LOSSY)
    asked = ["compare", "lossy.toml", "--by", "tcp.w_max", "--set", "link.delay=12 ms"]
    passed = cli(*asked, "--fail-if", "lower")
    assert (passed.code, "failed" in passed.err, "worst run: " in passed.err) == (0, False, True), passed.err
    # A window of 2 packets uses half of the link, and every loss takes a timeout.
    failed = cli(*asked, "--fail-if", "higher", "--quiet")
    assert (failed.code, failed.out) == (1, "")
    lines = [line for line in failed.err.splitlines() if not line.startswith("warning: ")]
    assert [line.startswith("failed (higher): goodput_bps of 40 less 2 is ") for line in lines] == [True] * 2
    line = next(line for line in lines if " at channel.p_e = 0.05;" in line)
    run = int(line.partition(" in run ")[2].split(" ")[0])
    command = shlex.split(line.partition("traced by: ")[2])
    assert command[:3] == ["crossfade", "run", "lossy.toml"]
    shown = cli(*command[1:])
    assert shown.code == 0, shown.err
    with open(f"run{run}.csv") as file:
        events = [row["event"] for row in csv.DictReader(file)]
    keys = {"tcp.w_max": 40, "channel.p_e": 0.05, "link.delay": "12 ms"}
    point = cf.run(tmp_path / "lossy.toml", set=keys).points[0]
    assert events.count("timeout") == point.samples("timeouts")[run]
    assert events.count("fast_retransmit") == point.samples("fast_retransmits")[run]
    # The smallest difference of window 40 less window 2 in any run.
    other = cf.run(tmp_path / "lossy.toml", set={**keys, "tcp.w_max": 2}).points[0]
    pairs = zip(point.samples("goodput_bps"), other.samples("goodput_bps"), strict=True)
    differences = [one - two for one, two in pairs]
    assert differences.index(min(differences)) == run


def test_a_results_file_names_its_scenario(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lossy.toml").write_text(LOSSY)
    swept = cli("sweep", "lossy.toml", "--out", "r.sqlite", "--set", "link.delay=15 ms", "--seed", "3")
    assert swept.code == 0, swept.err
    found = cli("compare", "r.sqlite", "--by", "tcp.w_max", "--fail-if", "difference>0")
    assert (found.code, "--set 'link.delay=15 ms'" in found.err, "--seed 3 --run" in found.err) == (
        1,
        True,
        True,
    )
    decided = cli("best", "r.sqlite", "--choose", "tcp.w_max", "--fail-if", "choice!=2", "--quiet")
    assert decided.code == 1
    assert decided.err.count("failed (choice!=2): the choice is 40 ") == 2, decided.err
    table = list(
        csv.DictReader(io.StringIO(cli("compare", "r.sqlite", "--by", "tcp.w_max", "--csv", "-").out))
    )
    assert all(int(row["worst_run"]) in range(6) for row in table)
    read = json.loads(cli("compare", "r.sqlite", "--by", "tcp.w_max", "--json").out)
    assert [str(one["worst_run"]) for one in read if one["kind"] == "difference"] == [
        row["worst_run"] for row in table
    ]


@pytest.mark.parametrize(
    ("command", "condition"),
    [
        ("compare", "worse"),
        ("compare", "difference<2 %%"),
        ("compare", "margin<2%"),
        ("compare", "difference<nan"),
        ("compare", "difference"),
        ("best", "difference<2%"),
        ("best", "lower"),
        ("best", "choice"),
    ],
)
def test_what_is_no_condition_is_one_line(cli: Cli, command: str, condition: str) -> None:
    by = "--by" if command == "compare" else "--choose"
    outcome = cli(command, "quickstart", by, "tcp.variant", "--fail-if", condition)
    expect_one_line(outcome, f"fail if {condition}: must be one of", "too close to call")


def test_the_example_script_gates_a_change(tmp_path: Path) -> None:
    """The shipped script accepts an unchanged control; for a broken one it fails and names the run."""
    script = Path(__file__).parents[2] / "examples" / "gate" / "gate.sh"
    lines = [line for line in script.read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 5
    folder = script.parent
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    text = (folder / "before.py").read_text()
    assert "0.5" in text
    # A file equal to the current control passes; one that keeps a tenth of the window fails.
    (tmp_path / "same.py").write_text(text)
    good = subprocess.run(
        ["sh", script, "same.py"], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert (good.returncode, good.stdout) == (0, ""), good.stderr
    (tmp_path / "after.py").write_text(text.replace("0.5", "0.1"))
    bad = subprocess.run(
        ["sh", script, "after.py"], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert bad.returncode == 1, bad.stderr
    assert "failed (lower): goodput_bps of " in bad.stderr
    assert "traced by: crossfade run" in bad.stderr
