"""Live runs over Wi-Fi: a packet capture of the frames in the air that carried real packets."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.live_runs import live, need_live
from tests.conftest import Cli
from tests.test_pcap import needs_tshark
from tests.test_wlan_air import BA, CTS, QOS_DATA, TRIGGER, frames_of

HOME = """\
schema = 2
run = { duration = "1 s", warmup = "0 s", runs = 1 }
link = { packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "cubic", w_max = 200, rfc = { profile = "linux" } }
[wlan]
mcs = 4
streams = 1
width = "20 MHz"
mpdu_error_rate = 0.1
"""
# A station with one radio for two links (EMLSR).
RADIO = """\
standard = "be"
ampdu = { window = 256 }
multi_link = "emlsr"
links = { five = {}, six = { band = "6 GHz" } }
"""
SINGLE = HOME.replace("mpdu_error_rate = 0.1\n", RADIO).replace("1 s", "600 ms")


@pytest.fixture(autouse=True)
def _live() -> None:
    need_live()


@needs_tshark
def test_the_air_of_real_packets(tmp_path: Path, cli: Cli) -> None:
    scenario, journal, air = (tmp_path / name for name in ("home.toml", "rec.cfj", "air.pcap"))
    near, far, events = (tmp_path / name for name in ("near.pcap", "far.pcap", "links.csv"))
    scenario.write_text(HOME)
    outputs = ["--record", journal, "--air-pcap", air, "--pcap", f"{near},{far}", "--link-events", events]
    done = live(scenario, "--workload", "bulk", *map(str, outputs))
    assert done.returncode == 0, done.stderr
    replayed = cli("run", "--replay", journal)
    assert replayed.code == 0
    assert replayed.out.endswith("identical\n")
    frames = frames_of(air)
    assert {frame["_ws.malformed"] for frame in frames if not frame.has_collided} == {""}
    assert {frame["wlan.fcs.status"] for frame in frames if not frame.has_collided} == {"1"}
    data = [frame for frame in frames if frame.kind == QOS_DATA]
    assert len(data) > 500
    assert any(frame.kind == BA for frame in frames)
    # Captured packets are complete, with correct checksums, and every packet that reached a host was in the
    # air.
    assert {frame["ip.proto"] for frame in data} <= {"6", "1", "17", "58", ""}
    assert {frame["tcp.checksum.status"] for frame in data if frame["ip.proto"] == "6"} == {"1"}
    in_air = {(frame["ip.src"], frame["ip.id"]) for frame in data}
    for file, host in ((near, "near"), (far, "far")):
        of_host = [frame for frame in frames_of(file) if frame["ip.proto"] == "6"]
        sources = {frame["ip.src"] for frame in of_host}
        assert len(sources) == 2, host
        arrived = {(frame["ip.src"], frame["ip.id"]) for frame in of_host}
        # Packets that the sending queue dropped were never in the air.
        assert len(arrived - in_air) < 0.05 * len(arrived), host
    sent = sum(line.split(",")[2] == "frame" for line in events.read_text().splitlines())
    assert len(data) == sent


@pytest.mark.long  # the test above has a live run, and tests/test_wlan_air.py has EMLSR
@needs_tshark
def test_the_air_of_a_single_radio(tmp_path: Path, cli: Cli) -> None:
    """EMLSR: real downlink packets follow initial control frames, on one link at a time."""
    scenario, journal, air = (tmp_path / name for name in ("single.toml", "rec.cfj", "air.pcap"))
    scenario.write_text(SINGLE)
    done = live(scenario, "--workload", "bulk", "--record", journal, "--air-pcap", air)
    assert done.returncode == 0, done.stderr
    replayed = cli("run", "--replay", journal)
    assert replayed.code == 0
    assert replayed.out.endswith("identical\n")
    sound = [frame for frame in frames_of(air) if not frame.has_collided]
    assert {frame["_ws.malformed"] for frame in sound} == {""}
    assert {frame["wlan.fcs.status"] for frame in sound} == {"1"}
    down = {frame.at_ns for frame in sound if frame.kind == QOS_DATA and frame["wlan.fc.fromds"] == "1"}
    asked = sum(frame.kind == TRIGGER for frame in sound)
    assert 50 < len(down) <= sum(frame.kind == CTS for frame in sound)
    assert asked >= len(down)


def test_a_program_behind_a_cut_capture(tmp_path: Path) -> None:
    scenario, air = tmp_path / "home.toml", tmp_path / "air.pcap"
    scenario.write_text(HOME)
    cut = ["--air-pcap", air, "--snaplen", "80"]
    program = (
        "import os, socket, time; to = os.environ['CROSSFADE_SERVER'], 9; "
        "one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        "[(one.sendto(bytes(56), to), time.sleep(0.1)) for _ in range(5)]"
    )
    done = live(scenario, "--quiet", *map(str, cut), "--", sys.executable, "-c", program)
    assert done.returncode == 0, done.stderr
    data, place, whole = air.read_bytes(), 24, []
    while place < len(data):
        kept, length = (int.from_bytes(data[place + at : place + at + 4], "little") for at in (8, 12))
        assert kept == min(length, 80)
        whole.append(length)
        place += 16 + kept
    # A datagram of 84 bytes makes an MPDU of 122 bytes, after a radiotap header of 44 bytes.
    assert sum(length == 122 + 44 for length in whole) >= 5


def test_what_has_no_air_is_refused(tmp_path: Path, cli: Cli) -> None:
    done = cli("live", "--rate", "10 Mbit/s", "--air-pcap", tmp_path / "air.pcap", "--", "true")
    said = "error: --air-pcap: needs a scenario with a Wi-Fi network\n"
    assert (done.code, done.err) == (125, said)
    done = cli("live", "wifi/home", "--snaplen", "80", "--", "true")
    assert (done.code, done.err) == (125, "error: --snaplen 80: needs --air-pcap\n")
