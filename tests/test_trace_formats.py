"""Recordings in the formats of other tools: recognised by content, summarised, converted, never
overwritten.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crossfade as cf
from crossfade.errors import OutputError, TraceError
from crossfade.fitting import traces
from tests.conftest import Cli, long_form
from tests.later import pandas as pd
from tests.test_memory import PEAK

CAPACITY = "5\n5\n10\n30\n"
DELAYS = "20\n21\n19\n"
TABLE = "KEEP,LATENCY,RATE,LOSS,LIMIT\n100000,20000000,2000000,0,100\n300000,40000000,1000000,42949673,50\n"
EXAMPLES = {
    "mahimahi": CAPACITY,
    "leoreplayer": DELAYS,
    "cellreplay-light": "0 25 0 1 1 4\n500 31 0\n1000 22 0 2\n",
    "theaterq": TABLE,
    "rates": "time_s,rate_bps,delay_s,loss\n0,2000000,0.02,0\n5,0,0.04,0.01\n",
    "delays": "# period_s 15\ntime_s,delay_s\n0,0.029\n0.05,0.009\n",
    "netem-trace": """{"RepeatedBwPatternConfig": {"pattern": [
  {"StaticBwConfig": {"bw": "12000000bps", "duration": "1s"}},
  {"StaticBwConfig": {"bw": "0bps", "duration": "250ms"}}
], "count": 0}}
""",
    "netem-trace-toml": """[RepeatedDelayPatternConfig]
count = 1

[[RepeatedDelayPatternConfig.pattern]]
[RepeatedDelayPatternConfig.pattern.StaticDelayConfig]
delay = "10ms"
duration = "1s"
""",
    "tc-netem": """#!/bin/sh
# Each state of the link in its turn: DEV=eth0 sh FILE
DEV=${DEV:-eth0}
tc qdisc replace dev "$DEV" root netem limit 1000 delay 40ms 5ms loss 1% rate 20000000bit
sleep 0.1
tc qdisc replace dev "$DEV" root netem limit 100 delay 40ms rate 10000000bit
""",
    "ibox": """{"link_type": "cellular", "config": {
"uplink": {"bottleneck_bandwidth": 6792, "buffer_size_bytes": 11961, "buffer_size_packets": 7,
           "propagation_delay": 24, "cross_traffic_pattern": [5582, 4629]},
"downlink": {"bottleneck_bandwidth": 100000, "buffer_size_bytes": 15000000, "buffer_size_packets": 10000,
             "propagation_delay": 0, "cross_traffic_pattern": []}}}
""",
    "quic-interop": "simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25\n",
    "picoquic-ns": "main_cc_algo: bbr\ndata_rate_in_gbps: 0.02\nlatency: 40000\nqueue_delay_max: 30000\n",
    "pantheon-tunnel": "# init timestamp: 1500000000000.250\n0.000 + 1500 1\n30.500 - 1500 30.500 1\n",
}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("format", EXAMPLES)
def test_a_file_is_known_by_its_content_and_comes_back_as_it_was(tmp_path: Path, format: str) -> None:
    # The file name suggests another format.
    path = written(tmp_path, "network.json", EXAMPLES[format])
    found = cf.fit.trace(path)
    assert [file.format for file in found.files] == [format]
    if not next(row["written"] for row in traces.formats() if row["name"] == format):
        with pytest.raises(TraceError, match="is read, not written"):
            found.convert(format, tmp_path / "again")
        return
    assert found.losses(format) == []
    (again,) = found.convert(format, tmp_path / "again")
    assert again.read_text() == EXAMPLES[format]
    assert cf.fit.trace(again).frame().drop(columns="file").equals(found.frame().drop(columns="file"))


def test_a_packed_file_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "cell.up.gz"
    path.write_bytes(gzip.compress(CAPACITY.encode()))
    assert cf.fit.trace(path).files[0].format == "mahimahi"
    path.write_bytes(gzip.compress(CAPACITY.encode())[:-4])
    with pytest.raises(TraceError, match="damaged gzip file"):
        cf.fit.trace(path)


def test_the_summary_is_what_counting_says(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    millis = np.sort(rng.integers(1, 60_000, 20_000))
    millis[-1] = 60_000
    path = written(tmp_path, "cell.up", "".join(f"{at}\n" for at in millis))
    (row,) = cf.fit.trace(path).summary()
    windows = np.bincount((millis - 1) // 100, minlength=600) * 12_000 / 0.1
    assert (row["facts"], row["lasts_s"], row["at_end"], row["clock_s"]) == (20_000, 60.0, "loop", 1e-3)
    assert row["rate_bps"]["mean"] == pytest.approx(20_000 * 12_000 / 60)
    assert row["rate_bps"]["max"] == pytest.approx(windows.max())
    for share, name in ((5, "p5"), (50, "p50"), (95, "p95")):
        assert row["rate_bps"][name] == pytest.approx(np.percentile(windows, share, method="inverted_cdf"))
    frame = cf.fit.trace(path).frame()
    assert isinstance(frame, pd.DataFrame)
    assert (frame["time_s"] * 1e3).round().astype(int).tolist() == millis.tolist()
    assert set(frame["bytes"]) == {1500}


def test_both_ways_in_a_file(tmp_path: Path, cli: Cli) -> None:
    found = cf.fit.trace(written(tmp_path, "t", EXAMPLES["ibox"]))
    assert list(found.ways) == ["up", "down"]
    up, down = found.summary()
    assert (up["direction"], up["queue_bytes"]) == ("up", [11961, 11961])
    assert up["rate_bps"]["mean"] == pytest.approx(6.792e6)
    assert (down["direction"], down["delay_s"]["mean"], up["also"]) == ("down", 0.0, ["cross_traffic_bps"])
    assert up["notes"] == {"link_type": "cellular"}
    frame = found.frame()
    assert frame.loc[frame["direction"] == "up", "cross_traffic_bps"].tolist()[:2] == [5.582e6, 4.629e6]
    with pytest.raises(TraceError, match="direction: must be one of up, down"):
        found.convert("rates", tmp_path / "out")
    found.convert("rates", tmp_path / "out", direction="up", lossy=True)
    assert (tmp_path / "out").read_text().splitlines()[1] == "0,6792000,0.024,0"
    # The logs of both ends of a tunnel are one direction, and so are packets with their capacity.
    sent = written(tmp_path, "e", "# 'x' egress: 1000.250\n0.500 - 0 - 1500\n1.500 - 1 - 1500\n")
    arrived = written(tmp_path, "i", "# 'x' ingress: 1000.000\n31.500 - 0 - 1500\n")
    assert list(cf.fit.trace(sent, arrived).ways) == ["both"]
    assert "end: ingress" in cli("trace", arrived).out


def test_the_two_ends_of_a_tunnel_are_joined_by_packet(tmp_path: Path, cli: Cli) -> None:
    # The receiving end starts 250 ms earlier. Packet 1 is lost, and packet 3 arrives before packet 2.
    sent = written(
        tmp_path,
        "e",
        "# 'x' egress: 1000.250\n0.500 - 0 - 1500\n1.500 - 1 - 1400\n2 - 2 - 1500\n3 - 3 - 52\n",
    )
    arrived = written(
        tmp_path, "i", "# 'x' ingress: 1000.000\n31.500 - 0 - 1500\n34 - 3 - 52\n35.250 - 2 - 1500\n"
    )
    found = cf.fit.trace(sent, arrived)
    packets = found.packets()
    assert packets["direction"].tolist() == ["both"] * 4
    assert packets["id"].tolist() == [0, 1, 2, 3]
    assert packets["bytes"].tolist() == [1500, 1400, 1500, 52]
    expected = [0.03075, np.nan, 0.033, 0.03075]
    assert packets["delay_s"].to_numpy() == pytest.approx(expected, nan_ok=True)
    row = next(row for row in found.summary() if row["file"] == str(arrived))
    assert (row["loss"]["mean"], row["delay_s"]["mean"]) == (0.25, pytest.approx(0.0315))
    assert "loss" in cli("trace", sent, arrived).out
    # Logs of both directions, uplink first.
    ways = cf.fit.trace(sent, arrived, sent, arrived).packets()["direction"]
    assert ways.tolist() == ["up"] * 4 + ["down"] * 4
    with pytest.raises(TraceError, match="packets: needs the logs of both ends of a way"):
        cf.fit.trace(sent).packets()
    foreign = written(tmp_path, "f", "# 'x' ingress: 1000.000\n31.500 - 9 - 1500\n")
    with pytest.raises(TraceError, match=r"f: packet 9 arrived, but .*e does not say that it was sent"):
        cf.fit.trace(sent, foreign).packets()
    twice = written(tmp_path, "t", "# 'x' ingress: 1000.000\n31.500 - 0 - 1500\n32 - 0 - 1500\n")
    with pytest.raises(TraceError, match="t: packet 0 is there twice"):
        cf.fit.trace(sent, twice).packets()


def test_rates_without_structure_are_one_line_each(tmp_path: Path, cli: Cli) -> None:
    out = cli("trace", written(tmp_path, "t", "delay 40ms loss 1% rate 20mbit limit 100")).out
    assert "states of tc qdisc ... netem (tc-netem), constant" in out
    path = written(tmp_path, "p", EXAMPLES["picoquic-ns"])
    (row,) = cf.fit.trace(path).summary()
    assert row["rate_bps"]["mean"] == pytest.approx(0.02e9 / 1.024**2)
    assert row["queue_s"] == [0.03, 0.03]


def test_parts_of_a_way_and_both_ways(tmp_path: Path) -> None:
    capacity, delays = written(tmp_path, "bw", CAPACITY), written(tmp_path, "delay", DELAYS)
    one = cf.fit.trace(capacity, delays)
    assert {way: len(files) for way, files in one.ways.items()} == {"both": 2}
    both = cf.fit.trace(capacity, delays, capacity, delays)
    assert {way: len(files) for way, files in both.ways.items()} == {"up": 2, "down": 2}
    assert [row["direction"] for row in both.summary()] == ["up", "up", "down", "down"]
    with pytest.raises(TraceError, match=r"bw: says what files before it say of both ways"):
        cf.fit.trace(capacity, capacity, capacity)
    with pytest.raises(TraceError, match="direction: must be one of up, down, none is given"):
        both.convert("mahimahi", tmp_path / "out")
    paths = both.convert("leoreplayer", tmp_path / "again.txt", direction="down")
    assert [path.name for path in paths] == ["again.bw.txt", "again.delay.txt"]
    assert [path.read_text() for path in paths] == [CAPACITY, DELAYS]


def test_a_lossy_conversion_must_be_asked_for(tmp_path: Path) -> None:
    found = cf.fit.trace(written(tmp_path, "t", TABLE))
    out = tmp_path / "out"
    with pytest.raises(TraceError, match="to rates: would lose queue limits"):
        found.convert("rates", out)
    assert not out.exists()
    found.convert("rates", out, lossy=True)
    expected = "time_s,rate_bps,delay_s,loss\n0,2000000,0.02,0\n0.1,1000000,0.04,0.01"
    assert out.read_text().startswith(expected)
    with pytest.raises(OutputError, match="not written over"):
        found.convert("rates", out, lossy=True)
    with pytest.raises(TraceError, match='"no-format": must be one of mahimahi, '):
        found.convert("no-format", tmp_path / "other")


def test_the_command_says_what_a_file_is(cli: Cli, tmp_path: Path) -> None:
    path = written(tmp_path, "t", TABLE)
    outcome = cli("trace", path, "--plot", tmp_path / "t.png")
    assert outcome.code == 0
    assert "table of TheaterQ (theaterq), 0.4 s, what follows is not said" in outcome.out
    assert "queue of 50 to 100 packets; delays in steps of 20 ms" in outcome.out
    assert (tmp_path / "t.png").stat().st_size > 5000
    assert json.loads(cli("trace", path, "--json").out)[0]["delay_s"]["mean"] == pytest.approx(0.035)
    refused = cli("trace", path, "--to", "delays", "--out", tmp_path / "d.csv")
    assert (refused.code, refused.out) == (2, "")
    lost = "losses; queue limits; rates"
    assert refused.err == f"error: to delays: would lose {lost} (lossy conversions must be asked for)\n"
    done = cli("trace", path, "--to", "delays", "--out", tmp_path / "d.csv", "--lossy")
    assert done.code == 0
    assert done.err == f"wrote {tmp_path / 'd.csv'}\nlost: {lost}\n"
    assert (tmp_path / "d.csv").read_text() == "time_s,delay_s\n0,0.02\n0.1,0.04\n"
    assert cli("trace", path, "--to", "delays").err == "error: --to and --out: one needs the other\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("5\nx\n", 'line 2: "x": must be a time in whole milliseconds'),
        ("", "the file is empty: it is no trace"),
        ("hello\n", 'line 1: "hello": begins no format that is known'),
        ("1,2,3,4,5\n1,2,3\n", 'line 2: "1,2,3": must have 5, 9 or 10 columns'),
    ],
)
def test_a_wrong_file_is_one_line(cli: Cli, tmp_path: Path, text: str, line: str) -> None:
    path = written(tmp_path, "t", text)
    outcome = cli("trace", path)
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"error: {path}: {line}\n")


def test_what_is_no_file_is_refused(cli: Cli, tmp_path: Path) -> None:
    assert "cannot be read (No such file" in cli("trace", tmp_path / "none").err
    assert "cannot be read (" in cli("trace", tmp_path).err
    assert "a pipe or a device" in cli("trace", "/dev/null").err


@given(st.binary(max_size=300))
def test_no_bytes_are_a_bug(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "file"
    path.write_bytes(data)
    with suppress(TraceError):
        found = cf.fit.trace(path)
        assert len(found.frame()) == sum(row["facts"] for row in found.summary())


def line_of(format: str, number: int) -> str:
    """A line of a long file in this format."""
    if format == "mahimahi":
        return f"{number // 3}\n"
    if format == "leoreplayer":
        return f"{20 + number % 7}.125\n"
    if format == "cellreplay-light":
        return f"{50 * number} {20 + number % 9} 0 0 1 1 2 3\n"
    if format == "rates":
        return f"{number / 100:.2f},{1_000_000 + number % 1000},0.02,0.001\n"
    if format == "netem-trace":
        head = "" if number else '{"RepeatedDelayPatternConfig": {"pattern": [\n'
        row = f'{{"StaticDelayConfig": {{"delay": "{20 + number % 7}ms", "duration": "10ms"}}}}'
        return f"{head}{',' if number else ''}{row}\n"
    if format == "tc-netem":
        return f"tc qdisc replace dev a root netem delay {20 + number % 7}ms rate 1mbit\nsleep 0.01\n"
    if format == "pantheon-tunnel":
        return f"{number / 10:.3f} {'+ 1500' if number % 2 else '- 1500 30.5'} 1\n"
    if format == "delays":
        return f"{number / 100:.2f},0.0{number % 90 + 10}\n"
    return f"10000,{20_000_000 + number % 1000},{5_000_000 + number % 77},0,100\n"


# Size of long files in bytes (100 MB with CROSSFADE_LONG), and what a reader may take beside its windows: one
# that holds a file, or its numbers, takes more.
SIZE, SLACK = (100_000_000, 20e6) if os.environ.get("CROSSFADE_LONG") else (6_000_000, 3e6)


def write_long(folder: Path, format: str) -> int:
    """Write a long file in this format, and a short one; gives the size of the long one in bytes."""
    folder.mkdir()
    end = '], "count": 1}}' if format == "netem-trace" else ""
    (folder / "short").write_text("".join(line_of(format, number) for number in range(100)) + end)
    number = size = 0
    with (folder / "long").open("w") as file:
        while size < SIZE:
            # Lines without a time come again; the first block may begin with a head.
            if number < 40_000 or format not in ("leoreplayer", "theaterq", "netem-trace", "tc-netem"):
                block = "".join(line_of(format, number + i) for i in range(20_000))
            size, number = size + file.write(block), number + 20_000
        file.write(end)
    return size


# Formats with long files: not those of one state, nor TOML, which is read as a whole.
LONG = [
    format for format in EXAMPLES if format not in ("netem-trace-toml", "ibox", "quic-interop", "picoquic-ns")
]
# Delays of LeoReplayer are steps as those of TheaterQ, and rates are read by the reader of delays.
DISTINCT = [format for format in LONG if format not in ("leoreplayer", "rates")]

# Program that reads and writes each format in a process forked from one that has read nothing.
MEASURED = f"""
import os, sys
import crossfade as cf
from pathlib import Path
{PEAK}
def read(path, to):
    found = cf.fit.trace(path)
    if to != "none":
        found.convert(to, path.with_name("of " + path.name), lossy=True)
    return found.files[0]
for line in iter(sys.stdin.readline, ""):
    to, folder = line.split(maxsplit=1)
    if os.fork() == 0:
        folder = Path(folder.strip())
        read(folder / "short", to)
        before = used()
        file = read(folder / "long", to)
        print(used() - before, file.format, file.lasts_s, flush=True)
        os._exit(0)
    if os.wait()[1]:
        sys.exit(1)
"""


@pytest.mark.parametrize("formats", [DISTINCT, long_form(LONG)], ids=["distinct", "all"])
def test_a_long_file_takes_no_memory_of_its_size(tmp_path: Path, formats: list[str]) -> None:
    is_written = {row["name"]: row["written"] for row in traces.formats()}
    command = [sys.executable, "-c", MEASURED]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as reader:
        assert reader.stdin
        assert reader.stdout
        assert reader.stderr
        for format in formats:
            size = write_long(tmp_path / format, format)
            to = format if is_written[format] else "delays" if format == "cellreplay-light" else "none"
            reader.stdin.write(f"{to} {tmp_path / format}\n")
            reader.stdin.flush()
            if not (line := reader.stdout.readline()):
                pytest.fail(f"{format}: {reader.stderr.read()}")
            taken, name, lasts_s = line.split()
            assert name == format
            # Memory for a chunk of 64 KiB, and 16 bytes per tenth of a second for rate, delay and loss each,
            # three times that while a vector doubles. There are at most 2^20 windows.
            windows = min(float(lasts_s) / 0.1, 2**20)
            print(f"{format}: {int(taken) / 1e6:.1f} MB for a file of {size / 1e6:.0f} MB")
            assert int(taken) < SLACK + 3 * 48 * windows, format
            shutil.rmtree(tmp_path / format)
