"""Captures of frames in the air of Wi-Fi networks: read by tshark, and compared with the network's events."""

from __future__ import annotations

import itertools
import struct
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from tests.conftest import Cli, expect_one_line, long_form
from tests.test_pcap import TSHARK, needs_tshark

# Network with each standard, both directions, TCP and UDP, losses, RTS, and requests for missed block ACKs.
OFFICE = """\
schema = 2
run = { duration = "120 ms", warmup = "0 s", runs = 1 }
link = { packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "sack", congestion = "cubic", w_max = 2000 }
[wlan]
mpdu_error_rate = 0.1
after_missed_ack = "request"
[wlan.stations]
ax = { mcs = 9 }
be = { standard = "be", mcs = 13 }
ac = { standard = "ac", mcs = 8, streams = 1 }
n = { standard = "n", mcs = 5, guard_interval = "0.4 us", width = "40 MHz" }
a = { standard = "a", mcs = 4 }
[flows]
down = { station = "ax" }
wide = { station = "be", direction = "up" }
up = { station = "ac", direction = "up" }
call = { station = "n", traffic = "udp", rate = "2 Mbit/s", category = "voice" }
old = { station = "a" }
"""
ALONE = """\
schema = 2
run = { duration = "120 ms", warmup = "0 s", runs = 1 }
link = { packet_size = "1500 B" }
wlan = { standard = "ax", streams = 1, mcs = 7, mpdu_error_rate = 0.2 }
flows.down = { traffic = "saturated" }
"""
# Network with several stations per PPDU (OFDMA) in both directions, and one that contends.
SEVERAL = """\
schema = 2
run = { duration = "200 ms", warmup = "0 s", runs = 1 }
link = { packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "sack", congestion = "cubic", w_max = 2000 }
[wlan]
streams = 1
mcs = 9
mpdu_error_rate = 0.1
ofdma = { users = 8 }
[wlan.stations]
desk = { count = 5 }
old = { standard = "n", mcs = 5, width = "40 MHz" }
[flows]
down = { station = "desk" }
up = { station = "desk", direction = "up" }
call = { station = "old", direction = "up", traffic = "udp", rate = "2 Mbit/s" }
"""
# Network with one radio for two links (EMLSR): padded MU-RTS and CTS precede data.
SINGLE = """\
schema = 2
run = { duration = "150 ms", warmup = "0 s", runs = 1 }
link = { packet_size = "1500 B" }
tcp = { flavour = "rfc", variant = "sack", congestion = "cubic", w_max = 2000 }
[wlan]
standard = "be"
streams = 1
mcs = 9
ampdu = { window = 256 }
multi_link = "emlsr"
emlsr = { padding_delay = "128 us", transition_delay = "16 us" }
[wlan.links]
five = {}
six = { band = "6 GHz", width = "160 MHz" }
[flows]
down = {}
"""
FIELDS = (
    *("frame.time_epoch", "frame.len", "wlan.fc.type_subtype", "wlan.ra", "wlan.ta", "wlan.duration"),
    *("wlan.fc.retry", "wlan.fc.tods", "wlan.fc.fromds", "wlan.seq", "wlan.qos.tid", "wlan.fcs.status"),
    *("radiotap.ampdu.reference", "radiotap.ampdu.flags.last", "radiotap.flags.badfcs", "radiotap.mactime"),
    *("wlan.fixed.ssc.sequence", "wlan.ba.bm", "ip.src", "ip.proto", "tcp.checksum.status", "ip.id"),
    *("_ws.malformed", "_ws.expert.severity"),
)
DATA, QOS_DATA, RTS, CTS, ACK, BAR, BA = 0x20, 0x28, 0x1B, 0x1C, 0x1D, 0x18, 0x19
TRIGGER = 0x12


@dataclass(frozen=True)
class Frame:
    """Fields of a record, as tshark prints them."""

    cells: dict[str, str]

    def __getitem__(self, field: str) -> str:
        return self.cells[field]

    @property
    def kind(self) -> int:
        return int(self["wlan.fc.type_subtype"], 0)

    @property
    def at_ns(self) -> int:
        whole, _, part = self["frame.time_epoch"].partition(".")
        return int(whole) * 10**9 + int(part.ljust(9, "0"))

    @property
    def is_data(self) -> bool:
        return self.kind in (DATA, QOS_DATA)

    @property
    def has_collided(self) -> bool:
        return self["radiotap.flags.badfcs"] == "1"

    @property
    def way(self) -> tuple[str, str, str]:
        """Transmitter, receiver and traffic identifier."""
        return self["wlan.ta"], self["wlan.ra"], self["wlan.qos.tid"]


def frames_of(file: Path) -> list[Frame]:
    assert TSHARK is not None
    checks = [f"-o{protocol}.check_checksum:TRUE" for protocol in ("wlan", "ip", "tcp", "udp")]
    fields = [word for field in FIELDS for word in ("-e", field)]
    command = [TSHARK, "-r", str(file), *checks, "-T", "fields", "-E", "occurrence=f", *fields]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = (line.split("\t") for line in found.stdout.splitlines())
    return [Frame(dict(zip(FIELDS, row, strict=True))) for row in rows]


@cache
def written(scenario: str, rts: bool | None = None) -> list[Frame]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "air.pcap"
        cf.runs.write_air_pcap(file, scenario, set=keys_of(rts))
        return frames_of(file)


def keys_of(rts: bool | None) -> dict[str, Any]:
    """The keys that a test sets: whether an RTS precedes data, or none."""
    return {} if rts is None else {"wlan.rts": rts}


def mpdus_of_events(scenario: str, **options: Any) -> dict[tuple[str, int], list[tuple[int, int, bool]]]:
    """Number, attempt and success of each MPDU in the link events, by direction and station (from 0)."""
    found = defaultdict(list)
    events = cf.runs.link_events(scenario, **options)
    for row in events[events["event"] == "frame"].itertuples():
        way = ("down" if row.link == "forward" else "up", int(row.user))
        found[way].append((int(row.frame), int(row.attempt), row.verdict == "good"))
    return found


@needs_tshark
@pytest.mark.parametrize("rts", [None, True])
def test_tshark_reads_every_frame(rts: bool | None) -> None:
    frames = written(OFFICE, rts)
    kinds = {kind: sum(frame.kind == kind for frame in frames) for kind in (DATA, QOS_DATA, ACK, BAR, BA)}
    assert all(kinds.values()), kinds
    assert len(frames) > 1_000
    # Wireshark counts a wrong checksum as malformed; its severity PI_ERROR is 0x800000.
    sound = [frame for frame in frames if not frame.has_collided]
    assert {frame["_ws.malformed"] for frame in sound} == {""}
    assert not [frame.cells for frame in sound if "8388608" in frame["_ws.expert.severity"]]
    # FCS status 1 is good, 0 is bad.
    assert {frame["wlan.fcs.status"] for frame in frames if not frame.has_collided} == {"1"}
    assert {frame["wlan.fcs.status"] for frame in frames if frame.has_collided} <= {"0"}
    assert {frame["tcp.checksum.status"] for frame in frames if frame["ip.proto"] == "6"} == {"1"}
    assert {frame["ip.proto"] for frame in frames if frame.is_data} == {"6", "17"}
    assert (RTS in {frame.kind for frame in frames}) == bool(rts)
    # Frames of stations are to the distribution system, those of the access point from it.
    for frame in frames:
        if frame.is_data:
            is_down = frame["wlan.ta"] == "02:00:00:00:00:00"
            assert (frame["wlan.fc.fromds"], frame["wlan.fc.tods"]) == (("1", "0") if is_down else ("0", "1"))
            # The first station by name has address 1.
            assert (frame.kind == DATA) == ("02:00:00:00:00:01" in frame.way)
    voice = {frame["wlan.qos.tid"] for frame in frames if frame["ip.proto"] == "17"}
    assert voice == {"6"}


@needs_tshark
def test_frames_follow_one_another_and_collide_at_their_beginnings_alone() -> None:
    frames = written(OFFICE)
    # Start and end of each PPDU in the network's link events.
    events = cf.runs.link_events(OFFICE)
    air = events[events["event"] == "air"]
    ends: dict[int, float] = defaultdict(float)
    for row in air.itertuples():
        at = round(row.time_s * 1e9)
        ends[at] = max(ends[at], row.end_s)
    assert [frame.at_ns for frame in frames] == sorted(frame.at_ns for frame in frames)
    until = 0.0
    for at_ns, together in itertools.groupby(frames, key=lambda frame: frame.at_ns):
        begun = list(together)
        assert {round(int(frame["radiotap.mactime"])) for frame in begun} == {at_ns // 1000}
        assert at_ns / 1e9 >= until - 1e-9
        until = ends[at_ns]
        assert until > at_ns / 1e9
        senders = {frame["wlan.ta"] or frame["wlan.ra"] for frame in begun}
        assert len(senders) == 1 or all(frame.has_collided for frame in begun)


@needs_tshark
def test_an_aggregate_has_one_number_and_one_last_mpdu() -> None:
    frames = written(OFFICE)
    aggregates = defaultdict(list)
    for frame in frames:
        # Frames of 802.11a and control frames are in no A-MPDU.
        assert (frame["radiotap.ampdu.reference"] != "") == (frame.kind == QOS_DATA)
        if frame.kind == QOS_DATA:
            aggregates[int(frame["radiotap.ampdu.reference"])].append(frame)
    assert list(aggregates) == list(range(1, len(aggregates) + 1))
    assert max(map(len, aggregates.values())) > 30
    for aggregate in aggregates.values():
        assert len({(frame.at_ns, frame.way, frame["wlan.duration"]) for frame in aggregate}) == 1
        last = [frame["radiotap.ampdu.flags.last"] for frame in aggregate]
        assert last == ["0"] * (len(last) - 1) + ["1"]


@needs_tshark
def test_retransmissions_keep_number_and_packet_and_set_the_retry_bit() -> None:
    frames = written(OFFICE)
    of_events = mpdus_of_events(OFFICE)
    held: dict[tuple[tuple[str, str, str], str], tuple[str, str]] = {}
    retries = 0
    heard = defaultdict(list)
    for frame in frames:
        if not frame.is_data:
            continue
        key, packet = (frame.way, frame["wlan.seq"]), (frame["ip.id"], frame["ip.proto"])
        if frame["wlan.fc.retry"] == "1":
            assert held[key] == packet
            retries += 1
        held[key] = packet
        sender, receiver = frame["wlan.ta"], frame["wlan.ra"]
        is_down = sender == "02:00:00:00:00:00"
        station = int((receiver if is_down else sender).replace(":", "")[-4:], 16) - 1
        heard["down" if is_down else "up", station].append(
            (int(frame["wlan.seq"]), frame["wlan.fc.retry"] == "1")
        )
    assert retries > 50
    # Exactly the MPDUs of the link events are in the capture.
    assert heard.keys() == of_events.keys()
    for way, mpdus in of_events.items():
        expected = sorted((number % 4096, attempt > 0) for number, attempt, _ in mpdus)
        # Of frames in the air at the end of the run, events contain those already received.
        assert sorted(heard[way]) == expected, way


@needs_tshark
def test_bitmaps_say_what_was_delivered() -> None:
    frames = written(ALONE)
    mpdus = iter(mpdus_of_events(ALONE)["down", 0])
    delivered: set[int] = set()
    checked, missing = 0, 0
    for (_, of_data), (_, answer) in itertools.pairwise(
        (kind, list(run)) for kind, run in itertools.groupby(frames, key=lambda frame: frame.kind)
    ):
        if of_data[0].kind != QOS_DATA:
            continue
        # With a single station there are no collisions, and block ACKs are always received.
        (block,) = answer
        assert block.kind == BA
        start = int(block["wlan.fixed.ssc.sequence"])
        bits = bytes.fromhex(block["wlan.ba.bm"].replace(":", ""))
        assert len(bits) == 32
        has = {(start + place) % 4096 for place in range(256) if bits[place // 8] >> place % 8 & 1}
        for frame in of_data:
            number, attempt, is_good = next(mpdus)
            assert (int(frame["wlan.seq"]), frame["wlan.fc.retry"] == "1") == (number % 4096, attempt > 0)
            assert (number % 4096 in has) == is_good
            delivered |= {number} if is_good else set()
            checked, missing = checked + 1, missing + (not is_good)
        # The bitmap starts at the lowest MPDU not acknowledged before, which is sent first.
        assert start == int(of_data[0]["wlan.seq"])
    assert checked > 1_000
    assert missing / checked == pytest.approx(0.2, abs=0.05)


@needs_tshark
@pytest.mark.parametrize("rts", [False, long_form(True)])
def test_tshark_reads_frames_for_several_stations(rts: bool) -> None:
    frames = written(SEVERAL, rts)
    sound = [frame for frame in frames if not frame.has_collided]
    assert {frame["_ws.malformed"] for frame in sound} == {""}
    assert not [frame.cells for frame in sound if "8388608" in frame["_ws.expert.severity"]]
    assert {frame["wlan.fcs.status"] for frame in sound} == {"1"}
    everybody = "ff:ff:ff:ff:ff:ff"
    triggers = [frame for frame in frames if frame.kind == TRIGGER]
    assert len(triggers) > 50
    assert {(frame["wlan.ta"], frame["wlan.ra"]) for frame in triggers} == {("02:00:00:00:00:00", everybody)}
    # After a basic trigger the access point acknowledges all stations at once.
    assert sum(frame.kind == BA and frame["wlan.ra"] == everybody for frame in frames) > 20
    # A-MPDUs of one PPDU begin together, each with its own number.
    together = defaultdict(set)
    for frame in sound:
        if frame.kind == QOS_DATA:
            together[frame.at_ns].add(frame.way)
    assert max(map(len, together.values())) == 5
    # Exactly the MPDUs of the link events are in the capture.
    of_events = mpdus_of_events(SEVERAL, set=keys_of(rts))
    heard = sum(frame.is_data for frame in frames)
    assert heard == sum(map(len, of_events.values()))


@needs_tshark
def test_tshark_reads_initial_control_frames() -> None:
    frames = written(SINGLE)
    sound = [frame for frame in frames if not frame.has_collided]
    assert {frame["_ws.malformed"] for frame in sound} == {""}
    assert not [frame.cells for frame in sound if "8388608" in frame["_ws.expert.severity"]]
    assert {frame["wlan.fcs.status"] for frame in sound} == {"1"}
    triggers = [frame for frame in sound if frame.kind == TRIGGER]
    assert len(triggers) > 30
    assert {frame["wlan.ta"] for frame in triggers} == {"02:00:00:00:00:00"}
    # A padding of 128 us is 32 symbols of 96 bits at 24 Mbit/s, or 384 bytes.
    assert all(int(frame["frame.len"]) > 384 for frame in triggers)
    # All downlink data follow an initial control frame, and only a CTS comes between.
    answers = sum(frame.kind == CTS for frame in sound)
    down = {frame.at_ns for frame in sound if frame.is_data and frame["wlan.fc.fromds"] == "1"}
    assert len(down) <= answers <= len(triggers) + sum(frame.kind == RTS for frame in sound)
    of_events = mpdus_of_events(SINGLE)
    # An A-MPDU without an initial control frame is in neither.
    assert sum(frame.is_data for frame in frames) == sum(map(len, of_events.values()))


def test_frames_are_cut_as_asked(cli: Cli, tmp_path: Path) -> None:
    scenario, file = tmp_path / "alone.toml", tmp_path / "air.pcap"
    scenario.write_text(ALONE)
    outcome = cli("run", scenario, "--quiet", "--air-pcap", file, "--snaplen", "90")
    assert outcome.code == 0, outcome.err
    data = file.read_bytes()
    assert struct.unpack("<IHHIIII", data[:24]) == (0xA1B23C4D, 2, 4, 0, 0, 90, 127)
    whole = cf.mesh.air_pcap(ALONE)
    place, cut, records = 24, 24, 0
    while place < len(whole):
        (kept, length), (cut_to, cut_length) = (
            struct.unpack("<II", file[at + 8 : at + 16]) for file, at in ((whole, place), (data, cut))
        )
        assert (kept, cut_to, cut_length) == (length, min(length, 90), length)
        assert data[cut + 16 : cut + 16 + cut_to] == whole[place + 16 : place + 16 + cut_to]
        place, cut, records = place + 16 + kept, cut + 16 + cut_to, records + 1
    assert (cut, records > 1_000) == (len(data), True)


def test_listening_changes_nothing(cli: Cli, tmp_path: Path) -> None:
    scenario = tmp_path / "office.toml"
    scenario.write_text(OFFICE)
    plain = cli("run", scenario, "--json", "--no-cache").out
    assert cli("run", scenario, "--json", "--no-cache", "--air-pcap", tmp_path / "air.pcap").out == plain


def test_what_cannot_be_captured_is_one_line(cli: Cli, tmp_path: Path) -> None:
    scenario, file = tmp_path / "office.toml", tmp_path / "air.pcap"
    scenario.write_text(OFFICE)
    expect_one_line(
        cli("run", "quickstart", "--quiet", "--set", "run.duration=2000 slots", "--air-pcap", file),
        "a capture shows one run of one point",
    )
    one = ["--quiet", "--set", "run.duration=2000 slots", "--runs", "1"]
    one += ["--over", "channel.p_e=0.01", "--over", "tcp.variant=reno"]
    expect_one_line(
        cli("run", "quickstart", *one, "--air-pcap", file),
        "wlan: missing; a Wi-Fi network or a mesh has an air to capture",
    )
    swept = ["--quiet", "--over", "wlan.rts=true,false"]
    expect_one_line(cli("run", scenario, *swept, "--air-pcap", file), "a capture shows one run of one point")
    expect_one_line(
        cli("run", scenario, "--quiet", "--air-pcap", file, "--snaplen", "0"),
        "snaplen = 0: must be a number of bytes, 1 or more",
    )
    assert not file.exists()
