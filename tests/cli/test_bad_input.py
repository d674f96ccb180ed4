"""Every user error gives one line on standard error and exit code 2, never a traceback."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.conftest import SMALL, Cli, expect_one_line

COMMAND_LINES = [
    (["fly"], ["fly"]),
    (["--fly"], ["--fly"]),
    (["run"], ["SCENARIO"]),
    (["run", "quickstart", "another"], ["another"]),
    (["run", "quickstart", "--fly"], ["--fly"]),
    (["run", "nowhere.toml"], ["nowhere.toml", "no such file", "quickstart"]),
    (["run", "slow-start"], ["slow-start", "did you mean classics/slow-start?"]),
    (["run", "quickstrat"], ["quickstrat", "did you mean quickstart?"]),
    (["run", "xyz"], ["xyz", "quickstart", "crossfade list names all"]),
    (["run", "quickstart", "--runs", "0"], ["run.runs", "0"]),
    (["run", "quickstart", "--runs", "-3"], ["run.runs", "-3"]),
    (["run", "quickstart", "--runs", "many"], ["--runs", "many"]),
    (["run", "quickstart", "--precision", "abc"], ["run.precision", "abc"]),
    (["run", "quickstart", "--precision", "0%"], ["run.precision"]),
    (["run", "quickstart", "--precision", "1%", "--runs", "5"], ["run.precision", "run.runs"]),
    (["run", "quickstart", "--jobs", "-1"], ["jobs", "-1", "at least 1"]),
    (["run", "quickstart", "--jobs", "0"], ["jobs", "0", "at least 1"]),
    (["run", "quickstart", "--seed", "-1"], ["run.seed", "-1"]),
    (["run", "quickstart", "--seed", "x"], ["--seed", "x"]),
    (["run", "quickstart", "--seed", "9" * 40], ["run.seed", "whole number"]),
    (["run", "quickstart", "--jobs", "9" * 40], ["jobs", "999"]),
    (["run", "quickstart", "--runs", "9" * 10], ["run.runs", "999"]),
    (["run", "quickstart", "--set", "tcp.w_max"], ["--set", "tcp.w_max", "KEY=VALUE"]),
    (["run", "quickstart", "--set", "=3"], ["--set", "KEY=VALUE"]),
    (["run", "quickstart", "--set", "tcp.wmax=3"], ["tcp.wmax", "tcp.w_max"]),
    (["run", "quickstart", "--set", "tcp.w_max=0"], ["tcp.w_max", "0"]),
    (["run", "quickstart", "--set", "tcp.w_max=lots"], ["tcp.w_max", "lots"]),
    (["run", "quickstart", "--set", "tcp=3"], ["tcp = 3", "must be a table"]),
    (["run", "quickstart", "--over", "channel.p_e"], ["--over", "KEY=VALUE"]),
    (
        ["run", "quickstart", "--set", "tcp.w_max=10", "--set", "tcp.initial_window=20"],
        ["tcp.initial_window = 20: must be at most tcp.w_max = 10"],
    ),
    (["run", "quickstart", "--set", "link.rate=1e-300 bit/s"], ['link.rate = "1e-300 bit/s": too slow']),
    (["run", "quickstart", "--over", "channel.p_e=0:1"], ["channel.p_e"]),
    (["run", "quickstart", "--over", "channel.p_e=2"], ["channel.p_e", "2"]),
    (["run", "quickstart", "--over", "channel.p_e=[0.1,"], ["channel.p_e"]),
    (["run", "quickstart", "--over", "tcp.w_max=1:1000000:1"], ["tcp.w_max"]),
    (["run", "quickstart", "--method", "live"], ["tcp.variant", "method live", "the kernel has newreno"]),
    (["run", "quickstart", "--method", "analysis", "--set", "link.delay=1 ms"], ["link.delay", "assumes"]),
    (
        [
            "run",
            "quickstart",
            "--method",
            "analysis",
            "--set",
            "tcp.w_max=65",
            "--set",
            "tcp.rto.fixed=200 slots",
        ],
        ["tcp.w_max", "65", "at most 64"],
    ),
    (["run", "quickstart", "--method", "analysis", "--set", "tcp.rto.fixed=40 slots"], ["40", "at least 50"]),
    (["run", "quickstart", "--method", "magic"], ["magic", "simulation"]),
    (["run", "quickstart", "--json", "--csv", "-"], ["--json", "--csv"]),
    (["run", "quickstart", "--csv", "nowhere/x.csv"], ["nowhere/x.csv", "cannot be written"]),
    (["run", "quickstart", "--plot", "x.bmp"], ["x.bmp", ".png, .pdf or .svg"]),
    (["run", "quickstart", "--plot", "nowhere/x.png"], ["nowhere/x.png", "cannot be written"]),
    (["run", "quickstart", "--events", "nowhere/x.csv"], ["nowhere/x.csv", "cannot be written"]),
    (["run", "quickstart", "--events", "events.csv"], ["point"]),
    (["run", "quickstart", "--csv", "/"], ["cannot be written"]),
    (["check", "nowhere.toml"], ["nowhere.toml"]),
    (["check"], ["SCENARIO"]),
    (["explain"], ["KEY"]),
    (["explain", "tcp.wmax"], ["tcp.wmax", "tcp.w_max"]),
    (["verify"], ["DIR"]),
    (["verify", "nowhere"], ["nowhere", "no such folder"]),
    (["plot"], ["RESULTS"]),
    (["plot", "nowhere.csv"], ["nowhere.csv", "No such file"]),
    (["plot", "/"], ["/: cannot be read (a folder)"]),
    (["report", ""], [".: cannot be read (a folder)"]),
    (["export", "/"], ["/: cannot be read (a folder)"]),
    (["paper", "nobody"], ["nobody", "tcp-markov"]),
    (["paper", "tcp-markov", "fig99"], ["fig99", "fig6"]),
    (["paper", "tcp-markov", "fig2", "--over", "speed=3"], ["speed", "p_e"]),
    (["paper", "tcp-markov", "fig2", "--over", "p_e=2"], ["channel.p_e", "2"]),
    (["paper", "tcp-markov", "fig2", "--over", "channel=wet"], ["channel", "wet", "iid"]),
    (["paper", "tcp-markov", "fig2", "--over", "variant=vegas"], ["vegas"]),
    (["paper", "tcp-markov", "fig2", "--method", "live"], ["tcp.variant", "method live"]),
    (["paper", "tcp-markov", "fig2", "--runs", "0"], ["run.runs", "0"]),
    (["paper", "tcp-markov", "table1", "--over", "p_e=x"], ["p_e", "x"]),
    (["paper", "tcp-markov", "table1", "--over", "p_e=1.5"], ["p_e", "1.5"]),
    (["paper", "tcp-markov", "table1", "--over", "fd_t=-1"], ["fd_t", "-1"]),
    (["paper", "tcp-markov", "table1", "--set", "tcp.w_max=3"], ["tcp.w_max"]),
    (["paper", "tcp-markov", "--over", "p_e=0.1"], ["--over", "fig1"]),
    (["paper", "tcp-markov", "--plot", "x.png"], ["--plot", "fig1"]),
]


@pytest.mark.parametrize(("arguments", "parts"), COMMAND_LINES, ids=lambda value: " ".join(value))
def test_command_lines(
    cli: Cli, arguments: list[str], parts: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    expect_one_line(cli(*arguments), *parts)
    assert list(tmp_path.iterdir()) == []


SCENARIOS = [
    ("", ["schema"]),
    ("schema = 3\n", ["schema", "3"]),
    ("schema = 1\n[link\n", ["bad.toml:2"]),
    ("schema = 1\n", ["link.rate", "missing"]),
    (SMALL.replace("1.5 Mbit/s", "1.5 Mfoo/s"), ["link.rate", "1.5 Mfoo/s"]),
    (SMALL.replace("1400 B", "0 B"), ["link.packet_size"]),
    (SMALL.replace("rate =", "rat ="), ["link.rat", "did you mean link.rate"]),
    (SMALL.replace("p_e = 0.01", "p_e = 1.5"), ["channel.p_e", "1.5", "between 0 and 1"]),
    (SMALL.replace("p_e = 0.01", "p_e = nan"), ["channel.p_e"]),
    (
        SMALL.replace('"iid", p_e = 0.01', '"drop-list", drops = [3], p_e = 0.1'),
        ["channel.drops", "channel.p_e"],
    ),
    (SMALL.replace('"iid", p_e = 0.01', '"drop-list", drops = [3, 3]'), ["channel.drops"]),
    (
        SMALL.replace('"iid", p_e = 0.01', '"markov", p_e = 0.9, mean_burst = 1'),
        ["channel.p_e", "mean_burst"],
    ),
    (SMALL.replace('"iid", p_e = 0.01', '"markov", p_e = 0.1, fd_t = 0'), ["channel.fd_t"]),
    (SMALL.replace('"reno"', '"renault"'), ["tcp.variant", "renault", "reno"]),
    (SMALL.replace("2000 slots", "0 slots"), ["run.duration"]),
    (SMALL.replace('"2000 slots",', '"2000 slots", segments = 3,'), ["run.segments", "run.duration"]),
    (SMALL.replace("100 slots", "0.5 slots"), ["tcp.rto.fixed"]),
    (SMALL.replace("w_max = 24", "w_max = 24.5"), ["tcp.w_max", "24.5"]),
    (SMALL + "title = 3\n", ["bad.toml:7:1", "duplicate key"]),
    (SMALL.replace('"A small scenario"', "3"), ["title", "3"]),
    (SMALL + '[sweep]\n"channel.p_e" = []\n', ["channel.p_e"]),
    (SMALL + '[sweep]\n"channel.p_x" = [1]\n', ["channel.p_x", "channel.p_e"]),
    (SMALL + '[sweep]\n"channel.p_e" = "log:0:1:3"\n', ["channel.p_e"]),
    (SMALL + '[sweep]\n"tcp.variant" = ["reno"]\n"tcp" = [{ variant = "tahoe" }]\n', ["tcp"]),
]


@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize(("text", "parts"), SCENARIOS)
def test_scenarios(cli: Cli, tmp_path: Path, command: str, text: str, parts: list[str]) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    expect_one_line(cli(command, path), *parts)


@pytest.mark.parametrize("command", ["run", "check", "plot"])
@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"\xff\xfe\x00binary", "not a text file"),
        (b"\x00\x01", ""),
        (gzip.compress(b"x", mtime=0), "not a text file"),
    ],
)
def test_binary_files(cli: Cli, tmp_path: Path, command: str, content: bytes, part: str) -> None:
    path = tmp_path / "binary"
    path.write_bytes(content)
    expect_one_line(cli(command, path), part)


@pytest.mark.parametrize("command", ["run", "check", "plot"])
def test_a_folder_is_no_file(cli: Cli, tmp_path: Path, command: str) -> None:
    expect_one_line(cli(command, tmp_path), str(tmp_path), "cannot be read")


@pytest.mark.parametrize(
    ("text", "arguments", "parts"),
    [
        ("", [], ["no header line"]),
        ("p_e,goodput_bps\n", [], ["no rows"]),
        ("p_e,goodput_bps\n0.1\n", [], [":2:", "1 cells"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--x", "speed"], ["speed", "p_e"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--y", "speed"], ["speed", "p_e"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--by", "speed"], ["speed", "p_e"]),
        ("variant,goodput_bps\nreno,3\n", [], ["no axis with two values", "--x", "variant"]),
        ("variant,p_e,goodput_bps\na,1,3\nb,2,4\n", ["--y", "variant"], ["variant", "words"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--y", "godput_bps"], ["did you mean goodput_bps?"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--panels", "speed"], ["speed", "p_e"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--panels", "p_e", "--x", "p_e"], ["p_e", "panels"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--where", "speed=3"], ["speed", "p_e"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--where", "p_e=0.3"], ["p_e = 0.3", "0.1, 0.2"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--where", "p_e"], ["--where p_e", "KEY=VALUE"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--intervals", "stars"], ["stars", "bars, bands, none"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--width", "wide"], ["wide", "single, double", "40"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--width", "3"], ["width = 3", "40", "500"]),
        ("p_e,speed\n0.1,3\n0.2,4\n", [], ["--y", "speed"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--out", "nowhere/x.png"], ["nowhere/x.png"]),
        ("p_e,goodput_bps\n0.1,3\n0.2,4\n", ["--out", "x.txt"], ["x.txt", ".svg"]),
    ],
)
def test_tables_that_cannot_be_drawn(
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    arguments: list[str],
    parts: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text(text)
    expect_one_line(cli("plot", "table.csv", *arguments), *parts)
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_folders_that_hold_no_golden_traces(cli: Cli, tmp_path: Path) -> None:
    expect_one_line(cli("verify", tmp_path), "patterns.json")
    patterns = tmp_path / "patterns.json"
    patterns.write_text("{")
    (tmp_path / "sends_base_reno.csv").write_text("")
    expect_one_line(cli("verify", tmp_path), "patterns.json")
    patterns.write_text('{"npackets": 10, "index_base": 0, "patterns": [{"name": "a", "drops": []}]}')
    expect_one_line(cli("verify", tmp_path), "sends_base_reno.csv")
    (tmp_path / "sends_base_reno.csv").unlink()
    packed = tmp_path / "sends_base_reno.csv.gz"
    packed.write_bytes(gzip.compress(b"pattern,k,time,seq\n" * 100)[:-20])
    expect_one_line(cli("verify", tmp_path), "sends_base_reno.csv.gz", "damaged gzip")
    packed.write_bytes(b"not gzip")
    expect_one_line(cli("verify", tmp_path), "sends_base_reno.csv.gz", "damaged gzip")
    packed.write_bytes(gzip.compress(b"\xff\xff"))
    expect_one_line(cli("verify", tmp_path), "sends_base_reno.csv.gz", "not a text file")
