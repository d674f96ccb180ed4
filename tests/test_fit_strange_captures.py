"""Captures altered as interfaces, capture tools and accidents do: the fit equals that to the plain capture,
or an error of one line names the defect.

A simulated CUBIC flow over 10 Mbit/s is captured at its sender, with selective acknowledgements and losses;
the capture is then changed byte by byte, by the formats of the RFCs and of the drafts of pcap and pcapng.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import crossfade as cf
from tests.conftest import Cli, expect_one_line
from tests.test_fit_bad_input import LINK, Frame, block, frames, is_data, section
from tests.test_fit_readers import datagram

LASTS = {"run.duration": "15 s"}
QUIC = {"tcp.flavour": "quic", "tcp.variant": None}
SECOND = 10**9
EPOCH = 1_700_000_000 * SECOND
ETHERNET, RAW, COOKED = 1, 101, 276
# Offsets of headers and fields in a raw IPv4 packet.
TCP, PORTS, SEQUENCE, ACKNOWLEDGED, OFFSET, FLAGS, OPTIONS = 20, 20, 24, 28, 32, 33, 40
Frames = list[Frame]


def recorded(**changes: object) -> Frames:
    """Packets of a simulated flow, captured at its sender: raw IP with headers only, times in ns."""
    found = frames(cf.runs.pcap(LINK, set=LASTS | changes, snaplen=100))
    return [(EPOCH + time - found[0][0], length, body) for time, length, body in found]


@pytest.fixture(scope="module")
def whole() -> Frames:
    return recorded()


@pytest.fixture(scope="module")
def quic() -> Frames:
    return recorded(**QUIC)


@pytest.fixture(scope="module")
def plain(whole: Frames, tmp_path_factory: pytest.TempPathFactory) -> cf.fit.LinkFit:
    file = tmp_path_factory.mktemp("plain") / "plain.pcap"
    file.write_bytes(pcap(whole))
    return cf.fit.link(file)


def pcap(of: Iterable[Frame], link: int = RAW, order: str = "<", unit: int = SECOND) -> bytes:
    magic = 0xA1B23C4D if unit == SECOND else 0xA1B2C3D4
    found = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262_144, link)]
    for time, length, body in of:
        ticks = time * unit // SECOND
        found.append(struct.pack(order + "IIII", *divmod(ticks, unit), len(body), length) + body)
    return b"".join(found)


def behind(header: bytes, frame: Frame) -> Frame:
    time, length, body = frame
    return time, length + len(header), header + body


def ethernet(frame: Frame, *tags: int) -> Frame:
    """Ethernet frame of a packet, with VLAN tags of these types."""
    kind = 0x86DD if frame[2][0] >> 4 == 6 else 0x0800
    header = bytes(12) + b"".join(struct.pack(">HH", tag, 7) for tag in tags)
    return behind(header + struct.pack(">H", kind), frame)


def cooked(frame: Frame) -> Frame:
    return behind(struct.pack(">HHIHBB8s", 0x0800, 0, 3, 1, 4, 6, bytes(8)), frame)


def ip6(frame: Frame) -> Frame:
    """The packet with an IPv6 header in place of its IPv4 header."""
    time, length, body = frame
    ends = [b"\xfd" + bytes(11) + body[at : at + 4] for at in (12, 16)]
    header = struct.pack(">IHBB", 6 << 28, length - TCP, body[9], 64)
    return time, length + 20, header + b"".join(ends) + body[TCP:]


def changed(frame: Frame, *to: tuple[int, bytes]) -> Frame:
    """The packet with the given bytes at the given offsets."""
    body = bytearray(frame[2])
    for at, data in to:
        body[at : at + len(data)] = data
    return frame[0], frame[1], bytes(body)


def word(body: bytes, at: int) -> int:
    return int.from_bytes(body[at : at + 4], "big")


def renumbered(frame: Frame, by: int) -> Frame:
    """The packet with ``by`` added, modulo 2^32, to its sequence number, or acknowledgement and SACK
    blocks.
    """
    body = frame[2]
    places = [SEQUENCE] if is_data(frame) else [ACKNOWLEDGED]
    at, end = OPTIONS, TCP + (body[OFFSET] >> 4) * 4
    while at < end and body[at] != 0:
        if body[at] == 5:
            places += [] if is_data(frame) else range(at + 2, at + body[at + 1], 4)
        at += 1 if body[at] == 1 else body[at + 1]
    return changed(frame, *((at, struct.pack(">I", (word(body, at) + by) % 2**32)) for at in places))


def wrapping(of: Frames, after: int) -> Frames:
    """Packets renumbered so that sequence numbers wrap at 2^32 after ``after`` bytes of data."""
    first = next(word(frame[2], SEQUENCE) for frame in of if is_data(frame))
    return [renumbered(frame, 2**32 - first - after) for frame in of]


def with_ecn(of: Frames) -> Frames:
    """Packets with ECT(0) on all data, random ECN-Echo and CWR flags, and both flags in the SYNs (RFC
    3168).
    """
    draw = random.Random(4)
    found = []
    for frame in of:
        flags = frame[2][FLAGS]
        chosen = 0xC0 if flags & 2 else draw.choice((0, 0x80 if is_data(frame) else 0x40))
        field = frame[2][1] | (2 if is_data(frame) else 0)
        found.append(changed(frame, (1, bytes([field])), (FLAGS, bytes([flags | chosen]))))
    return found


def interface(link: int, resolution: int, offset_s: int) -> bytes:
    options = struct.pack("<HHBxxxHHqHH", 9, 1, resolution, 14, 8, offset_s, 0, 0)
    return block(1, struct.pack("<HHI", link, 0, 0) + options)


def at_interfaces(of: Frames) -> bytes:
    """pcapng file with data at Ethernet in us since another epoch, and acknowledgements at Linux's ``any`` in
    ns.
    """
    found = [section(), interface(ETHERNET, 6, 1_600_000_000), interface(COOKED, 9, 0)]
    for frame in of:
        number, (time, length, body) = (0, ethernet(frame)) if is_data(frame) else (1, cooked(frame))
        ticks = time if number else (time - 1_600_000_000 * SECOND) // 1000
        fields = (number, ticks >> 32, ticks & 0xFFFFFFFF, len(body), length)
        found.append(block(6, struct.pack("<IIIII", *fields) + body))
    return b"".join(found)


def cut(of: Frames, kept: int) -> Frames:
    return [(time, length, body[:kept]) for time, length, body in of]


def swapped(of: Frames, every: int = 10) -> Frames:
    """Packets with one in ``every`` pairs of segments with equal times swapped, as two processors do."""
    found, pairs = list(of), 0
    for at in range(len(found) - 1):
        if found[at][0] == found[at + 1][0] and is_data(found[at]) and is_data(found[at + 1]):
            pairs += 1
            if pairs % every == 0:
                found[at : at + 2] = found[at + 1], found[at]
    assert pairs > 500
    return found


def with_data_back(of: Frames) -> Frames:
    """Packets in which each acknowledgement carries 400 bytes of data."""
    return [
        f if is_data(f) else (f[0], f[1] + 400, changed(f, (2, struct.pack(">H", f[1] + 400)))[2]) for f in of
    ]


def later(of: Iterable[Frame], by: int, after: int = 0) -> Frames:
    """Packets shifted by ``by`` ns from time ``after`` (ns) on."""
    return [(t + by if t - EPOCH >= after else t, length, body) for t, length, body in of]


def of_another_host(of: Frames) -> Frames:
    """Packets of the flow with another address of the receiver."""
    return [changed(frame, (16 if is_data(frame) else 12, bytes([192, 0, 2, 9]))) for frame in of]


def slow() -> Frames:
    """Packets of a flow from the same sender that takes another, slower link (1 Mbit/s)."""
    of = later(recorded(**{"link.rate": "1 Mbit/s"}), SECOND // 2)
    return [changed(frame, (22 - 2 * is_data(frame), struct.pack(">H", 50_007))) for frame in of]


Made = Callable[[Frames], bytes]

# Altered captures to which the same link is fitted as to the plain one, by name.
ALIKE: dict[str, Made] = {
    "numbers that wrap": lambda of: pcap(wrapping(of, 3_000_000)),
    "marks of ECN": lambda of: pcap(with_ecn(of)),
    "IPv6 behind a tag": lambda of: pcap([ethernet(ip6(frame), 0x8100) for frame in of], ETHERNET),
    "three tags": lambda of: pcap([ethernet(frame, 0x9100, 0x88A8, 0x8100) for frame in of], ETHERNET),
    "interfaces of two kinds": at_interfaces,
    "cooked, in us of the other byte order": lambda of: pcap(map(cooked, of), COOKED, ">", 10**6),
    "disorder of one time": lambda of: pcap(swapped(of)),
    "disorder of all pairs": lambda of: pcap(swapped(of, 1)),
    "data both ways": lambda of: pcap(with_data_back(of)),
    "beside a slow flow to another host": lambda of: pcap(sorted(of + of_another_host(slow()))),
    "beside a slow flow of another path": lambda of: pcap(sorted(of + slow())),
    "SACK blocks cut off": lambda of: pcap(cut(of, 66)),
}


@pytest.mark.parametrize("name", ALIKE)
def test_a_strange_capture_shows_the_link_of_the_plain_one(
    name: str, whole: Frames, plain: cf.fit.LinkFit, tmp_path: Path
) -> None:
    file = tmp_path / "strange.pcap"
    file.write_bytes(ALIKE[name](whole))
    fit = cf.fit.link(file)
    size = 1520 / 1500 if "IPv6" in name else 1.0
    has_others = "slow flow" in name
    assert (fit.model, fit.rate.verdict, fit.queue.verdict) == ("M0", "identified", "identified")
    assert fit.rate.value == pytest.approx(size * 10e6, rel=2e-3)
    assert fit.delay.value == pytest.approx(30e-3, rel=5e-3)
    assert fit.queue.value == plain.queue.value
    lost = [of.found["random_losses"] + of.found["congestive_losses"] for of in (fit, plain)]
    assert abs(lost[0] - lost[1]) <= (1 if "cut off" in name else 0), lost
    assert any("other flows" in warning for warning in fit.warnings) == has_others


def test_losses_show_without_sack_too(whole: Frames, plain: cf.fit.LinkFit, tmp_path: Path) -> None:
    """Captures of 40 bytes per packet, without TCP options such as SACK, show more than three quarters of the
    losses.
    """
    file = tmp_path / "short.pcap"
    file.write_bytes(pcap(cut(whole, OPTIONS)))
    fit = cf.fit.link(file)
    assert fit.rate.value == pytest.approx(10e6, rel=2e-3)
    assert fit.queue.value == 40
    assert fit.loss.low <= 0.004 <= fit.loss.high
    assert fit.loss.value > 0.75 * plain.loss.value


def test_a_capture_from_the_middle_with_numbers_that_wrap(whole: Frames, tmp_path: Path) -> None:
    """A capture without the SYN, and so without segment size and window scale, shows the link."""
    file = tmp_path / "middle.pcap"
    file.write_bytes(pcap(wrapping([of for of in whole if of[0] - EPOCH > 4 * SECOND], 1_000_000)))
    fit = cf.fit.link(file)
    assert fit.model == "M0"
    assert fit.rate.value == pytest.approx(10e6, rel=2e-3)
    assert fit.delay.value == pytest.approx(30e-3, rel=5e-3)


def test_connections_in_turn_with_idle_time_between_show_one_link(whole: Frames, tmp_path: Path) -> None:
    """Two connections of the same hosts show one link; 30 s without a packet between them are no outage."""
    file = tmp_path / "turns.pcap"
    file.write_bytes(pcap(whole + later(whole, 45 * SECOND)))
    fit = cf.fit.link(file)
    assert fit.model == "M0"
    assert fit.rate.value == pytest.approx(10e6, rel=2e-3)
    assert fit.queue.value == 40
    assert fit.delay.value == pytest.approx(30e-3, rel=5e-3)


@pytest.mark.parametrize("kind", ["tcp", "quic"])
def test_parallel_flows_of_two_hosts_show_the_whole_link(kind: str, tmp_path: Path) -> None:
    """Six parallel flows, of which none has the whole rate or an empty queue, show the link together."""
    flows = {"flows": {"parallel": {"traffic": "bulk", "count": 6, "stagger": "50 ms"}}}
    file = tmp_path / "six.pcap"
    file.write_bytes(pcap(recorded(**flows, **(QUIC if kind == "quic" else {}))))
    fit = cf.fit.link(file)
    assert (fit.rate.verdict, fit.queue.verdict) == ("identified", "identified")
    assert fit.rate.value == pytest.approx(10e6, rel=5e-3)
    assert fit.delay.value == pytest.approx(30e-3, rel=0.02)
    assert fit.queue.value == pytest.approx(40, abs=1)
    assert fit.loss.low <= 0.004 <= fit.loss.high
    assert fit.found["share"] == 1.0
    assert fit.flow.endswith("and 5 other flows between these hosts")


@pytest.mark.parametrize("tick_ms", [1, 4])
def test_a_coarse_clock_shows_the_link_within_its_tick(tick_ms: int, whole: Frames, tmp_path: Path) -> None:
    tick = tick_ms * 10**6
    file = tmp_path / "coarse.pcap"
    file.write_bytes(pcap([(time // tick * tick, length, body) for time, length, body in whole]))
    fit = cf.fit.link(file)
    assert fit.rate.value == pytest.approx(10e6, rel=0.02)
    assert fit.delay.value == pytest.approx(30e-3, abs=1e-3 * tick_ms)
    assert fit.queue.value == pytest.approx(40, abs=2 + tick_ms / 1.2)


def protocol(frame: Frame, number: int) -> Frame:
    return changed(frame, (9, bytes([number])))


def vxlan(frame: Frame) -> Frame:
    inner = ethernet(frame)
    outer = bytearray(frame[2][:TCP])
    struct.pack_into(">H", outer, 2, inner[1] + 36)
    outer[9] = 17
    udp = struct.pack(">HHHHII", 40_000, 4789, inner[1] + 16, 0, 0x0800_0000, 0x700)
    return behind(bytes(outer) + udp, inner)


# Captures that show too little of a link, by name, each with a part of the error message.
REFUSED: dict[str, tuple[Made, str]] = {
    "a clock set back by 300 ms": (
        lambda of: pcap(later(of, -300 * 10**6, 7 * SECOND)),
        "clock was set back",
    ),
    "a clock set back by 30 ms": (lambda of: pcap(later(of, -30 * 10**6, 7 * SECOND)), "clock was set back"),
    "data alone": (lambda of: pcap(filter(is_data, of)), "capture both directions"),
    "another protocol": (lambda of: pcap(protocol(frame, 132) for frame in of), "no TCP or UDP packet"),
    "in a tunnel": (lambda of: pcap(map(vxlan, of)), "one end alone does not show what arrived"),
    "a header of 24 bytes a packet": (lambda of: b"\x34\xcd\xb2\xa1" + pcap(of)[4:], "not a capture"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_strange_capture_that_says_too_little_is_one_line(
    name: str, whole: Frames, cli: Cli, tmp_path: Path
) -> None:
    made, said = REFUSED[name]
    file = tmp_path / "strange.pcap"
    file.write_bytes(made(whole))
    expect_one_line(cli("fit", str(file)), said)


# Altered captures of unencrypted QUIC that show the link, by name.
OF_QUIC: dict[str, Made] = {
    "plain": pcap,
    "IPv6 behind a tag": lambda of: pcap([ethernet(ip6(frame), 0x8100) for frame in of], ETHERNET),
    "60 bytes kept": lambda of: pcap(cut(of, 60)),
    "from the middle": lambda of: pcap(frame for frame in of if frame[0] - EPOCH > 4 * SECOND),
}


@pytest.mark.parametrize("name", OF_QUIC)
def test_a_capture_of_quic_shows_the_link(name: str, quic: Frames, tmp_path: Path) -> None:
    file = tmp_path / "quic.pcap"
    file.write_bytes(OF_QUIC[name](quic))
    fit = cf.fit.link(file)
    assert fit.rate.value == pytest.approx((1520 / 1500 if "IPv6" in name else 1.0) * 10e6, rel=2e-3)
    assert fit.delay.value == pytest.approx(30e-3, rel=5e-3)
    assert fit.loss.low <= 0.004 <= fit.loss.high


@pytest.mark.parametrize("kept", [28, 36])
def test_quic_cut_in_front_of_its_numbers_is_one_line(
    kept: int, quic: Frames, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "quic.pcap"
    file.write_bytes(pcap(cut(quic, kept)))
    expect_one_line(cli("fit", str(file)), "one end alone does not show what arrived")


def test_trains_of_encrypted_quic_are_no_packets(tmp_path: Path) -> None:
    """Ten datagrams of 1250 bytes that GSO hands to the interface as one are not taken for one packet."""
    draw = random.Random(2)
    initial = b"\xc3\x00\x00\x00\x01" + bytes(20)
    packets = [datagram(0, True, initial, 1200), datagram(40_000_000, False, initial, 1200)]
    for number in range(1, 1000):
        first = bytes([0x40 | draw.randrange(32)]) + draw.randbytes(20)
        length = 1222 if number % 10 == 0 else 10 * 1222
        packets.append(datagram(40_000_000 + number * 10_000_000, True, first, length))
    file = tmp_path / "trains.pcap"
    file.write_bytes(pcap([]) + b"".join(packets))
    fit = cf.fit.link(file)
    assert fit.found["packet_bytes"] == 1250
    assert fit.rate.value == pytest.approx(9.1 * 1222 * 8 * 100, rel=0.1)
