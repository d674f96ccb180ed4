"""The results file: rows and plans are read back as written, despite killed processes and full disks."""

from __future__ import annotations

import os
import sqlite3
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from crossfade import records
from crossfade.results.file import ResultsFile
from crossfade.results.opening import is_results_file
from crossfade.results.plantable import plan_id
from crossfade.results.rows import Row
from tests.conftest import Mount, reseal
from tests.results.writers import make_plan as plan
from tests.results.writers import make_row, started


def keys_in(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as database:
        return {key.hex() for (key,) in database.execute("SELECT key FROM rows")}


def integrity(path: Path) -> str:
    with closing(sqlite3.connect(path)) as database:
        return str(database.execute("PRAGMA integrity_check").fetchone()[0])


def test_rows_come_back_as_they_were_put(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    rows = [make_row(n, n / 7) for n in range(2000)]
    rows.append(make_row(2000)._replace(seed=2**64 - 1, failure="no analysis: ümlaut", names="", values=b""))
    with ResultsFile.create(path) as file:
        file.put(rows[:1000])
        file.put([])
        file.put(rows[999:])
        assert file.get(row.key for row in rows) == {row.key: row for row in rows}
    with ResultsFile.open(path) as file:
        assert file.get([rows[5].key, rows[2000].key, "ff" * 16]) == {
            rows[5].key: rows[5],
            rows[2000].key: rows[2000],
        }
        assert file.get([]) == {}
    assert not list(tmp_path.glob("results.sqlite-*")), "nothing is left beside a file that was closed"


def test_the_tables_are_those_of_the_documentation(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with ResultsFile.create(path) as file:
        file.put([make_row(7, 0.1)._replace(seed=2**63 + 5)])
        file.add_plan(plan())
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA application_id").fetchone() == (0x43465253,)
        assert database.execute("PRAGMA user_version").fetchone() == (3,)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        (line,) = database.execute(
            'SELECT hex(key), hex(point), method, seed, run, names, "values", failure, results_version, '
            "version, seconds FROM rows JOIN metric_sets ON metric_sets.id = metric_set"
        )
        key, point, method, seed, run, names, values, failure, results_version, version, seconds = line
        assert (key, point) == (f"{7:032X}", "00" * 16)
        assert (method, run, failure, seconds) == ("simulation", 7, None, 0.25)
        assert seed == 2**63 + 5 - 2**64
        assert (results_version, version) == (cf.reference.RESULTS_VERSION, cf.__version__)
        assert names.split("\n") == ["goodput_bps", "timeouts"]
        assert struct.unpack("<2d", values) == (0.1, 7.0)
        assert database.execute("SELECT id, warnings FROM plans").fetchall() == [(plan_id(plan()), "[]")]


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    with ResultsFile.create(tmp_path / "results.sqlite") as file:
        full = 2
        assert file._database.execute("PRAGMA synchronous").fetchone() == (full,)


def test_rows_are_on_the_disk_within_a_second_though_no_more_come(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with ResultsFile.create(path) as file:
        file.put([make_row(1)])
        file.put([make_row(2)])
        deadline = time.monotonic() + 60
        while len(keys_in(path)) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        file.put([make_row(3)])
    assert len(keys_in(path)) == 3


def test_a_killed_writer_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    for _ in range(3):
        there = keys_in(path) if path.exists() else set()
        process = started("fill_for_ever", path)
        while len(seen := keys_in_now(path)) <= len(there):
            time.sleep(0.01)
        process.kill()
        process.wait()
        assert integrity(path) == "ok"
        assert seen <= keys_in(path)


def keys_in_now(path: Path) -> set[str]:
    """Keys in a file that may not exist yet, or may be under construction."""
    try:
        with ResultsFile.open(path) as file:
            return {line[0].hex() for line, _ in file.lines()}
    except cf.errors.ResultsError:
        return set()


def test_several_processes_may_create_and_fill_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    writers = [started("fill", path, writer, 200) for writer in range(3)]
    assert [process.wait(timeout=60) for process in writers] == [0, 0, 0]
    wanted = {f"{1000 * block + n:032x}" for block in range(4) for n in range(200)}
    assert keys_in(path) == wanted
    assert integrity(path) == "ok"
    with ResultsFile.open(path) as file:
        assert len(file.plans()) == 2


def put_until_it_fails(file: ResultsFile) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        file.put([])
        time.sleep(0.05)


def test_a_full_disk_is_one_line_and_loses_nothing_committed(mount: Mount) -> None:
    path = mount(256) / "results.sqlite"
    with ResultsFile.create(path) as file:
        file.put(make_row(n) for n in range(100))
        assert len(file.get(f"{n:032x}" for n in range(100))) == 100  # and commits the rows
        file.put(make_row(n) for n in range(100, 10_000))
        with pytest.raises(cf.errors.OutputError, match=r"results\.sqlite: cannot be written \(.*full.*\)"):
            put_until_it_fails(file)
        with pytest.raises(cf.errors.OutputError, match="full"):
            file.close()
    assert integrity(path) == "ok"
    assert keys_in(path) == {f"{n:032x}" for n in range(100)}
    with pytest.raises(cf.errors.OutputError, match="full"), ResultsFile.create(path) as file:
        file.put(make_row(n) for n in range(10_000))


def test_a_file_that_cannot_even_be_made_is_one_line(mount: Mount) -> None:
    folder = mount(16)
    (folder / "big").write_bytes(b"x" * 16 * 1024)
    with pytest.raises(cf.errors.OutputError, match=r"results\.sqlite: cannot be written"):
        ResultsFile.create(folder / "results.sqlite")


def test_plans_are_found_by_what_they_ask_for(tmp_path: Path) -> None:
    with ResultsFile.create(tmp_path / "results.sqlite") as file:
        first = file.add_plan(plan(seed=1, name="one"))
        second = file.add_plan(plan(seed=2))
        assert file.plan() == file.plans()[1] == file.plan(2) == file.plan("2") == file.plan(second[:10])
        assert file.plan().description == plan(seed=2)
        file.set_warnings(first, ["careful", "ümlaut"])
        # An equal plan with another name keeps its id, and becomes the default of readers.
        assert file.add_plan(plan(seed=1, name="other")) == first
        assert file.plan().id == first
        assert file.plan().description["name"] == "other"
        assert file.plan().warnings == ["careful", "ümlaut"]
        assert [stored.id for stored in file.plans()] == [second, first]
        for which in (3, 0, "x", ""):
            with pytest.raises(
                cf.errors.ResultsError, match=f"plan {which}: .*1: {second[:8]}, 2: {first[:8]}"
            ):
                file.plan(which)
        # More digits than Python converts to a number.
        with pytest.raises(cf.errors.ResultsError, match="plan 9999"):
            file.plan("9" * 5000)


def test_the_id_of_a_plan_is_what_it_asks_for() -> None:
    assert plan_id(plan()) == plan_id(dict(reversed(plan().items()))) == plan_id(plan(name="x", units={}))
    changes: list[dict[str, Any]] = [
        {"seed": 2},
        {"stop": {"runs": 11}},
        {"methods": ["analysis:exact"]},
        {"points": [{"axes": {}, "id": "02" * 16}]},
        {"axes": ["tcp.dupthresh"]},
    ]
    assert len({plan_id(plan(**change)) for change in [{}, *changes]}) == 6


def test_an_empty_file_has_no_plan(tmp_path: Path) -> None:
    ResultsFile.create(tmp_path / "results.sqlite").close()
    with (
        ResultsFile.open(tmp_path / "results.sqlite") as file,
        pytest.raises(cf.errors.ResultsError, match="there is no plan in it"),
    ):
        file.plan()


def test_a_row_that_was_torn_counts_as_one_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    with ResultsFile.create(path) as file:
        file.put([make_row(n) for n in range(3)])
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE rows SET \"values\" = x'0011' WHERE run = 1")
        database.execute("UPDATE rows SET metric_set = 99 WHERE run = 2")
    with ResultsFile.create(path) as file:
        keys = [make_row(n).key for n in range(3)]
        with pytest.warns(cf.errors.CrossfadeWarning, match=rf"2 damaged rows .*first row {keys[1]}"):
            assert list(file.get(keys)) == keys[:1]
        file.put([make_row(n) for n in (1, 2)])
        assert list(file.get(keys)) == keys


def write(path: Path, rows: list[Row], seed: int = 1) -> Path:
    with ResultsFile.create(path) as file:
        file.add_plan(plan(seed))
        file.put(rows)
    return path


def test_merging_is_the_union(tmp_path: Path) -> None:
    other_metrics = make_row(7)._replace(names="delay_mean_s", values=struct.pack("<d", 0.5))
    one = write(tmp_path / "one.sqlite", [make_row(n) for n in range(1500)], seed=1)
    two = write(tmp_path / "two.sqlite", [make_row(n) for n in range(1200, 1800)], seed=2)
    # Equal rows may have different durations on different machines.
    slow = write(
        tmp_path / "slow.sqlite", [make_row(1)._replace(seconds=9.0), other_metrics._replace(key="ab" * 16)]
    )
    merged = tmp_path / "merged.sqlite"
    with ResultsFile.create(merged) as file:
        assert file.merge([one, two, slow, merged]) == 1801
        assert file.merge([one]) == 0
        assert len(file.plans()) == 2
    with ResultsFile.open(merged) as file:
        wanted = [make_row(n) for n in range(1800)]
        assert file.get(row.key for row in wanted) == {row.key: row for row in wanted}
        assert file.get(["ab" * 16])["ab" * 16].metrics() == {"delay_mean_s": 0.5}


def test_rows_that_differ_under_one_key_are_not_merged(tmp_path: Path) -> None:
    one = write(tmp_path / "one.sqlite", [make_row(n) for n in range(10)])
    two = write(tmp_path / "two.sqlite", [make_row(10), make_row(4, 0.5)])
    before = keys_in(one)
    differs = pytest.raises(cf.errors.ResultsError, match=rf"two\.sqlite: row {4:032x} .*differs")
    with ResultsFile.create(one) as file, differs:
        file.merge([two])
    assert keys_in(one) == before, "all or nothing"


def test_results_of_other_versions_are_kept_as_they_are(tmp_path: Path) -> None:
    old = write(tmp_path / "old.sqlite", [make_row(1)])
    with closing(sqlite3.connect(old)) as database, database:
        database.execute("UPDATE rows SET results_version = 1, version = '0.0.1'")
        reseal(database)
    merged = write(tmp_path / "merged.sqlite", [make_row(2)])
    with ResultsFile.create(merged) as file:
        file.merge([old])
    with closing(sqlite3.connect(merged)) as database:
        found = database.execute("SELECT run, results_version, version FROM rows ORDER BY run").fetchall()
    assert found == [(1, 1, "0.0.1"), (2, cf.reference.RESULTS_VERSION, cf.__version__)]


def no_database(path: Path) -> None:
    path.write_text("axis,goodput_bps\n1,2\n")


def other_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE bookmarks (address TEXT)")


def newer_format(path: Path) -> None:
    ResultsFile.create(path).close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA user_version = 4")


def torn(path: Path) -> None:
    path.write_bytes(records.SQLITE_MAGIC + b"\0" * 3000)


def folder(path: Path) -> None:
    path.mkdir()


def absent(path: Path) -> None:
    pass


BAD_FILES: list[tuple[Callable[[Path], None], str | None, str]] = [
    (no_database, "not a results file", "not a results file"),
    (other_database, "not a results file", "not a results file"),
    (newer_format, r"a results file of a newer crossfade \(format 4;", "newer crossfade"),
    (torn, "not a results file, or a damaged one", "damaged"),
    (folder, "a folder", "not a results file"),
    (absent, None, "no such file"),
]


@pytest.mark.parametrize(("make", "to_write", "to_read"), BAD_FILES)
def test_what_is_no_results_file_is_refused_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], to_write: str | None, to_read: str
) -> None:
    path = tmp_path / "results.sqlite"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(cf.errors.ResultsError, match=rf"results\.sqlite: .*{to_read}"):
        ResultsFile.open(path)
    if to_write is not None:
        with pytest.raises(cf.errors.CrossfadeError, match=rf"results\.sqlite: .*{to_write}"):
            ResultsFile.create(path)
    if path.is_file():
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("path", "problem"),
    [("nowhere/x.sqlite", "no folder nowhere"), ("/dev/null", "not a file"), ("a\0b", "null|NUL")],
)
def test_where_no_file_can_be_is_refused(path: str, problem: str) -> None:
    with pytest.raises(cf.errors.OutputError, match=problem):
        ResultsFile.create(path)


def test_an_empty_file_is_filled(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    path.touch()
    write(path, [make_row(1)])
    assert len(keys_in(path)) == 1


def test_results_files_are_told_from_tables(tmp_path: Path) -> None:
    path = write(tmp_path / "results", [])
    table = tmp_path / "results.csv"
    table.write_text("a,b\n1,2\n")
    assert is_results_file(path)
    others: list[str | Path] = [table, tmp_path, tmp_path / "absent", "a\0b"]
    assert not any(is_results_file(other) for other in others)


@pytest.fixture
def nobody() -> Iterator[None]:
    """Context as a user without write permissions, since root may write everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_is_read_where_nothing_may_be_written(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = write(tmp_path / "results.sqlite", [make_row(1)])
    for each in [path, *path.parents]:
        if each.stat().st_uid == os.geteuid() and each != Path("/tmp"):
            each.chmod(0o555 if each in (path, tmp_path) else 0o755)
    request.getfixturevalue("nobody")
    with ResultsFile.open(path) as file:
        assert len(file.get([make_row(1).key])) == 1
    with pytest.raises(cf.errors.OutputError, match="cannot be written"):
        ResultsFile.create(path)
