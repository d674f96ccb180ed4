"""Plans of many runs: quick first output, little memory per run, and the same rows as small plans."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from crossfade import plans
from crossfade.cli import run as run_module
from crossfade.errors import ResultsError, ScenarioError
from crossfade.plans.options import Options
from crossfade.results import file as file_module
from crossfade.results import making, manypoints
from crossfade.results.cache import MemoryStore
from crossfade.results.file import ResultsFile
from crossfade.results.manypoints import ManyPoints, RowsOnDemand
from crossfade.results.rows import Row
from crossfade.sweeps import stored
from crossfade.sweeps import sweep as sweep_module
from crossfade.sweeps.stored import StoredRows
from crossfade.sweeps.times import Times
from tests.conftest import SWEEP, Cli, long_form
from tests.test_memory import PEAK

# A plan of ten million runs.
LARGE = """
schema = 1
run = { duration = "100 slots", runs = 1000 }
channel = { model = "iid" }
link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
[sweep]
"channel.p_e" = "log:0.0001:0.5:100"
"tcp.w_max" = "1:100:1"
"""
FEWER = LARGE.replace("log:0.0001:0.5:100", "log:0.0001:0.5:20")


def test_ten_million_runs_take_little_memory() -> None:
    program = f"""
import json
from crossfade import plans
from crossfade.plans.options import Options
from crossfade.results.cache import MemoryStore
from crossfade.sweeps.stored import StoredRows
from crossfade.sweeps.sweep import _Left
{PEAK}
def left(**options):
    plan = plans.load({LARGE!r}, Options(**options))
    return plan, _Left.of(StoredRows(plan, MemoryStore()).known, (1, 1))
left(over={{"tcp.w_max": [9]}})
before = used()
plan, many = left(over={{"channel.p_e": "log:0.0001:0.5:32"}}, runs=3125)
print(json.dumps([many.missing, used() - before]))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    missing, memory = json.loads(found.stdout)
    assert missing == 10_000_000
    assert memory / missing < 100
    # 3,200 points also take little memory: each is prepared when its runs begin (keeping them would take 6 kB
    # each).
    assert memory / 3_200 < 2000


def test_the_first_line_comes_before_the_points_are_read() -> None:
    class StopHereError(Exception):
        pass

    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        raise StopHereError

    with pytest.raises(StopHereError):
        cf.sweep(LARGE, say=say)
    assert said == ["reading 10,000 points"]


def test_a_run_of_many_points_says_so_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(cf.errors.ScenarioError, match="jobs = 0"):
        cf.run(LARGE, jobs=0, progress=True)
    with pytest.raises(cf.errors.ScenarioError, match="memory"):
        cf.run(LARGE, set={"run.memory": "1 kB"}, progress=True)
    # Errors that do not depend on the points are reported before the points are read.
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(plans, "MANY_POINTS", 100)
    few = {"channel.p_e": [0.01]}
    cf.run(LARGE, over=few, set={"run.duration": "2 slots"}, runs=1, cache=False, progress=True)
    assert capsys.readouterr().err.startswith("reading 100 points\n")


@pytest.mark.parametrize("most", [100, long_form(run_module.MOST_POINTS)])
def test_of_many_points_a_run_prints_the_range_of_each_metric(
    cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(run_module, "MOST_POINTS", most)
    few = ["--set", 'run.duration="20 slots"', "--runs", "1", "--no-cache"]
    outcome = cli("run", small, *few, "--over", f"channel.p_e=0:1:{1 / most}", "--csv", "/dev/null")
    assert (outcome.code, len(outcome.out.splitlines()) < 30) == (0, True), outcome.err
    assert f"{most + 1} points" in outcome.out


def test_what_is_finished_of_a_large_plan_needs_no_other_points() -> None:
    plan = plans.load(FEWER)
    made = {row[0]: Row(*row) for row in plan.core.make([(number, "simulation", 0) for number in (7, 1_999)])}
    known = plan.core.known()
    assert known.add(list(made.values())) == [7, 1_999]
    read: list[list[str]] = []

    def rows_of(keys: list[str]) -> dict[str, Row]:
        read.append(keys)
        return {key: made[key] for key in keys}

    results = making.of_known(plan.stored, known, rows_of, complete=False)
    assert [point.axes["tcp.w_max"] for point in results.points] == [8, 100]
    # Rows of all points are read in parts, when accessed, so that Ctrl-C works in between.
    read.clear()
    results = making.of_known(plan.stored, known, rows_of, complete=True, at_once=False)
    assert (len(read), results.points[0].runs, results.points[7].runs) == (1, 0, 1)
    assert len(read) == 1


def test_rows_of_a_large_plan_are_found_as_those_of_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cf.sweep(SWEEP, runs=3, out=tmp_path / "x.sqlite")
    cf.sweep(SWEEP, runs=2, seed=9, out=tmp_path / "x.sqlite")
    plan = plans.load(SWEEP, Options(runs=2))
    with ResultsFile.open(tmp_path / "x.sqlite") as file:
        by_scan = [entry[:3] for entry in StoredRows(plan, file).known.entries()]
        monkeypatch.setattr(stored, "ROWS_FOR_A_KEY", 0.1)
        monkeypatch.setattr(stored, "KEYS_AT_ONCE", 3)
        assert [entry[:3] for entry in StoredRows(plan, file).known.entries()] == by_scan
        assert len(by_scan) == len(plan.description["points"]) * 2
        one, other = list(file.get(plan.core.keys()).values())[:2]
    # A row with the key of another row is not accepted.
    store = MemoryStore()
    store.put([one, one._replace(key=other.key)])
    assert len(StoredRows(plan, store).known) == 1


def test_rows_that_are_finished_are_not_kept_in_memory() -> None:
    program = f"""
from crossfade import plans
from crossfade.plans.options import Options
from crossfade.results.cache import MemoryStore
from crossfade.results.rows import Row
from crossfade.sweeps.stored import StoredRows
class Disk(MemoryStore):
    def put(self, rows): pass
{PEAK}
plan = plans.load({FEWER!r}, Options(runs=10))
rows = StoredRows(plan, Disk(), 1000)
(made,) = plan.core.make([(0, "simulation", 0)])
keys, points = iter(plan.core.keys()), plan.description["points"]
before = used()
for point in points:
    rows.add([
        Row(next(keys), point["id"], *made[2:4], run, made[5], bytes([run]) + made[6][1:], None, 1e-4)
        for run in range(10)
    ])
print(len(rows.known), used() - before)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    rows, memory = map(int, found.stdout.split())
    assert rows == 20_000
    assert memory / rows < 100  # a whole row in memory would take a kilobyte


def test_results_of_many_rows_are_read_when_they_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"runs": 3, "methods": ["analysis", "simulation"]}
    small = cf.sweep(SWEEP, **options, out=tmp_path / "x.sqlite")
    monkeypatch.setattr(sweep_module, "MOST_ROWS_HELD", 0)
    monkeypatch.setattr(manypoints, "POINTS_AT_ONCE", 3)
    large = cf.sweep(SWEEP, **options, out=tmp_path / "x.sqlite")
    assert isinstance(large.points, ManyPoints)
    assert isinstance(small.points, list)
    assert list(large.points) == small.points
    assert (large.points[-1], large.points[2:4]) == (small.points[-1], small.points[2:4])
    with pytest.raises(IndexError):
        large.points[len(small.points)]
    assert large.to_json() == small.to_json()
    assert large.warnings == small.warnings
    assert large.by_method("simulation").to_csv() == small.by_method("simulation").to_csv()
    # Results of a shard contain the points that have rows.
    part = cf.sweep(SWEEP, **options, out=tmp_path / "part.sqlite", shard=(2, 7))
    assert not part.complete
    assert len(part.points) == len(list(part.points)) > 0
    assert {len(point.rows) for point in part.points} == {1}


@pytest.mark.parametrize(("runs", "most"), [(15_000, 10_000), long_form(60_000, making.MOST_ROWS_AT_ONCE)])
def test_a_point_of_many_runs_is_summed_up_a_part_at_a_time(runs: int, most: int) -> None:
    program = f"""
from crossfade import plans
from crossfade.plans.memory import memory_of_rows
from crossfade.plans.options import Options
from crossfade.results import making
from crossfade.results.rows import Row
def used():
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))
plan = plans.load({LARGE.partition("[sweep]")[0]!r}, Options(set={{"channel.p_e": 0.1}}, runs={runs}))
(made,) = plan.core.make([(0, "simulation", 0)])
keys = plan.core.keys()
number = {{key: run for run, key in enumerate(keys)}}
def read(some):
    return {{
        key: Row(key, *made[1:4], number[key], made[5], bytes([number[key] % 7]) + made[6][1:], None, 1e-4)
        for key in some
    }}
making.MOST_ROWS_AT_ONCE = {most}
known = plan.core.known()
for start in range(0, len(keys), 4096):
    known.add(list(read(keys[start:start + 4096]).values()))
before = used()
(point,) = making.of_known(plan.stored, known, read, True, at_once=False).points
print(point.runs, used() - before, memory_of_rows(plan))
assert point.rows[-1].run == point.rows[5:][-1].run == {runs - 1}
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    rows, memory, said = map(int, found.stdout.split())
    assert rows == runs
    assert memory < said == 1200 * rows  # keeping all rows would take 1.5 kB each


def test_rows_that_are_read_in_parts_give_the_same_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"runs": 11, "over": {"channel.p_e": [0.01, "1 %", 0.1]}}
    whole = cf.sweep(SWEEP, **options, out=tmp_path / "x.sqlite")
    monkeypatch.setattr(making, "MOST_ROWS_AT_ONCE", 0)
    monkeypatch.setattr(manypoints, "ROWS_AT_ONCE", 3)
    parts = cf.sweep(SWEEP, **options, out=tmp_path / "x.sqlite")
    assert parts.to_json() == whole.to_json()
    for one, other in zip(whole.points, parts.points, strict=True):
        assert isinstance(other.rows, RowsOnDemand)
        assert list(other.rows) == list(one.rows)
        assert (other.rows[-1], list(other.rows[2:4])) == (one.rows[-1], list(one.rows[2:4]))
        assert other.samples("goodput_bps") == one.samples("goodput_bps")
    with pytest.raises(ResultsError, match=r"^1 rows are not there any more$"):
        list(RowsOnDemand(lambda _: {}, ["0"]))


def test_rows_that_would_fill_the_memory_are_refused() -> None:
    point = LARGE.partition("[sweep]")[0].replace('"iid"', '"iid", p_e = 0.1')
    few = {"run.memory": "100 MB"}
    with pytest.raises(
        ScenarioError, match=r"^run.memory: the rows may take 480,000,000 B of memory, .* crossfade sweep"
    ):
        cf.run(point, runs=200_000, set=few, cache=False)
    assert cf.check(point, runs=80_000, set=few).memory_of_rows == 96e6
    with pytest.raises(ScenarioError, match=r"the rows may take 240,000,000 B .* fewer runs a point"):
        cf.check(point, runs=200_000, set=few)


def test_the_disk_is_waited_for_where_too_many_rows_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plans.load(SWEEP, Options(runs=1))
    made = [Row(*row) for row in plan.core.make([(0, "simulation", run) for run in range(5)])]
    monkeypatch.setattr(file_module, "COMMIT_EVERY_S", 3600.0)
    monkeypatch.setattr(file_module, "MOST_WAITING", 3)
    with ResultsFile.create(tmp_path / "x.sqlite") as file:
        there = []
        for row in made:
            file.put([row])
            with ResultsFile.open(tmp_path / "x.sqlite") as other:
                there.append(other.size())
    assert there == [0, 0, 0, 4, 4]


def test_times_are_kept_of_points_all_over_a_plan() -> None:
    times = Times()
    for point in range(20_000):
        for seconds in (1.0, 3.0):
            times.learn("simulation", point, seconds)
    points = list(times.points("simulation"))
    assert len(points) <= 4096
    assert (points[0], points[-1]) == (0, 19_992)
    assert {after - before for before, after in pairwise(points)} == {8}
    assert times.mean_s("simulation", points[5]) == 2.0
