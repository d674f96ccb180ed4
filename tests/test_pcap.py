"""Captures of runs, read by tshark as an independent program."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import crossfade as cf
from tests.conftest import Cli, expect_one_line, long_form

# Delay of 20 ms in each direction, 10 Mbit/s; 2 % of the data and 1 % of the acknowledgements are lost.
LINK = """
schema = 1
run = { duration = "16 s", runs = 1 }
channel = { model = "iid", p_e = 0.02 }
link = { rate = "10 Mbit/s", packet_size = "1500 B", delay = "20 ms", queue = { limit = "100 packets" } }
reverse = { rate = "10 Mbit/s", delay = "20 ms", channel = { model = "iid", p_e = 0.01 } }
tcp = { flavour = "rfc", variant = "sack", w_max = 64 }
"""

TSHARK = shutil.which("tshark")


needs_tshark = pytest.mark.skipif(TSHARK is None, reason="no tshark (Debian: apt-get install tshark)")


def tshark(file: Path, display_filter: str) -> int:
    """Number of packets that a display filter selects, with all checksums verified."""
    assert TSHARK is not None
    checks = [f"-o{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp")]
    found = subprocess.run(
        [TSHARK, "-r", str(file), *checks, "-Y", display_filter, "-T", "fields", "-e", "frame.number"],
        capture_output=True,
        text=True,
        check=True,
    )
    return len(found.stdout.split())


def fields(file: Path, *names: str) -> list[tuple[str, ...]]:
    """These fields of every packet, as tshark prints them, with every checksum verified."""
    assert TSHARK is not None
    checks = [f"-o{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp")]
    wanted = [word for name in names for word in ("-e", name)]
    command = [TSHARK, "-r", str(file), *checks, "-T", "fields", *wanted]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return [tuple(line.split("\t")) for line in found.stdout.splitlines()]


@needs_tshark
@pytest.mark.parametrize(
    "tcp",
    [
        {"tcp.variant": "sack"},
        long_form({"tcp.variant": "newreno"}, id="newreno"),
        {"tcp.variant": "cubic", "tcp.rfc.profile": "linux"},
        {"tcp.variant": "reno", "tcp.rfc.timestamps": False},
        {"tcp": {"flavour": "ns2", "variant": "sack", "headers": "40 B"}},
    ],
    ids=["sack", "newreno", "cubic-linux", "reno-plain", "ns2-sack"],
)
def test_tshark_sees_what_we_counted(tcp: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "run.pcap"
    file.write_bytes(cf.runs.pcap(LINK, set=tcp))
    point = cf.run(LINK, set=tcp, cache=False).points[0]
    analysis = [f"tcp.analysis.{word}" for word in ("ack_lost_segment", "retransmission", "out_of_order")]
    checks = ["_ws.malformed", "ip.checksum.status", "tcp.checksum.status"]
    packets = fields(file, *checks, *analysis, "tcp.len", "tcp.dstport")
    # A right checksum is 1; a field that a packet has not is empty.
    assert {packet[:3] for packet in packets} == {("", "1", "1")}
    assert {packet[3] for packet in packets} == {""}
    data = [packet for packet in packets if packet[6] != "0" and packet[7] == "9"]
    assert len(data) == point.value("segments_sent") > 1_000
    # Wireshark calls an early retransmission out-of-order, others retransmission, fast or spurious.
    again = [packet for packet in data if packet[4] or packet[5]]
    assert len(again) == point.value("retransmissions") > 30


@needs_tshark
def test_flows_are_connections(tmp_path: Path) -> None:
    flows = """
[flows.two]
count = 2
[flows.files]
traffic = "arrivals"
arrivals_per_s = 5
size = "20 kB"
[flows.voice]
traffic = "udp"
rate = "64 kbit/s"
"""
    file = tmp_path / "flows.pcap"
    file.write_bytes(cf.runs.pcap(LINK + flows, ipv6=True))
    checks = ["_ws.malformed", "ip.checksum.status", "tcp.checksum.status"]
    packets = fields(file, *checks, "ipv6.version", "udp.length", "tcp.flags.syn", "tcp.flags.ack")
    assert sum(packet[3] == "6" for packet in packets) > 1_000
    # A header of IPv6 has no checksum.
    assert {packet[:3] for packet in packets} == {("", "", "1")}
    opened = sum(packet[5:] == ("1", "0") for packet in packets)
    point = cf.run(LINK + flows, cache=False).points[0]
    # Two lasting flows, and the arrivals, of which the last few are unfinished.
    assert 0 <= opened - 2 - point.value("files.flows_completed") <= 5
    assert {packet[4] for packet in packets} == {""}


def test_a_capture_is_a_file_of_nanoseconds(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "quick.pcap"
    options = ["--set", "run.duration=2000 slots", "--over", "tcp.variant=reno", "--over", "channel.p_e=0.01"]
    outcome = cli("run", "quickstart", *options, "--pcap", str(file), "--quiet", "--runs", "1")
    assert outcome.code == 0, outcome.err
    magic, major, minor = struct.unpack("<IHH", file.read_bytes()[:8])
    assert (magic, major, minor) == (0xA1B23C4D, 2, 4)


def test_what_has_no_capture_is_one_line(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "no.pcap"
    several = cli("run", "quickstart", "--pcap", str(file))
    assert (several.code, file.exists()) == (2, False)
    assert "a capture shows one run of one point; the plan has 27 points (--point N takes one)" in several.err
    udp = LINK + '[flows.voice]\ntraffic = "udp"\nrate = "64 kbit/s"\n'
    with pytest.raises(cf.errors.ScenarioError, match="there is no TCP to capture"):
        cf.runs.pcap(udp)


def test_a_recorded_flow_is_captured_at_its_recorded_times(tmp_path: Path) -> None:
    sends = [(0.0, 1500), (0.0, 200), (0.012345678, 1400), (0.5, 28)]
    (tmp_path / "sends.csv").write_text("".join(f"{time:.9f},{bytes_}\n" for time, bytes_ in sends))
    scenario = tmp_path / "call.toml"
    flow = '[flows.call]\ntraffic = "recorded"\nrecord = "sends.csv"\nstart = "1 s"\n'
    scenario.write_text(LINK + flow)
    data = cf.runs.pcap(scenario)
    place, found = 24, []
    while place < len(data):
        seconds, nanoseconds, kept, length = struct.unpack("<IIII", data[place : place + 16])
        packet = data[place + 16 : place + 16 + kept]
        # The IPv4 header has the length; protocol 17 is UDP.
        assert (struct.unpack("!H", packet[2:4]), packet[9]) == ((length,), 17)
        found.append((seconds * 10**9 + nanoseconds, length))
        place += 16 + kept
    assert found == [(round((1 + time) * 1e9), bytes_) for time, bytes_ in sends]
    if TSHARK is not None:
        (tmp_path / "call.pcap").write_bytes(data)
        assert tshark(tmp_path / "call.pcap", "udp && !_ws.malformed") == len(sends)


def test_as_many_bytes_are_kept_as_are_asked_for(cli: Cli, tmp_path: Path) -> None:
    scenario, file = tmp_path / "link.toml", tmp_path / "short.pcap"
    scenario.write_text(LINK)
    options = ["--set", "run.duration=2 s", "--quiet", "--pcap", file]
    assert cli("run", scenario, *options, "--snaplen", "120").code == 0
    data = file.read_bytes()
    assert struct.unpack("<I", data[16:20]) == (120,)
    place, lengths = 24, set()
    while place < len(data):
        kept, length = struct.unpack("<II", data[place + 8 : place + 16])
        assert kept == min(length, 120)
        lengths.add(length)
        place += 16 + kept
    assert max(lengths) == 1500
    expect_one_line(cli("run", scenario, *options, "--snaplen", "0"), "snaplen = 0", "1 or more")
    assert cli("run", scenario, *options, "--snaplen", "96").code == 0
    expect_one_line(cli("run", scenario, *options, "--snaplen", "-1"), "snaplen = -1")
