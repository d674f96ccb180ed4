"""Foreign input controls no terminal or spreadsheet, blocks no command, and leaves no partial files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import crossfade as cf
from crossfade import files
from crossfade.tables import Table
from tests.conftest import SMALL, Cli, Mount, expect_one_line, long_form

EVIL = "\x1b]0;owned\x07\x9b31m\u202ered\x7f"


def is_clean(text: str) -> bool:
    return not any((ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c in "\u202e\u2066" for c in text)


def test_names_and_headers_reach_no_terminal_raw(cli: Cli, tmp_path: Path) -> None:
    absent = cli("run", f"{EVIL}.toml")
    table = tmp_path / f"{EVIL}.csv"
    table.write_text(f'"{EVIL}",goodput_bps\n1,2\n')
    column = cli("plot", table, "--y", "nothing")
    titled = tmp_path / "titled.toml"
    titled.write_text(SMALL.replace('"A small scenario"', '"[bold]x[/] \\u202e"'))
    shown = cli("run", titled, "--runs", "2")
    for outcome in (absent, column, shown, cli("check", titled)):
        assert is_clean(outcome.out + outcome.err), repr(outcome)
    assert r"\x1b]0;owned\x07\x9b31m\u202ered\x7f" in absent.err
    assert r"[bold]x[/] \u202e" in shown.out
    with pytest.raises(cf.errors.ScenarioError) as caught:
        cf.run(f"{EVIL}.toml")
    assert is_clean(str(caught.value))


@pytest.mark.parametrize("kind", ["svg", long_form("pdf"), "png"])
def test_a_title_of_any_letters_is_drawn_in_silence(cli: Cli, tmp_path: Path, kind: str) -> None:
    (tmp_path / "table.csv").write_text("p_e,goodput_bps\n0.1,2\n0.2,3\n")
    figure = tmp_path / f"figure.{kind}"
    drawn = cli("plot", tmp_path / "table.csv", "--title", f"{EVIL} 中文", "--out", figure)
    assert (drawn.code, drawn.err) == (0, f"wrote {figure}\n")
    if kind == "svg":
        shown = "".join(ElementTree.parse(figure).getroot().itertext())
        assert r"\x1b]0;owned\x07\x9b31m\u202ered\x7f 中文" in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "x" * 3000],
        ["run", "quickstart", "--set", "x" * 3000],
        ["run", "quickstart", "--set", f"tcp.variant={'x' * 3000}"],
        ["run", "quickstart", "--runs", "x" * 3000],
        ["run", "quickstart", "--csv", f"nowhere/{'x' * 3000}"],
        ["export", "x" * 3000],
        ["plot", "x" * 3000],
        ["x" * 3000],
        ["control", "build", "x" * 3000],
        ["merge", "my.sqlite", "--out", "x" * 3000],
        ["run", "quickstart", "--csv", "x" * 3000],
        ["export", "my.sqlite", "--plan", "x" * 3000, "--out", "-"],
        ["run", "quickstart", f"--{'x' * 3000}"],
    ],
)
def test_error_lines_quote_little(
    cli: Cli, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cf.sweep(SMALL, runs=1, out="my.sqlite")
    outcome = cli(*arguments)
    assert outcome.code == 2
    assert "x" * 201 not in outcome.err


WORDS = ["=1+1", "+cmd", "-cmd|x", "@SUM(A1)", "\tx", "\rx", "'=x", "''-x"]
PLAIN = ["reno", "-5 dB", "+3", "-1e-3", "20 ms", "'quoted", "a=b"]


def test_words_in_csv_are_no_formulas() -> None:
    table = Table([*WORDS, *PLAIN[:1]], [[*WORDS, "x"], [*["x"] * len(WORDS), -5.0]])
    text = table.to_csv()
    cells = [cell.strip('"') for line in text.split("\n") for cell in line.split(",")]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "@", "\t", "\r") or cell[:2] == "-c"]
    assert Table.from_csv(text) == table
    assert [Table(["a"], [[word]]).to_csv() for word in PLAIN] == [f"a\n{word}\n" for word in PLAIN]


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (["run", "{}"], "toml"),
        (["check", "{}"], "toml"),
        (["run", "quickstart", "--set", "channel.model=trace", "--set", "channel.file={}"], "txt"),
        (["fit", "{}"], "txt"),
        (["plot", "{}"], "csv"),
        (["report", "{}"], "sqlite"),
        (["export", "{}"], "sqlite"),
        (["merge", "{}", "--out", "new.sqlite"], "sqlite"),
        (["compare", "{}", "--by", "tcp.variant"], "sqlite"),
    ],
)
@pytest.mark.parametrize("file", ["pipe", "device", "folder"])
def test_what_never_ends_is_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], kind: str, file: str
) -> None:
    monkeypatch.setattr(files, "PIPE_WAITS_S", 0.2)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"x.{kind}"
    if file == "pipe":
        os.mkfifo(path)
    elif file == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    outcome = cli(*(part.replace("{}", str(path)) for part in command))
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1, outcome.err
    assert list(tmp_path.iterdir()) == [path]


def test_golden_pipes_are_refused(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PIPE_WAITS_S", 0.2)
    os.mkfifo(tmp_path / "patterns.json")
    expect_one_line(cli("verify", tmp_path), "patterns.json", "a pipe")


def test_a_pipe_that_is_written_to_is_read(cli: Cli) -> None:
    reading, writing = os.pipe()
    os.write(writing, SMALL.encode())
    os.close(writing)
    assert cli("check", f"/dev/fd/{reading}").code == 0
    os.close(reading)


@pytest.mark.parametrize("option", ["--events", "--pcap", "--csv", "--plot"])
def test_a_full_disk_leaves_no_half_file(cli: Cli, small: Path, mount: Mount, option: str) -> None:
    folder = mount(16)
    name = folder / ("out.png" if option == "--plot" else "out")
    (folder / "big").write_bytes(b"x" * 12 * 1024)
    runs = (
        ["--runs", "1"] if option in ("--events", "--pcap") else ["--over", "tcp.w_max=1:60:1", "--runs", "1"]
    )
    outcome = cli("run", small, "--quiet", option, name, *runs)
    assert outcome.code == 2
    assert f"{name}: cannot be written" in outcome.err
    assert [path.name for path in folder.iterdir()] == ["big"]


def test_a_file_is_replaced_as_a_whole(cli: Cli, small: Path, tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "real.csv").chmod(0o600)
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert cli("run", small, "--quiet", "--csv", tmp_path / "link.csv").code == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("method,runs,")
    assert (tmp_path / "real.csv").stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob(".crossfade-*"))


def nested(depth: int, wrap: Callable[[object], object]) -> object:
    value: object = 1
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize(
    "value",
    [
        nested(50_000, lambda inner: [inner]),
        nested(50_000, lambda inner: {"a": inner}),
        10**400,
        10**5000,
        "\ud800",
        {"\ud800": 1},
    ],
    ids=["lists", "tables", "a large number", "a larger one", "half a character", "a key of it"],
)
@pytest.mark.parametrize("how", ["set", "over"])
def test_values_that_no_file_can_have_are_refused_in_one_line(value: object, how: str) -> None:
    given: dict[str, Any] = {how: {"channel.p_e": value}}
    with pytest.raises(cf.errors.ScenarioError) as raised:
        cf.check(SMALL, **given)
    assert len(str(raised.value)) < 400
    assert "\n" not in str(raised.value)


def test_a_text_that_is_none_is_refused() -> None:
    with pytest.raises(cf.errors.ScenarioError):
        cf.check(SMALL.replace("A small", "\ud800"))
