"""Files without readable results, and plans that a file lacks: one line of error each."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import crossfade as cf
from tests.conftest import Cli, expect_one_line
from tests.results.results_files import Made, add_plan, add_rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


def newer(path: Path) -> None:
    add_plan(path, {})
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA user_version = 4")


def other(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE plans (id)")


def cut(path: Path) -> None:
    add_plan(path, {})
    add_rows(path, [Made(0, run, {"goodput_bps": 1.0}) for run in range(500)])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "no such file"),
    "text": (lambda path: path.write_text("a,b\n1,2\n"), "not a results file"),
    "empty": (lambda path: path.write_bytes(b""), "not a results file"),
    "folder": (lambda path: path.mkdir(), "not a results file"),
    "other": (other, "not a results file"),
    "newer": (newer, "of a newer crossfade (format 4; this one reads format 3)"),
    "no plan": (lambda path: add_rows(path, []), "there is no plan in it"),
    "cut": (cut, "damaged"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_results_file_is_one_line(kind: str, path: Path, cli: Cli) -> None:
    make, message = WRONG[kind]
    make(path)
    for read in (cf.open_results, cf.store.load):
        with pytest.raises(cf.errors.ResultsError) as error:
            read(path)
        assert str(path) in str(error.value)
        assert message in str(error.value)
        assert "\n" not in str(error.value)
    expect_one_line(cli("export", path, "--to", "csv", "--out", path.parent / "out.csv"), message)
    assert not (path.parent / "out.csv").exists()


@pytest.mark.parametrize("number", [0, 3, -1, 99, "x", ""])
def test_an_unknown_plan_is_one_line(number: int | str, path: Path, cli: Cli) -> None:
    add_plan(path, {}, seed=1)
    add_plan(path, {}, seed=2, added=1.0)
    with pytest.raises(cf.errors.ResultsError, match=rf"^plan {number}: ") as error:
        cf.open_results(path, plan=number)
    assert "1: " in str(error.value)
    assert "2: " in str(error.value)
    expect_one_line(cli("export", path, f"--plan={number}"), f"plan {number}: ")
