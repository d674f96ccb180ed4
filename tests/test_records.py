"""Records and inputs are never overwritten, merges delete nothing, and file names are not interpreted."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from crossfade import files
from crossfade.results.file import ResultsFile
from tests.conftest import SMALL, Cli, expect_one_line

TWO_CURVES = '[sweep]\n"tcp.variant" = ["tahoe", "reno"]\n"channel.p_e" = [0.01, 0.03, 0.1]\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a scenario that names a file, two results files, and a CSV table."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        Path("lost.txt").write_text("".join("00000110" for _ in range(200)))
        text = SMALL.replace('{ model = "iid", p_e = 0.01 }', '{ model = "trace", file = "lost.txt" }')
        Path("my.toml").write_text(text)
        Path("sweep.toml").write_text(SMALL + TWO_CURVES)
        cf.sweep("sweep.toml", out="my.sqlite")
        cf.sweep("sweep.toml", out="other.sqlite")
        Path("table.csv").write_text(cf.store.load("my.sqlite").to_csv())
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Working folder with these files, and with other names of the results file."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    Path("link.csv").symlink_to("my.sqlite")
    os.link("my.sqlite", "hard.csv")
    return tmp_path


RUN = ["run", "my.toml", "--quiet", "--runs", "1"]
BEST = ["sweep.toml", "--quiet", "--no-cache", "--runs", "2"]


@pytest.mark.parametrize(
    ("command", "option", "suffix"),
    [
        (RUN, "--csv", ""),
        (RUN, "--events", ""),
        (RUN, "--link-events", ""),
        (RUN, "--air-pcap", ""),
        (RUN, "--pcap", ""),
        (RUN, "--plot", ".png"),
        (["compare", *BEST, "--by", "tcp.variant"], "--csv", ""),
        (["best", *BEST, "--choose", "tcp.variant"], "--csv", ""),
        (["phy", "my.toml", "--quiet"], "--csv", ""),
        (["reuse", "my.toml", "--quiet"], "--csv", ""),
        (["reuse", "my.toml", "--quiet"], "--plot", ".png"),
        (["paper", "tcp-markov", "table1", "--quiet"], "--csv", ""),
        (["paper", "tcp-markov", "fig2", "--quiet", "--quick"], "--plot", ".png"),
        (["fit", "lost.txt"], "--plot", ".png"),
        (["export", "other.sqlite", "--to", "csv"], "--out", ""),
        (["export", "other.sqlite", "--to", "parquet"], "--out", ""),
        (["plot", "table.csv"], "--out", ".png"),
        (["plot", "other.sqlite"], "--out", ".svg"),
        (["report", "other.sqlite"], "--out", ".html"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_no_command_overwrites_a_record(
    cli: Cli, here: Path, command: list[str], option: str, suffix: str
) -> None:
    before = Path("my.sqlite").read_bytes()
    with ResultsFile.open("my.sqlite") as in_use:
        in_use.plans()  # creates the write-ahead log and its index
        for source in ("my.sqlite", "my.sqlite-wal", "my.sqlite-shm"):
            target = Path(source + suffix)
            if suffix:
                target.symlink_to(source)
            expect_one_line(cli(*command, option, target), f"{target}: not overwritten")
    for target in (Path(f"soft{suffix}"), Path(f"hard{suffix}")):
        target.symlink_to("my.sqlite") if target.name.startswith("soft") else os.link("my.sqlite", target)
        expect_one_line(cli(*command, option, target), f"{target}: not overwritten (it is a results file)")
    assert Path("my.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("command", "option", "target", "source"),
    [
        (RUN, "--csv", "my.toml", "my.toml"),
        (RUN, "--events", "my.toml", "my.toml"),
        (RUN, "--pcap", "my.toml", "my.toml"),
        (RUN, "--csv", "lost.txt", "lost.txt"),
        (RUN, "--events", "lost.txt", "lost.txt"),
        (["run", "sweep.toml", "--set", "channel.file=lost.txt"], "--csv", "lost.txt", "lost.txt"),
        (["run", "sweep.toml", "--over", "channel.file=lost.txt,other"], "--csv", "lost.txt", "lost.txt"),
        (RUN, "--link-events", "my.toml", "my.toml"),
        (RUN, "--air-pcap", "my.toml", "my.toml"),
        (["phy", "my.toml", "--quiet"], "--csv", "my.toml", "my.toml"),
        (["reuse", "my.toml", "--quiet"], "--csv", "my.toml", "my.toml"),
        (["reuse", "my.toml", "--quiet"], "--csv", "lost.txt", "lost.txt"),
        (["reuse", "my.toml", "--quiet"], "--plot", "soft.png", "my.toml"),
        (RUN, "--csv", "soft.csv", "my.toml"),
        (RUN, "--csv", "linked.csv", "my.toml"),
        (RUN, "--plot", "soft.png", "my.toml"),
        (["compare", *BEST, "--by", "tcp.variant"], "--csv", "sweep.toml", "sweep.toml"),
        (["best", *BEST, "--choose", "tcp.variant"], "--csv", "sweep.toml", "sweep.toml"),
        (["compare", "other.sqlite", "--by", "tcp.variant"], "--csv", "other.sqlite", "other.sqlite"),
        (["export", "other.sqlite", "--to", "csv"], "--out", "other.sqlite", "other.sqlite"),
        (["export", "other.sqlite"], "--out", "soft.csv", "other.sqlite"),
        (["fit", "lost.txt"], "--plot", "soft.png", "lost.txt"),
        (["plot", "table.csv"], "--out", "linked.png", "table.csv"),
        (["report", "other.sqlite"], "--out", "soft.html", "other.sqlite"),
    ],
)
def test_no_command_overwrites_its_input(
    cli: Cli, here: Path, command: list[str], option: str, target: str, source: str
) -> None:
    if target.startswith("soft"):
        Path(target).symlink_to(source)
    elif target.startswith("linked"):
        os.link(source, target)
    before = Path(source).read_bytes()
    expect_one_line(cli(*command, option, target), f"{target}: not overwritten (it is the input)")
    assert Path(source).read_bytes() == before


def test_other_files_are_replaced(cli: Cli, here: Path) -> None:
    with sqlite3.connect("foreign.db") as database:
        database.execute("CREATE TABLE x (y)")
    database.close()
    Path("notes.txt").write_text("old")
    for name in ("foreign.db", "notes.txt", "table.csv"):
        outcome = cli("export", "my.sqlite", "--to", "csv", "--out", name)
        assert (outcome.code, outcome.err) == (0, f"wrote {name}\n")
        assert Path(name).read_text().startswith("tcp.variant,channel.p_e,method,")
    assert cli("run", "sweep.toml", "--quiet", "--csv", "/dev/null").code == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--csv", "a.png", "--plot", "./a.png"),
        ("--csv", "a", "--events", "linked"),
        ("--events", "a", "--pcap", "a"),
    ],
)
def test_no_command_writes_two_outputs_to_one_file(cli: Cli, here: Path, options: tuple[str, ...]) -> None:
    Path("linked").symlink_to("a")
    expect_one_line(cli(*RUN, *options), f"{Path(options[-1])}: not written twice")
    assert not Path("a").exists()
    assert not Path("a.png").exists()


def test_two_outputs_may_go_where_nothing_is_kept(cli: Cli, here: Path) -> None:
    assert cli(*RUN, "--quiet", "--csv", "/dev/null", "--events", "/dev/null").code == 0


def test_a_file_being_filled_is_a_record_before_its_first_checkpoint(here: Path) -> None:
    with ResultsFile.create("new.sqlite"), pytest.raises(cf.errors.OutputError, match="it is a results file"):
        cf.store.export("my.sqlite", "new.sqlite", to="csv")


def test_a_record_that_came_meanwhile_is_not_overwritten(here: Path) -> None:
    files.check_output(Path("late.csv"))
    os.link("my.sqlite", "late.csv")
    with pytest.raises(cf.errors.OutputError, match=r"late\.csv: not overwritten"):
        files.write_text(Path("late.csv"), "text")


def test_a_pipe_is_no_input_to_be_read_twice(here: Path) -> None:
    os.mkfifo("pipe")
    assert files.inputs_of("pipe") == [Path("pipe")]
    files.check_output(Path("pipe"))


def rows_of(path: str | Path) -> int:
    with ResultsFile.open(path) as file:
        return sum(1 for _ in file.lines())


Meanwhile = Callable[[Callable[[], object]], None]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Function that runs an action during a merge, after the merge has begun to write."""
    usual = ResultsFile.merge

    def call(act: Callable[[], object]) -> None:
        def merge(self: ResultsFile, others: Any) -> int:
            monkeypatch.setattr(ResultsFile, "merge", usual)
            act()
            return usual(self, others)

        monkeypatch.setattr(ResultsFile, "merge", merge)

    return call


def test_a_merge_that_fails_deletes_nothing(here: Path, meanwhile: Meanwhile) -> None:
    other = SMALL.replace("0.01", "0.02")
    for error in (cf.errors.ResultsError("x: differs"), KeyboardInterrupt(), SystemExit(1)):

        def act(error: BaseException = error) -> None:
            cf.sweep(other, out="new.sqlite")
            raise error

        meanwhile(act)
        with pytest.raises(type(error)):
            cf.store.merge(["my.sqlite"], "new.sqlite")
        assert rows_of("new.sqlite") == 10
        assert sorted(path.name for path in here.glob("*new.sqlite*")) == ["new.sqlite"]
        assert not list(here.glob(".crossfade*"))
        Path("new.sqlite").unlink()


def test_a_merge_adds_to_what_came_meanwhile(here: Path, meanwhile: Meanwhile) -> None:
    meanwhile(lambda: cf.sweep(SMALL.replace("0.01", "0.02"), out="new.sqlite"))
    cf.store.merge(["my.sqlite"], "new.sqlite")
    assert rows_of("new.sqlite") == 10 + rows_of("my.sqlite")
    assert not list(here.glob(".crossfade*"))


def test_a_merge_publishes_all_or_nothing(here: Path, meanwhile: Meanwhile) -> None:
    meanwhile(lambda: pytest.fail("it is there") if Path("new.sqlite").exists() else None)
    cf.store.merge(["my.sqlite"], "new.sqlite")
    assert rows_of("new.sqlite") == rows_of("my.sqlite")
    assert os.stat("new.sqlite").st_nlink == 1


def test_where_there_are_no_hard_links_a_merge_writes_at_once(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    cf.store.merge(["my.sqlite"], "new.sqlite")
    assert rows_of("new.sqlite") == rows_of("my.sqlite")


def test_the_log_of_another_database_is_not_taken_for_ones_own(cli: Cli, here: Path) -> None:
    Path("new.sqlite-wal").write_bytes(b"rows that are nowhere else")
    outcome = cli("merge", "my.sqlite", "--out", "new.sqlite")
    expect_one_line(outcome, "new.sqlite: cannot be written (new.sqlite-wal is left of another database)")
    assert Path("new.sqlite-wal").read_bytes() == b"rows that are nowhere else"


@pytest.mark.parametrize(
    "name", [":memory:", "file:x.sqlite", "file:x.sqlite?mode=memory&cache=shared", "x%3f?#.sqlite", "file:"]
)
def test_any_name_is_that_of_a_file(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    outcome = cli("sweep", "small.toml", "--out", name, "--quiet")
    assert outcome.code == 0, outcome.err
    assert {path.name for path in tmp_path.iterdir()} == {"small.toml", name}
    assert rows_of(name) == 10
    assert cli("merge", name, "--out", f"{name}2").code == 0
    assert rows_of(f"{name}2") == 10


def test_the_plan_asked_for_last_is_read_though_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "plans.sqlite", [2e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    for p_e in ("0.01", "0.02", "0.03", "0.01", "0.01"):
        now[0] -= 86_400.0
        cf.sweep(SMALL.replace("0.01", p_e), out=path)
        with ResultsFile.open(path) as file:
            assert f"p_e = {p_e} " in file.plan().description["text"]
            times = [plan.added for plan in file.plans()]
            assert times == sorted(set(times))


@pytest.mark.parametrize(
    "command",
    [
        [*RUN, "--csv"],
        [*RUN, "--events"],
        [*RUN, "--pcap"],
        ["export", "other.sqlite", "--to", "csv", "--out"],
        ["live", "--rate", "1 Mbit/s", "--record"],
        ["live", "--rate", "1 Mbit/s", "--json"],
    ],
)
def test_the_journal_of_a_live_run_is_a_record(cli: Cli, here: Path, command: list[str]) -> None:
    Path("rec.cfj").write_bytes(b"crossfade journal 1\nH")
    Path("soft").symlink_to("rec.cfj")
    for target in ("rec.cfj", "soft"):
        done = cli(*command, target)
        assert done.code == (125 if command[0] == "live" else 2)
        assert done.err == f"error: {target}: not overwritten (it is the journal of a live run)\n"
    assert Path("rec.cfj").read_bytes() == b"crossfade journal 1\nH"
