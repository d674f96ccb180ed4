"""Sweeps: the same rows despite interruptions, and finished runs are never lost."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
import crossfade._crossfade as _crossfade
from crossfade import plans
from crossfade.plans.options import Options
from crossfade.results import file as resultsfile
from crossfade.results.file import ResultsFile
from crossfade.results.rows import Row
from crossfade.sweeps.engines import Shard
from crossfade.sweeps.pilot import Missing, cpu_seconds, duration, make_pilot, without
from crossfade.sweeps.times import Times
from tests.conftest import SMALL, SWEEP, Cli, Mount, expect_one_line, long_form, reseal
from tests.results.test_file import integrity, keys_in_now

# A sweep of 800 runs, which takes a quarter of a second on one core (three kills leave it a quarter done).
MANY = SMALL.replace("2000 slots", "6000 slots") + '[sweep]\n"channel.p_e" = "log:0.001:0.3:20"\n'
ALL = 800
MANY_RUNS = ("--runs", str(ALL // 20))


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "many.toml"
    path.write_text(MANY)
    return path


@pytest.fixture(scope="module")
def all_rows(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    """Rows of an uninterrupted sweep of the 800 runs."""
    path = tmp_path_factory.mktemp("whole") / "whole.sqlite"
    assert cf.sweep(MANY, runs=ALL // 20, out=path).complete
    rows = rows_in(path)
    assert len(rows) == ALL
    return rows


def rows_in(path: Path) -> list[tuple[Any, ...]]:
    """All columns of all rows in a results file except durations, ordered by key."""
    with closing(sqlite3.connect(path)) as database:
        return database.execute(
            'SELECT key, point, method, seed, run, names, "values", failure, results_version, version '
            "FROM rows JOIN metric_sets ON metric_sets.id = metric_set ORDER BY key"
        ).fetchall()


def start(*arguments: str | Path, commit_every_s: float = 0.02) -> subprocess.Popen[str]:
    """Start the command in its own process, with frequent commits, so that tests need not wait."""
    program = (
        f"import sys; from crossfade.cli.app import main; from crossfade.results import file; "
        f"file.COMMIT_EVERY_S = {commit_every_s}; sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
        # A shell's background job ignores SIGINT, and its children inherit that; the tested command must not.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for_more_rows(process: subprocess.Popen[str], path: Path, than: int) -> None:
    deadline = time.monotonic() + 60
    while len(keys_in_now(path)) <= than:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def lines_of(call: Any, *arguments: Any, **options: Any) -> list[str]:
    """Lines that a sweep or a merge prints."""
    lines: list[str] = []
    call(*arguments, **options, say=lines.append)
    return lines


def test_a_sweep_gives_what_a_run_gives(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    swept = cf.sweep(SWEEP, methods=["analysis", "simulation"], out=path)
    run = cf.run(SWEEP, methods=["analysis", "simulation"], cache=False)
    assert swept.to_json() == run.to_json()
    assert swept.complete
    with ResultsFile.open(path) as file:
        plan = file.plan()
    assert plan.warnings == run.warnings
    assert plan.description["text"] == SWEEP
    assert plan.description["units"]["goodput_bps"] == "bit/s"
    name, text, overrides, files = (plan.description[key] for key in ("name", "text", "overrides", "files"))
    again = plans.read(name, text, overrides, files.__getitem__)
    assert [point["id"] for point in again.description["points"]] == [
        point["id"] for point in plan.description["points"]
    ]


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    first = lines_of(cf.sweep, SWEEP, out=path)
    assert f"0 runs in {path} already, 40 missing" in first
    assert first[0] == "A small scenario"
    assert first[1] == "4 points: tcp.variant (2) x channel.p_e (2)"
    assert first[2] == "simulation: 40 runs, 10 a point"
    assert first[-2].startswith(f"wrote {path}: 40 runs in ")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE rows SET seconds = 77")
    second = lines_of(cf.sweep, SWEEP, out=path)
    assert second == [*first[:3], f"40 runs in {path} already, none missing", first[-1]]
    more = lines_of(cf.sweep, SWEEP, runs=12, out=path)
    assert f"40 runs in {path} already, 8 missing" in more
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*), sum(seconds = 77) FROM rows").fetchone() == (48, 40)
        assert database.execute("SELECT count(*) FROM plans").fetchone() == (2,)


def test_the_file_is_named_after_the_scenario(
    cli: Cli, tmp_path: Path, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("sweep", sweep, "--runs", "2").code == 0
    assert cli("sweep", "classics/slow-start", "--quiet").code == 0
    assert cli("sweep", sweep, "--runs", "2", "--shard", "2/3").code == 0
    names = {path.name for path in tmp_path.glob("*.sqlite")}
    assert names == {"sweep.sqlite", "slow-start.sqlite", "sweep-2-of-3.sqlite"}


def test_killed_three_times_it_ends_with_the_same_rows(
    tmp_path: Path, many: Path, all_rows: list[tuple[Any, ...]]
) -> None:
    path = tmp_path / "results.sqlite"
    moments = random.Random()
    there = 0
    for _ in range(3):
        process = start("sweep", many, *MANY_RUNS, "--out", path, "--jobs", "1")
        wait_for_more_rows(process, path, there)
        time.sleep(moments.uniform(0.0, 0.03))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert integrity(path) == "ok"
        assert len(rows_in(path)) > there
        there = len(rows_in(path))
    assert there < ALL
    last = start("sweep", many, *MANY_RUNS, "--out", path)
    _, err = last.communicate(timeout=120)
    assert f"{there:,} runs in {path} already, {ALL - there:,} missing" in err
    assert last.returncode == 0
    assert rows_in(path) == all_rows


def test_two_processes_may_fill_one_file(tmp_path: Path, many: Path, all_rows: list[tuple[Any, ...]]) -> None:
    path = tmp_path / "results.sqlite"
    both = [start("sweep", many, *MANY_RUNS, "--out", path) for _ in range(2)]
    for process in both:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert rows_in(path) == all_rows
    with ResultsFile.open(path) as file:
        assert len(file.plans()) == 1


def test_shards_are_joined_to_the_whole(
    cli: Cli, tmp_path: Path, many: Path, all_rows: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2, 3):
        outcome = cli("sweep", many, *MANY_RUNS, "--shard", f"{number}/3")
        assert outcome.code == 0
        assert outcome.out == "", "a third of the runs gives no results"
    shards = [Path(f"many-{number}-of-3.sqlite") for number in (1, 2, 3)]
    assert [len(rows_in(shard)) for shard in shards] == [267, 267, 266]
    part = cli("merge", *shards[:2], "--out", "many.sqlite")
    assert part.code == 0
    assert "(A small scenario): 534 runs, 266 or more missing" in part.err
    assert "wrote many.sqlite: 534 runs of 2 files" in part.err
    whole = cli("merge", shards[2], "--out", "many.sqlite")
    assert "(A small scenario): 800 runs, complete" in whole.err
    assert rows_in(Path("many.sqlite")) == all_rows
    last = cli("sweep", many, *MANY_RUNS)
    assert "800 runs in many.sqlite already, none missing" in last.err


class Scattered:
    """Engine that makes a few runs at once, and hands over rows in any order, some of them twice."""

    workers = 5

    def execute(
        self,
        plan: plans.Plan,
        known: _crossfade.Known,
        shard: Shard,
        on_rows: Callable[[Sequence[Row]], object],
        on_progress: Callable[[int, int], object],
    ) -> bool:
        schedule = _crossfade.Schedule(plan.core, known, self.workers, shard)
        order = random.Random(1)
        while tasks := schedule.take(self.workers):
            rows = [Row(*row) for row in plan.core.make(tasks)]
            order.shuffle(rows)
            for row in (*rows, rows[0]):
                on_rows([Row(*row) for row in schedule.finish([row])])
            on_progress(*schedule.progress())
        return True


@pytest.mark.parametrize("stop", [{"runs": 15}, {"precision": "5 %"}])
def test_any_engine_gives_the_same_rows(tmp_path: Path, stop: dict[str, Any]) -> None:
    threads, scattered = tmp_path / "threads.sqlite", tmp_path / "scattered.sqlite"
    results = cf.sweep(SWEEP, **stop, out=threads)
    assert cf.sweep(SWEEP, **stop, out=scattered, engine=Scattered()).to_json() == results.to_json()
    assert rows_in(scattered) == rows_in(threads)


@pytest.mark.parametrize("shards", [long_form(1), 3])
def test_rows_under_a_precision_do_not_depend_on_who_made_them(tmp_path: Path, shards: int) -> None:
    one, many = tmp_path / "one.sqlite", tmp_path / "many.sqlite"
    options: dict[str, Any] = {"precision": "5 %", "methods": ["analysis", "simulation"]}
    results = cf.sweep(SWEEP, **options, jobs=1, out=one)
    assert len({point.runs for point in results.points}) > 2
    for number in range(1, shards + 1):
        cf.sweep(SWEEP, **options, jobs=3, shard=(number, shards), out=many)
    assert rows_in(many) == rows_in(one)
    # Delete some rows; they are made again.
    with closing(sqlite3.connect(many)) as database, database:
        database.execute("DELETE FROM rows WHERE rowid % 3 = 1")
    assert cf.sweep(SWEEP, **options, jobs=2, out=many).to_json() == results.to_json()
    assert rows_in(many) == rows_in(one)


def test_a_full_disk_stops_it_and_room_lets_it_go_on(
    cli: Cli, many: Path, mount: Mount, all_rows: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resultsfile, "COMMIT_EVERY_S", 0.01)
    disk = mount(350)
    path = disk / "results.sqlite"
    full = cli("sweep", many, *MANY_RUNS, "--out", path, "--quiet")
    expect_one_line(full, str(path), "cannot be written", "full")
    assert integrity(path) == "ok"
    kept = len(rows_in(path))
    assert 0 < kept < ALL
    still_full = cli("sweep", many, *MANY_RUNS, "--out", path, "--quiet")
    expect_one_line(still_full, str(path), "cannot be written", "full")
    assert len(rows_in(path)) >= kept
    subprocess.run(["mount", "-o", "remount,size=16m", str(disk)], check=True)
    assert cli("sweep", many, *MANY_RUNS, "--out", path).code == 0
    assert rows_in(path) == all_rows


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, many: Path) -> None:
    path = tmp_path / "results.sqlite"
    long = ("--set", "run.duration=300000 slots")
    process = start("sweep", many, *MANY_RUNS, *long, "--out", path, "--jobs", "1", commit_every_s=0.3)
    wait_for_more_rows(process, path, 0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "interrupted: finished runs are kept: the same command goes on from there" in err
    assert "throughput_per_slot" in out
    assert 0 < len(rows_in(path)) < ALL


def test_zipped_axes_and_methods_from_the_command_line(cli: Cli, small: Path, tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    axes = ["--over", "tcp.w_max,tcp.dupthresh=[[6,1],[24,3]]", "--over", "methods=analysis,simulation"]
    outcome = cli("sweep", small, *axes, "--over", "channel.p_e=0.01,0.1", "--out", path)
    assert outcome.code == 0
    assert "4 points: tcp.w_max,tcp.dupthresh (2) x channel.p_e (2)\n" in outcome.err
    assert "analysis:exact: 4 solutions\nsimulation: 40 runs, 10 a point\n" in outcome.err
    with ResultsFile.open(path) as file:
        description = file.plan().description
    assert description["methods"] == ["analysis:exact", "simulation"]
    assert [point["axes"] for point in description["points"]] == [
        {"tcp.w_max": w_max, "tcp.dupthresh": dupthresh, "channel.p_e": p_e}
        for w_max, dupthresh in ((6, 1), (24, 3))
        for p_e in (0.01, 0.1)
    ]


def test_of_many_points_the_ranges_are_printed(cli: Cli, small: Path, tmp_path: Path) -> None:
    outcome = cli("sweep", small, "--runs", "2", "--over", "tcp.w_max=1:50:1", "--out", tmp_path / "r.sqlite")
    assert outcome.code == 0
    (line,) = [line.split() for line in outcome.out.splitlines() if "goodput_bps" in line]
    values = cf.run(SMALL, runs=2, over={"tcp.w_max": "1:50:1"}).column("goodput_bps") / 1e6
    ends = [f"{values.min():.4g}", f"{values.max():.4g}"]
    assert line == ["goodput_bps", "simulation", "50", *ends, "Mbit/s"]


BAD_SWEEPS: list[tuple[Sequence[str], Sequence[str]]] = [
    (["--over", "channel.x=1"], ["channel.x", "unknown key", "p_e"]),
    (["--over", "tcp.wmax=1,2"], ["tcp.wmax", "did you mean tcp.w_max?"]),
    (["--over", "channel.p_e="], ["--over channel.p_e=", "at least one value"]),
    (["--over", "channel.p_e=[]"], ["channel.p_e", "at least one value"]),
    (["--over", "channel.p_e=a:b:c"], ["channel.p_e", "a:b:c", "number"]),
    (["--over", "channel.p_e=0:x:1"], ["channel.p_e", "0:x:1", "start:stop:step"]),
    (["--over", "channel.p_e=log:a:b:3"], ["channel.p_e", "log:a:b:3", "log:start:stop:points"]),
    (["--over", "tcp.w_max,tcp.dupthresh=[[6,1],[24]]"], ["tcp.w_max,tcp.dupthresh", "a list of 2 values"]),
    (["--over", "methods=magic"], ["methods", "magic", "simulation"]),
    (["--over", "methods=1:3:1"], ["methods", "1"]),
    (["--over", "methods=analysis", "--method", "simulation"], ["methods", "give one of the two"]),
    (["--shard", "3"], ["--shard 3", "K/N"]),
    (["--shard", "0/3"], ["shard = 0/3", "from 1 to N"]),
    (["--shard", "4/3"], ["shard = 4/3", "from 1 to N"]),
    (["--shard", "1/99999999999999999999999"], ["shard = 1/9999", "at most"]),
    (["--jobs", "0"], ["jobs", "0", "at least 1"]),
    (["--out", "nowhere/x.sqlite"], ["nowhere/x.sqlite", "no folder"]),
    (["--out", "."], [".", "a folder"]),
    (["--out", "/dev/null"], ["/dev/null", "not a file"]),
]


@pytest.mark.parametrize(("options", "parts"), BAD_SWEEPS)
def test_bad_options_get_one_line_and_leave_no_file(
    cli: Cli,
    tmp_path: Path,
    small: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: Sequence[str],
    parts: Sequence[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    expect_one_line(cli("sweep", small, *options), *parts)
    assert list(tmp_path.iterdir()) == [small]


def test_a_file_that_is_something_else_gets_one_line(cli: Cli, tmp_path: Path, small: Path) -> None:
    table, newer = tmp_path / "table.csv", tmp_path / "newer.sqlite"
    table.write_text("a,b\n1,2\n")
    ResultsFile.create(newer).close()
    with closing(sqlite3.connect(newer)) as database:
        database.execute("PRAGMA user_version = 7")
    for path, problem in ((table, "not a results file"), (newer, "newer crossfade (format 7")):
        before = path.read_bytes()
        expect_one_line(cli("sweep", small, "--out", path), path.name, problem)
        expect_one_line(cli("merge", path, "--out", tmp_path / "merged.sqlite"), path.name, problem)
        assert path.read_bytes() == before
    expect_one_line(
        cli("merge", tmp_path / "absent", "--out", tmp_path / "merged.sqlite"), "absent", "no such"
    )
    expect_one_line(cli("merge", "--out", tmp_path / "merged.sqlite"), "RESULTS")
    expect_one_line(cli("merge", newer), "--out")
    assert not (tmp_path / "merged.sqlite").exists()


def test_files_that_differ_are_not_merged(cli: Cli, tmp_path: Path, small: Path) -> None:
    one, two, out = (tmp_path / f"{name}.sqlite" for name in ("one", "two", "out"))
    for path in (one, two):
        assert cli("sweep", small, "--out", path).code == 0
    with closing(sqlite3.connect(two)) as database, database:
        database.execute("UPDATE rows SET failure = 'none' WHERE run = 3")
        (key,) = database.execute("SELECT lower(hex(key)) FROM rows WHERE run = 3").fetchone()
        reseal(database)
    expect_one_line(cli("merge", one, two, "--out", out), "two.sqlite", key, "differs")
    assert sorted(tmp_path.glob("out*")) == []


def test_a_plan_of_another_version_is_merged_as_it_is(cli: Cli, tmp_path: Path, small: Path) -> None:
    old, out = tmp_path / "old.sqlite", tmp_path / "out.sqlite"
    assert cli("sweep", small, "--out", old).code == 0
    with closing(sqlite3.connect(old)) as database, database:
        # Another results version has other ids.
        database.execute(
            "UPDATE plans SET id = '77', description = json_set(description, '$.version', '0.0.1'), "
            "warnings = '[\"old\"]'"
        )
        reseal(database)
    outcome = cli("merge", old, "--out", out)
    assert outcome.code == 0
    assert "plan 77 (A small scenario): of crossfade 0.0.1" in outcome.err
    with ResultsFile.open(out) as file:
        assert file.plan("77").warnings == ["old"]


def test_a_pilot_is_spread_over_the_plan_and_made_once() -> None:
    plan = plans.load(
        SMALL, Options(over={"channel.p_e": "log:0.001:0.3:64"}, methods=["analysis", "simulation"])
    )
    missing = [Missing(*of) for of in plan.core.known().missing((1, 1))[0]]
    assert sum(of.number for of in missing) == 64 + 640
    numbers = {point["id"]: number for number, point in enumerate(plan.description["points"])}
    rows: dict[str, Row] = {}

    def keep(made: Sequence[Row]) -> None:
        rows.update((row.key, row) for row in made)

    def times(most: int) -> Times:
        found = Times()
        for row in rows.values():
            if numbers[row.point] < most:
                found.learn(row.method, numbers[row.point], row.seconds)
        return found

    made = make_pilot(plan, times(64), missing, keep)
    assert len(made) == len(rows) == 16
    by_method = {method: sorted(task[0] for task in made if task[1] == method) for _, method, _ in made}
    # Pilot runs are at the middle points of eight equal parts of the plan.
    assert by_method == {
        "analysis:exact": [4, 12, 20, 28, 36, 44, 52, 60],
        "simulation": [4 + 8 * i for i in range(8)],
    }
    assert {row.run for row in rows.values() if row.method == "analysis:exact"} == {0}
    assert set(rows) <= set(plan.core.keys())
    rest = without(missing, made)
    assert rest == [
        of._replace(number=of.number - ((of.point, of.method) in [task[:2] for task in made]))
        for of in missing
        if of.method == "simulation" or (of.point, of.method, 0) not in made
    ]
    assert make_pilot(plan, times(64), rest, keep) == []
    # If only the first half has known durations, pilot runs are in the other half.
    assert all(task[0] > 32 for task in make_pilot(plan, times(32), rest, keep))


def test_the_time_is_that_of_the_nearest_points() -> None:
    times = Times()
    for point, seconds in ((0, 1.0), (0, 3.0), (3, 10.0)):
        times.learn("simulation", point, seconds)
    tasks = [Missing(point, "simulation", 5, 6, 2) for point in (0, 1, 2, 4)]
    # Points 0 and 1 count like point 0 (2 s per run), points 2 and 4 like point 3.
    assert cpu_seconds(times, tasks) == 4 * 2.0 + 4 * 10.0


def test_times_are_readable() -> None:
    seconds = (0.01, 0.44, 5.25, 62.0, 100.0, 5000.0, 6000.0, 100_000.0, 200_000.0)
    shown = "0.1 s, 0.4 s, 5.2 s, 62 s, 1.7 min, 83 min, 1.7 h, 28 h, 2.3 days"
    assert ", ".join(map(duration, seconds)) == shown
