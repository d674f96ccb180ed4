"""Captures as other tools and machines write them: the fit finds the true link, or an error has one line.

The link has 10 Mbit/s and an RTT of 30 ms; every second packet is acknowledged. The captures are independent
of Crossfade's writers: headers follow RFC 791, 8200 and 9293, files the drafts of pcap and pcapng.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import crossfade as cf
from tests.conftest import Cli, expect_one_line

RATE = 10e6
RTT = 0.03
MSS = 1448
# Bytes of the headers of IPv4, and of TCP with timestamps.
HEADERS = 20 + 32
SYN, RST, PSH, ACK, FIN = 2, 4, 8, 16, 1
SENDER, RECEIVER = (0x0A000001, 40_000), (0x0A000002, 443)
EPOCH = 1_700_000_000
FIRST = 1000


@dataclass(frozen=True)
class Segment:
    """A TCP segment at the sender's interface: ``at`` is its time in s, ``data`` its payload in bytes."""

    at: float
    of_sender: bool
    seq: int
    ack: int
    data: int
    flags: int = ACK


def segments(first: int = FIRST, lasts: float = 12.0, seed: int = 1) -> list[Segment]:
    """Segments of a connection: trains of 1 to 40 packets at random times, every second one acknowledged."""
    draw = random.Random(seed)
    found = [
        Segment(0.0, True, first - 1, 0, 0, SYN),
        Segment(RTT, False, 7, first, 0, SYN | ACK),
        Segment(RTT, True, first, 8, 0),
    ]
    at, free, seq, unanswered = 2 * RTT, 0.0, first, 0
    while at < lasts:
        for _ in range(draw.randint(1, 40)):
            found.append(Segment(at, True, seq, 8, MSS, ACK | PSH))
            seq += MSS
            free = max(free, at) + 8 * (MSS + HEADERS) / RATE
            unanswered += 1
            if unanswered == 2:
                found.append(Segment(free + RTT, False, 8, seq, 0))
                unanswered = 0
        at += draw.expovariate(1 / 0.04)
    return sorted(found, key=lambda segment: segment.at)


def tcp(of: Segment) -> bytes:
    """TCP header of a segment with timestamps; sequence numbers wrap at 2^32."""
    ports = (SENDER[1], RECEIVER[1]) if of.of_sender else (RECEIVER[1], SENDER[1])
    stamp = int(of.at * 1000) + 5
    options = struct.pack(">BBBBII", 1, 1, 8, 10, stamp, stamp)
    numbers = (of.seq % 2**32, of.ack % 2**32)
    return struct.pack(">HHIIBBHHH", *ports, *numbers, 8 << 4, of.flags, 65_535, 0, 0) + options


def ip4(of: Segment) -> bytes:
    """IPv4 packet of a segment, whose data are zeros."""
    ends = (SENDER[0], RECEIVER[0]) if of.of_sender else (RECEIVER[0], SENDER[0])
    length = HEADERS + of.data
    head = struct.pack(">BBHHHBBHII", 0x45, 0, length % 2**16, 0, 0x4000, 64, 6, 0, *ends)
    return head + tcp(of) + bytes(of.data)


def ip6(of: Segment) -> bytes:
    """IPv6 packet of a segment, with a hop-by-hop header and destination options before TCP."""
    ends = [bytes([0xFD]) + bytes(14) + bytes([end]) for end in ((1, 2) if of.of_sender else (2, 1))]
    hops, options = bytes([60, 0, 1, 4, 0, 0, 0, 0]), bytes([6, 1, 1, 12]) + bytes(12)
    rest = hops + options + tcp(of) + bytes(of.data)
    return struct.pack(">IHBB", 6 << 28, len(rest), 0, 64) + b"".join(ends) + rest


def ethernet(packet: bytes, tags: Iterable[tuple[int, int]] = ()) -> bytes:
    """Ethernet frame of a packet, with VLAN tags."""
    kind = 0x86DD if packet[0] >> 4 == 6 else 0x0800
    tagged = b"".join(struct.pack(">HH", *tag) for tag in tags)
    return bytes(12) + tagged + struct.pack(">H", kind) + packet


Frame = tuple[float, bytes]


def frames(of: Iterable[Segment]) -> list[Frame]:
    return [(segment.at, ethernet(ip4(segment))) for segment in of]


def pcap(of: Iterable[Frame], order: str = "<", is_nano: bool = False, snaplen: int = 262_144) -> bytes:
    """A pcap file of Ethernet frames."""
    magic, unit = (0xA1B23C4D, 10**9) if is_nano else (0xA1B2C3D4, 10**6)
    found = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, 1)]
    for at, body in of:
        ticks = EPOCH * unit + round(at * unit)
        kept = body[:snaplen]
        found.append(struct.pack(order + "IIII", *divmod(ticks, unit), len(kept), len(body)) + kept)
    return b"".join(found)


def block(kind: int, body: bytes, order: str) -> bytes:
    padded = body + bytes(-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(padded))
    return struct.pack(order + "I", kind) + length + padded + length


def pcapng(of: Iterable[tuple[float, bytes, int]], order: str = "<", resolution: int = 6) -> bytes:
    """A pcapng file with two Ethernet interfaces; each frame has a time in s and an interface number."""
    section = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    option = struct.pack(order + "HHBxxxHH", 9, 1, resolution, 0, 0)
    head = block(1, struct.pack(order + "HHI", 1, 0, 0) + option, order)
    unit = 2 ** (resolution & 0x7F) if resolution & 0x80 else 10**resolution
    found = [section, head, head]
    for at, body, number in of:
        ticks = EPOCH * unit + round(at * unit)
        fields = (number, ticks >> 32, ticks & 0xFFFFFFFF, len(body), len(body))
        found.append(block(6, struct.pack(order + "IIIII", *fields) + body, order))
    return b"".join(found)


def across_interfaces() -> bytes:
    """Capture of two interfaces: acknowledgements pass the second, up to 5 ms out of order in the file."""
    draw = random.Random(2)
    rows = [(at, body, int(not of.of_sender)) for of, (at, body) in with_frames(segments())]
    return pcapng(sorted(rows, key=lambda row: row[0] + (draw.uniform(-5e-3, 5e-3) if row[2] else 0.0)))


def with_frames(of: list[Segment]) -> list[tuple[Segment, Frame]]:
    return list(zip(of, frames(of), strict=True))


def joined(most: int = 44) -> bytes:
    """Capture with TSO: up to ``most`` segments that leave at once are one frame of up to 64 kB."""
    found: list[Segment] = []
    for of in segments():
        last = found[-1] if found else of
        follows = of.data and last.data and of.at == last.at and last.seq + last.data == of.seq
        if follows and last.data < (most - 1) * MSS:
            found[-1] = replace(last, data=last.data + of.data)
        else:
            found.append(of)
    assert max(of.data for of in found) > 30 * MSS
    return pcap(frames(found))


def without_lengths() -> bytes:
    """Capture of frames beyond 64 kB (BIG TCP), whose IPv4 header has a length of 0."""
    found = []
    for of, (at, body) in with_frames(segments()):
        found.append((at, body[:16] + bytes(2) + body[18:] if of.data else body))
    return pcap(found)


def beside_an_idle_flow() -> bytes:
    """Capture with another connection that sends a packet of 50 bytes per second in both directions."""
    other = []
    for second in range(12):
        for at, of_sender in ((second + 0.5, True), (second + 0.53, False)):
            packet = bytearray(ip4(Segment(at, of_sender, 50 * second, 50 * second, 50)))
            packet[20:24] = struct.pack(">HH", *((50_001, 22) if of_sender else (22, 50_001)))
            other.append((at, ethernet(bytes(packet))))
    return pcap(sorted(frames(segments()) + other, key=lambda frame: frame[0]))


def with_a_reset() -> bytes:
    """Capture in which the receiver resets the connection after 8 s; the last packets are never
    acknowledged.
    """
    whole = [of for of in segments() if of.at < 8.0]
    return pcap(frames([*whole, Segment(8.0, False, 8, 0, 0, RST)]))


def with_a_second_connection() -> bytes:
    """Capture with a second connection on the same ports after a reset, with other numbers (RFC 9293, section
    3.4).
    """
    first = [of for of in segments() if of.at < 6.0]
    again = [replace(of, at=of.at + 6.5) for of in segments(first=3_000_000_000, lasts=4.0, seed=9)]
    return pcap(frames([*first, Segment(6.1, False, 8, 0, 0, RST), *again]))


def keepalives() -> bytes:
    """Capture of keep-alive probes only: an old byte every 10 s, and its answer."""
    found = [Segment(0.0, True, FIRST - 1, 0, 0, SYN), Segment(RTT, False, 7, FIRST, 0, SYN | ACK)]
    for number in range(1, 300):
        at = 10.0 * number
        found += [Segment(at, True, FIRST - 1, 8, 1), Segment(at + RTT, False, 8, FIRST, 0)]
    return pcap(frames(found))


def of_time(change: Callable[[float], float]) -> bytes:
    return pcap([(change(at), body) for at, body in frames(segments())])


def plain() -> bytes:
    return pcap(frames(segments()), is_nano=True)


def mid_flow() -> bytes:
    return pcap(frames([of for of in segments() if of.at > 4.0]))


def tagged() -> bytes:
    return pcap([(of.at, ethernet(ip4(of), [(0x88A8, 5), (0x8100, 77)])) for of in segments()])


# Captures from which the fit finds the true link, by name.
SHOWN: dict[str, Callable[[], bytes]] = {
    "pcap in nanoseconds": plain,
    "pcap in microseconds of the other byte order": lambda: pcap(frames(segments()), order=">"),
    "pcapng of the other byte order": lambda: pcapng([(*of, 0) for of in frames(segments())], order=">"),
    "pcapng in parts of 2^20": lambda: pcapng([(*of, 0) for of in frames(segments())], resolution=0x94),
    "wrong order across interfaces": across_interfaces,
    "numbers that wrap": lambda: pcap(frames(segments(first=2**32 - 300 * MSS))),
    "two VLAN tags": tagged,
    "frames of 64 kB": joined,
    "lengths of 0": without_lengths,
    "IPv6 with extension headers": lambda: pcap([(of.at, ethernet(ip6(of))) for of in segments()]),
    "64 bytes kept": lambda: pcap(frames(segments()), snaplen=64),
    "beside an idle flow": beside_an_idle_flow,
    "a reset in the middle": with_a_reset,
    "the same ports after a reset": with_a_second_connection,
    "from the middle of a flow": mid_flow,
}


@pytest.mark.parametrize("name", SHOWN)
def test_an_odd_capture_shows_the_link(name: str, tmp_path: Path) -> None:
    file = tmp_path / "odd.pcap"
    file.write_bytes(SHOWN[name]())
    fit = cf.fit.link(file)
    assert (fit.model, fit.rate.verdict) == ("M0", "identified")
    # Ratio of IP bytes: IPv6 packets have 44 more.
    more = 1500 / 1544 if "IPv6" not in name else 1.0
    assert fit.rate.value == pytest.approx(RATE, rel=3e-3 if more < 1 else 0.04), fit.rate
    assert fit.delay.value == pytest.approx(RTT, abs=1e-3), fit.delay
    assert fit.found["random_losses"] + fit.found["congestive_losses"] == 0


# Captures that do not show a link, by name, each with a part of the error message.
SILENT: dict[str, tuple[Callable[[], bytes], str]] = {
    "acknowledgements alone": (
        lambda: pcap(frames(o for o in segments() if not o.of_sender)),
        "no TCP or UDP",
    ),
    "times that are all equal": (lambda: of_time(lambda _: 5.0), "a fit needs at least"),
    "keepalives alone": (keepalives, "a fit needs at least 100"),
    "40 bytes kept": (lambda: pcap(frames(segments()), snaplen=40), "no TCP or UDP packet with data"),
    "no acknowledgements": (lambda: pcap(frames(o for o in segments() if o.of_sender)), "acknowledgements"),
}


@pytest.mark.parametrize("name", SILENT)
def test_a_capture_that_says_nothing_is_one_line(name: str, cli: Cli, tmp_path: Path) -> None:
    made, said = SILENT[name]
    file = tmp_path / "odd.pcap"
    file.write_bytes(made())
    expect_one_line(cli("fit", str(file)), said)
