"""Files that a scenario names: looked for in its folder, and recognised by their content."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import crossfade as cf
from crossfade import plans
from crossfade.plans.options import Options
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
    """Folder with a scenario and the traces that it names."""
    folder = tmp_path / "study"
    (folder / "traces").mkdir(parents=True)
    (folder / "cell.toml").write_text(LINK)
    (folder / "traces" / "cell.up").write_text("4\n")
    (folder / "losses.toml").write_text(LOSSES)
    (folder / "losses.txt.gz").write_bytes(gzip.compress(b"0000000001" * 300))
    return folder


def value(scenario: str | Path, metric: str) -> float:
    """Value of a metric at the only point of a scenario."""
    (point,) = cf.run(scenario).points
    return point.value(metric)


def test_a_file_lies_beside_the_scenario_wherever_one_stands(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goodput = value(folder / "cell.toml", "link_goodput_bps")
    # 1500 bytes every 4 ms, except in the first round trips.
    assert 0.95 * 3e6 < goodput <= 3e6
    monkeypatch.chdir(folder)
    assert value("cell.toml", "link_goodput_bps") == goodput
    # A file set on the command line, or by a scenario without a file, is found in the working folder.
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


THEATERQ = "KEEP,LATENCY,RATE,LOSS,LIMIT\n500000,5000000,6000000,0,100\n500000,5000000,3000000,0,100\n"
PATTERN = """{"RepeatedBwPatternConfig": {"count": 0, "pattern": [
    {"StaticBwConfig": {"bw": "8Mbps", "duration": "100ms"}},
    {"StaticBwConfig": {"bw": "2Mbps", "duration": "100ms"}}
]}}"""
# Flows that keep the link fully used.
LOAD = {"flows": {"load": {"traffic": "udp", "rate": "20 Mbit/s"}}}


def goodput(folder: Path, trace: Mapping[str, object], duration: str = "2 s") -> float:
    """Delivered rate in bit/s of an overloaded link with this trace."""
    instead = {"opportunities": None} if "rates" in trace else {}
    changes = {"link.trace": {**instead, **trace}, "run.duration": duration, "tcp": None, **LOAD}
    (point,) = cf.run(folder / "cell.toml", set=changes, cache=False).points
    return point.value("link_goodput_bps")


@pytest.mark.parametrize(
    ("end", "expected"),
    [({}, 3.75e6), ({"at_end": "hold"}, 3.75e6), ({"at_end": "loop"}, 4.5e6), ({"at_end": "end"}, 2.25e6)],
)
def test_a_table_of_another_tool_is_followed_to_its_end_and_beyond(
    folder: Path, end: dict[str, object], expected: float
) -> None:
    (folder / "link.csv").write_text(THEATERQ)
    # Half a second at 6 Mbit/s, half a second at 3, and a second after the end of the trace.
    assert goodput(folder, {"rates": "link.csv", **end}) == pytest.approx(expected, rel=0.01)


def test_opportunities_may_end(folder: Path) -> None:
    opportunities = {"opportunities": "traces/cell.up"}
    (folder / "traces" / "cell.up").write_text("".join(f"{at}\n" for at in range(4, 1001, 4)))
    assert goodput(folder, opportunities) == pytest.approx(3e6, rel=0.01)
    assert goodput(folder, {**opportunities, "at_end": "end"}) == pytest.approx(1.5e6, rel=0.01)
    with pytest.raises(cf.errors.ScenarioError, match=r'link.trace.at_end = "hold": must be loop or end'):
        goodput(folder, {**opportunities, "at_end": "hold"})


@pytest.mark.parametrize(
    ("text", "trace", "expected"),
    [
        ("rate 5mbit delay 5ms", {}, 5e6),
        ("simple-p2p --delay=5ms --bandwidth=5Mbps --queue=25", {}, 5e6),
        ("data_rate_in_gbps: 0.005\nlatency: 5000\n", {}, 5e6 / 1.024**2),
        (PATTERN, {}, 5e6),
        (
            "drop-rate --delay=5ms --bandwidth=5Mbps --queue=25 --rate_to_client=20 --rate_to_server=0",
            {"direction": "down"},
            4e6,
        ),
    ],
)
def test_any_format_with_rates_is_followed(
    folder: Path, text: str, trace: dict[str, object], expected: float
) -> None:
    (folder / "any").write_text(text)
    assert goodput(folder, {"rates": "any", **trace}, "20 s") == pytest.approx(expected, rel=0.02)


def test_what_a_file_lacks_is_one_line(cli: Cli, folder: Path) -> None:
    def line(**trace: str) -> str:
        own = folder / "own.toml"
        keys = ", ".join(f'{key} = "{value}"' for key, value in trace.items())
        own.write_text((folder / "cell.toml").read_text().replace('opportunities = "traces/cell.up"', keys))
        outcome = cli("check", own)
        assert outcome.code == 2
        return outcome.err.removeprefix("error: ")

    ways = "--rate_to_client=1 --rate_to_server=0"
    (folder / "any").write_text(f"drop-rate --delay=5ms --bandwidth=5Mbps --queue=25 {ways}")
    assert line(rates="any") == 'link.trace.rates = "any": it says both ways: direction must be up or down\n'
    assert line(rates="traces/cell.up").startswith(
        'link.trace.rates = "traces/cell.up": must hold rates: it is of format mahimahi'
    )
    (folder / "own.csv").write_text("0,1e6,0.01,0\n1,2e6,0.01,0\n")
    needs = "needs period: the table does not say how long its last row lasts"
    assert line(rates="own.csv", at_end="loop") == f'link.trace.at_end = "loop": {needs}\n'
    assert line(rates="own.csv", at_end="hold", period="5 s").startswith(
        "link.trace.period contradicts link.trace.at_end: "
    )


def test_ways_to_say_the_same_are_one_run(folder: Path) -> None:
    (folder / "link.csv").write_text(THEATERQ)
    keys = [
        plans.load(
            folder / "cell.toml",
            Options(set={"link.trace": {"opportunities": None, "rates": "link.csv", **end}}),
        ).core.keys()
        for end in ({}, {"at_end": "hold"}, {"at_end": "loop"})
    ]
    assert keys[0] == keys[1] != keys[2]


def test_what_is_not_followed_is_warned_of(folder: Path) -> None:
    (folder / "link.csv").write_text(THEATERQ)
    check = cf.check(folder / "cell.toml", set={"link.trace": {"opportunities": None, "rates": "link.csv"}})
    assert "link.trace.rates says also what the link does not follow: queue limits" in check.warnings


def test_delays_of_another_tool_stand_beside_a_capacity(folder: Path) -> None:
    (folder / "delay.txt").write_text("30\n" * 100 + "31\n")
    trace = {"opportunities": "traces/cell.up", "delays": "delay.txt"}
    changes = {"link.trace": trace, "tcp": None, "flows": {"load": {"traffic": "udp", "rate": "1 Mbit/s"}}}
    (point,) = cf.run(folder / "cell.toml", set=changes, cache=False).points
    assert point.value("one_way_delay_mean_s") == pytest.approx(0.032, abs=0.003)


def test_a_figure_of_a_recording_has_megabits_and_milliseconds(tmp_path: Path) -> None:
    """Axes have readable units: 12 Mbit/s and 30 ms, later 6 Mbit/s and 45 ms, not 1.2e7 and 0.03."""
    table = tmp_path / "link.csv"
    table.write_text("time_s,rate_bps,delay_s,loss\n0,12e6,0.03,0\n5,6e6,0.045,0\n9,6e6,0.045,0\n")
    rate, delay = cf.fit.trace(table).plot().axes[:2]
    assert (rate.get_ylabel(), delay.get_ylabel()) == ("Capacity (Mbit/s)", "Delay (ms)")
    for axes, least, most in ((rate, 6.0, 12.0), (delay, 30.0, 45.0)):
        (line,) = axes.lines
        drawn = np.asarray(line.get_ydata(), float)
        assert (drawn.min(), drawn.max()) == pytest.approx((least, most))
