"""Real programs as users of a 5G NR cell: replays, simulated users beside them, waits for scheduling
requests.
"""

from __future__ import annotations

import csv
import math
import re
import struct
import sys
from pathlib import Path

import pytest

import crossfade as cf
from tests.cli.live_runs import live, need, need_live
from tests.conftest import Cli, long_form

NR = """\
schema = 2
run = { duration = "2 s", runs = 1 }
nr = { profile = "TDL-C", radio = { mean_snr_db = 22, speed = "3 km/h" }, KEYS }
link = { packet_size = "1500 B", queue = { limit = "1 MB" } }
tcp = { flavour = "rfc", variant = "sack", congestion = "cubic", w_max = 2000, rfc = { profile = "linux" } }
"""
UPLINK = 'uplink = { grants = "requested", sr_period = "20 ms" }'
PINGS = 25

ECHO = """\
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5001))
while True:
    data, back = s.recvfrom(2000)
    s.sendto(data, back)
"""
PING = f"""\
import os, socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5000))
s.settimeout(5.0)
begin = time.monotonic()
for number in range({PINGS}):
    time.sleep(max(0.0, begin + 0.101 * number - time.monotonic()))
    s.sendto(bytes(32), (os.environ["CROSSFADE_SERVER"], 5001))
    s.recvfrom(2000)
"""


@pytest.fixture(autouse=True)
def possible() -> None:
    need_live()


# In the usual form the next test replays a program's transfer.
@pytest.mark.parametrize(
    "keys", [long_form(UPLINK), long_form(UPLINK + ', rlc = { mode = "um" }'), long_form("layers = 4")]
)
def test_a_transfer_over_nr_is_replayed(keys: str, tmp_path: Path, cli: Cli) -> None:
    scenario, journal = tmp_path / "nr.toml", tmp_path / "rec.cfj"
    back = "" if "uplink" in keys else 'reverse = { rate = "20 Mbit/s", delay = "5 ms" }\n'
    scenario.write_text(NR.replace("KEYS", keys) + back)
    done = live(scenario, "--workload", "bulk", "--record", journal, timeout=180.0)
    assert done.returncode == 0, done.stderr
    replayed = cli("run", "--replay", journal)
    assert (replayed.code, replayed.err) == (0, "")
    counts = re.fullmatch(r"shared: ([\d,]+) packets, .*: identical\n", replayed.out)
    assert counts, replayed.out
    assert int(counts[1].replace(",", "")) > 200


def test_a_program_is_a_user_among_simulated_ones(tmp_path: Path, cli: Cli) -> None:
    need("curl")
    scenario, journal, events = tmp_path / "nr.toml", tmp_path / "rec.cfj", tmp_path / "links.csv"
    users = 'flows = { you = { traffic = "outside" }, others = { count = 4 } }\n'
    scenario.write_text(NR.replace("KEYS", UPLINK) + users)
    (tmp_path / "page").write_bytes(bytes(300_000))
    fetch = ["sh", "-c", f"curl -sf -o {tmp_path}/came $CROSSFADE_SERVER/page"]
    outputs: list[str | Path] = ["--record", journal, "--link-events", events]
    done = live(scenario, "--serve", tmp_path, *outputs, "--", *fetch, timeout=180.0)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "came").read_bytes() == bytes(300_000)
    with events.open() as file:
        users_seen = {row["user"] for row in csv.DictReader(file) if row["event"] == "frame"}
    assert users_seen == {"0", "1", "2", "3", "4"}
    replayed = cli("run", "--replay", journal)
    assert re.fullmatch(r"shared: .*: identical\n", replayed.out), replayed.out


def test_a_ping_waits_for_scheduling_requests_and_uplink_slots(tmp_path: Path, cli: Cli) -> None:
    scenario, near, events = tmp_path / "nr.toml", tmp_path / "near.pcap", tmp_path / "links.csv"
    text = NR.replace("KEYS", UPLINK + ', rlc = { mode = "um" }').replace("TDL-C", "awgn")
    scenario.write_text(text.replace(', speed = "3 km/h"', ""))
    (tmp_path / "echo.py").write_text(ECHO)
    (tmp_path / "ping.py").write_text(PING)
    far = f"{sys.executable} {tmp_path}/echo.py"
    outputs: list[str | Path] = ["--pcap", f"{near},{tmp_path / 'far.pcap'}", "--link-events", events]
    done = live(scenario, "--far", far, *outputs, "--", sys.executable, tmp_path / "ping.py", timeout=180.0)
    assert done.returncode == 0, done.stderr
    with events.open() as file:
        blocks = [float(row["time_s"]) for row in csv.DictReader(file) if row["event"] == "frame"]
    up, sent = blocks[::2], [at for at, port in packets(near) if port == 5001]
    assert len(up) == len(sent) == PINGS
    for at, block in zip(sent, up, strict=True):
        # DDDSU: the first uplink slot of each 20 ms begins at 2 ms. A request there takes 4 slots, its grant
        # is for a slot at least 4 later, and the next such uplink slot begins 5 ms after the request. Late
        # wake-ups only change when a ping is sent.
        occasion = math.ceil((at - 0.002) / 0.02) * 0.02 + 0.002
        assert block == pytest.approx(occasion + 0.005, abs=1e-9), at
    # Each ping waits one millisecond less than the previous one; the longest wait follows the shortest.
    waits = [1e3 * (block - at) for at, block in zip(sent, up, strict=True)]
    assert min(waits) < 10.0
    assert max(waits) > 20.0


DOWNLOAD = 'download = { traffic = "udp", rate = "60 Mbit/s", packet_size = "1500 B" }'
PROGRAM = 'traffic = "outside", beside = "download"'


@pytest.mark.parametrize(
    ("flows", "waits"),
    [
        long_form(f"me = {{ {PROGRAM}, five_qi = 1 }}", False),
        (f"me = {{ {PROGRAM}, bearer = {{ shared = true }} }}", True),
        (
            f"me = {{ {PROGRAM}, bearer = {{ shared = true }} }}\n"
            f"voice = {{ {PROGRAM}, five_qi = 1, ports = [5001] }}",
            False,
        ),
    ],
)
def test_a_program_has_a_bearer_beside_a_simulated_download(
    flows: str, waits: bool, tmp_path: Path, cli: Cli
) -> None:
    scenario, journal, events = tmp_path / "nr.toml", tmp_path / "rec.cfj", tmp_path / "links.csv"
    text = NR.replace("KEYS", 'uplink = { grants = "proactive" }, bandwidth = "10 MHz"')
    scenario.write_text(f"{text}\n[flows]\n{DOWNLOAD}\n{flows}\n")
    pings = 13
    (tmp_path / "echo.py").write_text(ECHO)
    (tmp_path / "ping.py").write_text(PING.replace(f"range({PINGS})", f"range({pings})"))
    outputs: list[str | Path] = ["--record", journal, "--link-events", events]
    far = f"{sys.executable} {tmp_path}/echo.py"
    done = live(scenario, "--far", far, *outputs, "--", sys.executable, tmp_path / "ping.py", timeout=180.0)
    assert done.returncode == 0, done.stderr
    with events.open() as file:
        rows = [row for row in csv.DictReader(file) if row["event"] == "delay" and row["bytes"] == "60"]
    queued = [float(row["delay_queue_s"]) for row in rows]
    assert len(queued) == 2 * pings
    # The download overflows its queue of 1 MB, which delays packets by more than 100 ms. The uplink has no
    # other traffic.
    late = [delay for delay in queued if delay > 0.1]
    assert pings - 5 <= len(late) <= pings if waits else max(queued) == 0.0
    replayed = cli("run", "--replay", journal)
    assert re.fullmatch(r"shared: .*: identical\n", replayed.out), replayed.out


def test_transfers_of_method_live_go_over_the_bearers_of_their_flows(tmp_path: Path) -> None:
    scenario = tmp_path / "nr.toml"
    text = NR.replace("KEYS", 'uplink = { grants = "proactive" }, bandwidth = "10 MHz"')
    bearers = """
[flows]
behind = { bearer = { priority = 9, prioritised_rate = "8 kB/s" } }
first = { beside = "behind", bearer = { priority = 1, prioritised_rate = "1024 kB/s" } }
"""
    scenario.write_text(text.replace("TDL-C", "awgn").replace(', speed = "3 km/h"', "") + bearers)
    keys = {"run.duration": "4 s", "run.warmup": "1 s"}
    simulated, measured = cf.run(str(scenario), methods=["simulation", "live"], set=keys, cache=False).points
    # In a full cell the prioritised bearer leaves the other only its prioritised rate, 8 kB/s.
    assert 40e3 < simulated.value("behind.ip_goodput_bps") <= 8 * 8e3 * 1.02
    # The kernel sometimes lets its queue run empty, which leaves a little more; on a shared bearer each flow
    # would get half.
    assert 40e3 < measured.value("behind.ip_goodput_bps") < 0.05 * measured.value("first.ip_goodput_bps")
    for point in (simulated, measured):
        waits = [point.value(f"{flow}.bearer_delay_queue_mean_s") for flow in ("behind", "first")]
        assert waits[0] > 3 * waits[1]
    assert measured.value("first.goodput_bps") == pytest.approx(simulated.value("first.goodput_bps"), rel=0.1)


def packets(capture: Path) -> list[tuple[float, int]]:
    """Times of UDP packets in a capture, in seconds, each with its destination port."""
    data = capture.read_bytes()
    found, place = [], 24
    while place < len(data):
        seconds, nanos, length, _ = struct.unpack_from("=IIII", data, place)
        packet = data[place + 16 : place + 16 + length]
        if packet[9] == 17:
            (port,) = struct.unpack_from(">H", packet, 4 * (packet[0] & 15) + 2)
            found.append((seconds + nanos / 1e9, port))
        place += 16 + length
    return found
