"""Files that a scenario names: found beside it, known by what is in them."""

from __future__ import annotations

import gzip
import sqlite3
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.results.cache import cache_path
from tests.conftest import Cli

LINK = """
schema = 1
run = { duration = "2 s", runs = 1 }
channel = { model = "none" }
tcp = { flavour = "rfc", variant = "sack", w_max = 50 }
[link]
packet_size = "1500 B"
queue = { limit = "50 packets" }
trace = { opportunities = "traces/cell.up" }
"""
LOSSES = """
schema = 1
run = { duration = "2000 slots", runs = 1 }
channel = { model = "trace", file = "losses.txt.gz" }
link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
"""


WHERE = ("here", "there")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a scenario and the traces that it names."""
    folder = tmp_path / "study"
    (folder / "traces").mkdir(parents=True)
    (folder / "cell.toml").write_text(LINK)
    (folder / "traces" / "cell.up").write_text("4\n")
    (folder / "losses.toml").write_text(LOSSES)
    (folder / "losses.txt.gz").write_bytes(gzip.compress(b"0000000001" * 300))
    return folder


def value(scenario: str | Path, metric: str) -> float:
    """A metric of the only point of a scenario."""
    (point,) = cf.run(scenario).points
    return point.value(metric)


def test_a_file_lies_beside_the_scenario_wherever_one_stands(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goodput = value(folder / "cell.toml", "link_goodput_bps")
    # 1500 bytes every 4 ms, but for the first round trips.
    assert 0.95 * 3e6 < goodput <= 3e6
    monkeypatch.chdir(folder)
    assert value("cell.toml", "link_goodput_bps") == goodput
    # So is a file that was set where one stands, and the folder of a scenario without a file.
    (folder / "here.up").write_text("2\n")
    monkeypatch.chdir(folder.parent)
    (folder.parent / "there.up").write_text("2\n")
    faster = [cf.run(folder / "cell.toml", set={"link.trace.opportunities": f"{name}.up"}) for name in WHERE]
    assert faster[0].to_csv() == faster[1].to_csv()
    monkeypatch.chdir(folder)
    assert value(LINK, "link_goodput_bps") == goodput
    assert value("losses.toml", "frame_error_rate") == pytest.approx(0.1, abs=0.02)


def test_what_is_in_a_file_decides_what_is_run_again(folder: Path) -> None:
    def rows_after(name: str) -> int:
        cf.run(folder / name)
        path = cache_path()
        assert path is not None
        with sqlite3.connect(path) as database:
            (count,) = database.execute("SELECT count(*) FROM rows").fetchone()
        database.close()
        return int(count)

    assert rows_after("cell.toml") == 1
    (folder / "traces" / "cell.up").rename(folder / "traces" / "moved.up")
    (folder / "moved.toml").write_text(LINK.replace("cell.up", "moved.up"))
    assert rows_after("moved.toml") == 1
    (folder / "traces" / "moved.up").write_text("5\n")
    assert rows_after("moved.toml") == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, "traces/cell.up: cannot be read (No such file or directory)"),
        ("4\nfour\n", 'line 2: "four": must be a time in whole milliseconds'),
        ("9\n4\n", "line 2: 4: must be at least 9, the time before it"),
        ("", "the trace is empty: it must have at least one opportunity"),
    ],
)
def test_a_wrong_file_is_one_line(cli: Cli, folder: Path, text: str | None, line: str) -> None:
    path = folder / "traces" / "cell.up"
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    outcome = cli("run", folder / "cell.toml")
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith('error: link.trace.opportunities = "traces/cell.up": ')
    assert outcome.err.endswith(f"{line}\n")
    assert outcome.err.count("\n") == 1


def test_a_sweep_may_go_over_files(folder: Path) -> None:
    (folder / "traces" / "fast.up").write_text("2\n")
    names = ["traces/cell.up", "traces/fast.up"]
    results = cf.run(folder / "cell.toml", over={"link.trace.opportunities": names})
    slow, fast = (point.value("link_goodput_bps") for point in results.points)
    assert fast == pytest.approx(2 * slow, rel=0.1)


def test_the_satellite_comes_with_its_rain() -> None:
    over = {"link.trace.budget.margin_db": [0.5, 3], "tcp.variant": ["cubic"]}
    careless, careful = cf.run("satellite-modcod", over=over, runs=1).points
    assert careless.value("goodput_bps") > 1.1 * careful.value("goodput_bps") > 5e6
