"""The cache of finished runs: shared by processes, and without harm if it fails."""

from __future__ import annotations

import os
import sqlite3
import struct
from pathlib import Path

import pytest

import crossfade as cf
from crossfade import _crossfade
from crossfade.results.cache import Cache, MemoryStore, SqliteStore, cache_path
from crossfade.results.rows import names_of
from tests.conftest import SMALL, Cli, reseal
from tests.results.writers import make_row, started


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_store_gives_back_what_was_put(kind: str, tmp_path: Path) -> None:
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "rows.sqlite")
    rows = {row.key: row for row in (make_row(n, n / 7) for n in range(6001))}
    store.put(list(rows.values()))
    store.put([next(iter(rows.values()))])
    assert store.get([*rows, "ff" * 16]) == rows
    few = list(rows)[1:1201]  # a small part, which takes more than one query
    assert store.get([*few, "ff" * 16]) == {key: rows[key] for key in few}
    assert store.get([]) == {}
    store.close()


def test_rows_outlive_the_process_that_made_them(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "rows.sqlite"
    first = SqliteStore(path)
    first.put([make_row(1)])
    first.close()
    second = SqliteStore(path)
    assert second.get([make_row(1).key]) == {make_row(1).key: make_row(1)}
    second.close()


def test_two_processes_may_create_and_fill_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite"
    writers = [started("fill_store", path, writer, 200) for writer in range(3)]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    store = SqliteStore(path)
    wanted = [make_row(1000 * block + n).key for block in range(4) for n in range(200)]
    assert sorted(store.get(wanted)) == wanted
    store.close()


def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite"
    path.write_bytes(b"this is no database" * 1000)
    before = path.read_bytes()
    with pytest.warns(cf.errors.CrossfadeWarning, match=r"rows\.sqlite.*delete the file"):
        cache = Cache(path)
    cache.put([make_row(1)])
    assert cache.get([make_row(1).key]) == {make_row(1).key: make_row(1)}
    cache.close()
    assert path.read_bytes() == before


def test_a_torn_file_costs_time_only(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    path = tmp_path / "rows.sqlite"
    store = SqliteStore(path)
    rows = {row.key: row for row in map(make_row, range(2000))}
    store.put(list(rows.values()))
    store.close()
    size = path.stat().st_size
    os.truncate(path, size // 2 // 4096 * 4096 + 1000)
    cache = Cache(path)
    found = cache.get(rows)
    cache.put([make_row(5000)])
    assert cache.get([make_row(5000).key]) == {make_row(5000).key: make_row(5000)}
    cache.close()
    assert all(found[key] == rows[key] for key in found)
    assert len(found) < 2000
    assert [warning.category for warning in recwarn.list] == [cf.errors.CrossfadeWarning]


def test_where_no_cache_can_be_there_is_one_warning(
    cli: Cli, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a-file"
    file.write_text("")
    monkeypatch.setenv(
        "XDG_CACHE_HOME", str(file)
    )  # no user, not even root, can create a folder below a file
    outcome = cli("run", small, "--csv", "-")
    assert outcome.code == 0
    assert outcome.err.count("warning: finished runs are not kept") == 1
    assert outcome.out.count("\n") == 2


def test_the_cache_has_its_place(cache_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = cache_path()
    assert path is not None
    assert path.parent == cache_folder / "crossfade"
    assert path.name.startswith(f"{_crossfade.__version__}-")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    path = cache_path()
    assert path is not None
    assert path.parent == tmp_path / ".cache" / "crossfade"


def test_finished_runs_are_not_computed_again(cache_folder: Path) -> None:
    first = cf.run(SMALL)
    path = cache_path()
    assert path is not None
    with sqlite3.connect(path) as database:
        keys = [key for (key,) in database.execute("SELECT key FROM rows")]
        assert len(keys) == 10
        # A change of the stored rows shows that the second run reads them.
        ((names,),) = database.execute("SELECT names FROM metric_sets").fetchall()
        marked = struct.pack(f"<{len(names_of(names))}d", *[12345.0] * len(names_of(names)))
        database.execute('UPDATE rows SET "values" = ?', (marked,))
        reseal(database)
    database.close()
    assert cf.run(SMALL).column("timeouts").tolist() == [12345.0]
    assert cf.run(SMALL, cache=False).to_csv() == first.to_csv()


def test_no_cache_leaves_no_trace(cli: Cli, small: Path, cache_folder: Path) -> None:
    assert cli("run", small, "--no-cache").code == 0
    assert list(cache_folder.iterdir()) == []


def test_more_runs_of_a_point_take_over_those_there_are() -> None:
    cf.run(SMALL, runs=10)
    assert cf.run(SMALL, runs=15).to_csv() == cf.run(SMALL, runs=15, cache=False).to_csv()


def test_a_point_of_another_sweep_is_the_same_point(sweep: Path) -> None:
    whole = cf.run(sweep).table().records()
    part = cf.run(sweep, over={"tcp.variant": ["reno"]}).table().records()
    assert part == [record for record in whole if record["tcp.variant"] == "reno"]
