"""Foreign log files beside a results file, which SQLite would replay with the rights of the reader."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.errors import ResultsError
from crossfade.results import description, rowtables, sidecars
from crossfade.results.description import read_description
from crossfade.results.file import ResultsFile
from tests.conftest import Cli, expect_one_line, make_row

MAGIC = bytes.fromhex("d9d505f920a163d7")
PAGE = 4096


def lay_journal(database: Path, victim: Path) -> None:
    """A hot journal that names ``victim`` as its super-journal, which SQLite removes after the rollback.

    The format is that of https://www.sqlite.org/fileformat2.html, section 3.
    """
    data = bytearray(database.read_bytes())
    data[18:20] = b"\x01\x01"  # mode of a rollback journal, not of a write-ahead log
    database.write_bytes(data)
    pages = len(data) // PAGE
    header = MAGIC + struct.pack(">IIIII", 0, 7, pages, 512, PAGE)
    name = os.fsencode(victim)
    checksum = sum(struct.unpack(f"{len(name)}b", name)) & 0xFFFFFFFF
    # The number of the page with the lock byte (at 1 GiB) means that a name follows.
    tail = struct.pack(">I", 0x40000000 // PAGE + 1) + name + struct.pack(">II", len(name), checksum) + MAGIC
    Path(f"{database}-journal").write_bytes(header.ljust(512, b"\0") + tail)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere" / "thesis.tex"
    path.parent.mkdir()
    path.write_text("years of work")
    return path


@pytest.fixture
def results(tmp_path: Path, sweep: Path) -> Path:
    path = tmp_path / "folder" / "x.sqlite"
    path.parent.mkdir()
    cf.sweep(sweep, out=path, runs=2)
    return path


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in [*files]} | {
        str(path): (path.stat().st_mtime_ns, b"") for path in folder.rglob("*") if path.is_dir()
    }


def test_the_journal_is_one_that_sqlite_plays_back(results: Path, victim: Path) -> None:
    """SQLite really replays this journal; otherwise the tests below would prove nothing."""
    lay_journal(results, victim)
    database = sqlite3.connect(results)
    database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    database.close()
    assert not victim.exists()


COMMANDS: list[tuple[str, ...]] = [
    ("check", "FILE"),
    ("check", "FILE", "--repair"),
    ("report", "FILE"),
    ("export", "FILE", "--to", "csv"),
    ("plot", "FILE"),
    ("compare", "FILE", "--by", "tcp.variant"),
    ("best", "FILE", "--choose", "tcp.variant"),
    ("merge", "FILE", "--out", "merged.sqlite"),
    ("merge", "other.sqlite", "--out", "FILE"),
    ("sweep", "SWEEP", "--out", "FILE"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command))
def test_no_command_touches_what_a_journal_names(
    results: Path,
    victim: Path,
    sweep: Path,
    cli: Cli,
    command: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(sidecars, "PATIENCE_S", 0.0)
    monkeypatch.chdir(tmp_path)
    shutil.copy(results, "other.sqlite")
    lay_journal(results, victim)
    before = snapshot(results.parent), snapshot(victim.parent)
    words = [{"FILE": str(results), "SWEEP": str(sweep)}.get(word, word) for word in command]
    expect_one_line(cli(*words), "x.sqlite-journal lies beside it", "move it away")
    assert (snapshot(results.parent), snapshot(victim.parent)) == before


def test_python_and_the_cache_neither(
    results: Path, victim: Path, cache_folder: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidecars, "PATIENCE_S", 0.0)
    lay_journal(results, victim)
    for reads in (cf.open_results, cf.store.load):
        with pytest.raises(ResultsError, match=r"x\.sqlite-journal lies beside it"):
            reads(results)
    cf.run(small, runs=2)
    [cache] = cache_folder.rglob("*.sqlite")
    lay_journal(cache, victim)
    with pytest.warns(cf.errors.CrossfadeWarning, match="finished runs are not kept"):
        cf.run(small, runs=2)
    assert victim.read_text() == "years of work"


def test_reading_writes_nothing(results: Path) -> None:
    before = snapshot(results.parent)
    cf.open_results(results)
    cf.store.load(results)
    with ResultsFile.open(results) as file:
        assert file.size() > 0
        assert snapshot(results.parent) == before
    assert snapshot(results.parent) == before


def test_what_a_killed_writer_left_in_its_log_is_read_from_a_copy(tmp_path: Path) -> None:
    path, left = tmp_path / "x.sqlite", tmp_path / "left"
    left.mkdir()
    with ResultsFile.create(path) as file:
        file.put([make_row(1), make_row(2)])
        file.commit()
        for part in ("", "-wal"):  # state after kill -9
            shutil.copy(f"{path}{part}", left / f"x.sqlite{part}")
    before = snapshot(left)
    with ResultsFile.open(left / "x.sqlite") as file:
        assert sorted(file.get([make_row(n).key for n in (1, 2, 3)])) == [make_row(1).key, make_row(2).key]
    assert snapshot(left) == before


def test_what_is_written_while_it_is_read_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with ResultsFile.create(path) as writer:
        writer.put([make_row(1)])
        writer.commit()
        with ResultsFile.open(path) as reader:
            assert len(reader.get([make_row(1).key])) == 1
            writer.put([make_row(2)])
            writer.commit()
            assert len(reader.get([make_row(2).key])) == 1


def test_a_reader_that_came_before_a_writer_sees_what_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with ResultsFile.create(path) as file:
        file.put([make_row(1)])
    with ResultsFile.open(path) as reader:
        assert len(reader.get([make_row(1).key])) == 1
        with ResultsFile.create(path) as writer:
            writer.put([make_row(2)])
            writer.commit()
            assert len(reader.get([make_row(2).key])) == 1
        assert len(reader.get([make_row(n).key for n in (1, 2)])) == 2


@pytest.mark.parametrize("part", ["-wal", "-shm"])
def test_links_beside_it_are_refused(results: Path, victim: Path, part: str) -> None:
    for make in (Path.symlink_to, Path.hardlink_to):
        beside = Path(f"{results}{part}")
        make(beside, victim)
        with pytest.raises(ResultsError, match=rf"x.sqlite{part} beside it is no plain file; move it away"):
            cf.open_results(results)
        with pytest.raises(ResultsError, match="no plain file"):
            ResultsFile.create(results)
        beside.unlink()
    assert victim.read_text() == "years of work"


def test_the_name_of_the_journal_is_taken_where_others_can_make_files(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    path = tmp_path / "x.sqlite"
    with sidecars.guarded(path):
        assert Path(f"{path}-journal").stat().st_size == 0
        database = sqlite3.connect(path)
        database.execute("PRAGMA journal_mode = WAL")
        database.close()
    assert not Path(f"{path}-journal").exists()
    with ResultsFile.create(path) as file:
        file.put([make_row(1)])
    assert sorted(found.name for found in tmp_path.glob("x.sqlite*")) == ["x.sqlite"]


SPOILT: dict[str, Callable[[sqlite3.Connection], object]] = {
    "a trigger": lambda d: d.execute("CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM plans; END"),
    "a view": lambda d: d.execute("CREATE VIEW v AS SELECT * FROM rows"),
    "a virtual table": lambda d: d.execute("CREATE VIRTUAL TABLE f USING fts5(x)"),
    "a generated column": lambda d: d.execute("ALTER TABLE plans ADD COLUMN g TEXT AS (upper(id))"),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_schema_with_code_in_it_is_refused(results: Path, cli: Cli, how: str) -> None:
    database = sqlite3.connect(results)
    SPOILT[how](database)
    database.commit()
    database.close()
    expect_one_line(cli("report", str(results)), "not a results file, or a")


def test_a_text_of_half_a_gigabyte_is_refused(
    results: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rowtables.MOST_BYTES == 256 * 2**20
    monkeypatch.setattr(rowtables, "MOST_BYTES", 2**20)
    database = sqlite3.connect(results)
    database.execute("UPDATE plans SET description = zeroblob(?)", (rowtables.MOST_BYTES + 1,))
    database.commit()
    database.close()
    expect_one_line(cli("report", str(results)), "x.sqlite: ", "too big")


def test_a_plan_of_more_points_than_a_sweep_may_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert description.MOST_POINTS == 100_000
    monkeypatch.setattr(description, "MOST_POINTS", 1000)
    plan = {"axes": [], "methods": ["simulation"], "stop": {"runs": 1}, "seed": 1}
    point = {"axes": {}, "id": "0" * 32}
    assert read_description(json.dumps({**plan, "points": [point] * 1000}))
    with pytest.raises(ValueError, match="points: not what a sweep writes"):
        read_description(json.dumps({**plan, "points": [point] * 1001}))
