"""Records that are damaged, mixed up or of a wrong kind: an error of one line with exit status 2, or a fit.

A fit to such a record agrees with that to the undamaged one.
"""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crossfade as cf
from tests.conftest import Cli, expect_one_line, long_form

LINK = """
schema = 2
link = { rate = "10 Mbit/s", packet_size = "1500 B", delay = "15 ms", queue = { limit = "40 packets" } }
reverse = { delay = "15 ms" }
channel = { model = "iid", p_e = 0.004 }
tcp = { variant = "sack", congestion = "cubic", w_max = 10000 }
run = { duration = "6 s", runs = 1 }
"""
HEADER = 24
HEAD = struct.Struct("<IIII")
# Port of the data sender in captures.
SENDER = 50_000
SECOND = 10**9

Frame = tuple[int, int, bytes]


@pytest.fixture(scope="module")
def whole() -> bytes:
    """Capture of a CUBIC flow at its sender, as a pcap file: raw IP packets, times in ns."""
    return cf.runs.pcap(LINK, snaplen=100)


def frames(data: bytes) -> list[Frame]:
    """Packets of a pcap file: time in ns, length on the wire in bytes, and captured bytes of each."""
    found, at = [], HEADER
    while at < len(data):
        seconds, nanos, kept, length = HEAD.unpack_from(data, at)
        at += HEAD.size
        found.append((seconds * SECOND + nanos, length, data[at : at + kept]))
        at += kept
    return found


def joined(head: bytes, packets: list[Frame]) -> bytes:
    """A pcap file with the file header of the pcap file ``head``, and the given packets."""
    rows = (
        HEAD.pack(time // SECOND, time % SECOND, len(body), length) + body for time, length, body in packets
    )
    return head[:HEADER] + b"".join(rows)


def is_data(frame: Frame) -> bool:
    """True if a packet comes from the data sender, by its source port."""
    return int.from_bytes(frame[2][20:22], "big") == SENDER


def changed(data: bytes, at: int, to: bytes) -> bytes:
    return data[:at] + to + data[at + len(to) :]


def later(data: bytes, seconds: int, first: int) -> bytes:
    """The capture with ``seconds`` added to the times of all packets from number ``first`` on."""
    packets = enumerate(frames(data))
    moved = [(time + seconds * SECOND * (at >= first), length, body) for at, (time, length, body) in packets]
    return joined(data, moved)


def udp(data: bytes) -> bytes:
    """The data packets of a TCP capture turned into UDP datagrams of equal content; no packets come back."""
    packets = []
    for time, _, body in filter(is_data, frames(data)):
        ip = body[:2] + (1228).to_bytes(2, "big") + body[4:9] + b"\x11" + body[10:20]
        packets.append((time, 1228, ip + body[20:24] + (1208).to_bytes(2, "big") + bytes(2) + bytes(64)))
    return joined(data, packets)


# pcapng


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    padded = body + bytes(-len(body) % 4)
    length = 12 + len(padded)
    return struct.pack(order + "II", kind, length) + padded + struct.pack(order + "I", length)


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(link_type: int, resolution: int = 9, order: str = "<") -> bytes:
    option = struct.pack(order + "HHBxxxHH", 9, 1, resolution, 0, 0)
    return block(1, struct.pack(order + "HHI", link_type, 0, 0) + option, order)


def enhanced(frame: Frame, number: int = 0, order: str = "<") -> bytes:
    time, length, body = frame
    head = struct.pack(order + "IIIII", number, time >> 32, time & 0xFFFFFFFF, len(body), length)
    return block(6, head + body, order)


def pcapng(data: bytes, before: bytes = b"", between: bytes = b"", number: int = 0) -> bytes:
    blocks = [enhanced(frame, number) + between for frame in frames(data)]
    return section() + before + b"".join(blocks)


ODD = (
    block(4, bytes(4))
    + block(0x0BAD, b"\x01\x02\x03\x04custom")
    + block(5, bytes(12))
    + block(0x40000BAD, b"")
)

Case = tuple[str, Callable[[bytes], bytes], str]

# Refused captures: name, change of the plain capture, and a part of the error message.
REFUSED: list[Case] = [
    ("nothing", lambda _: b"", ""),
    ("magic alone", lambda of: of[:4], "not a capture"),
    ("a header alone", lambda of: of[:HEADER], "no TCP or UDP packet with data"),
    ("link type", lambda of: changed(of, 20, struct.pack("<I", 127)), "link type 127: must be Ethernet (1)"),
    (
        "length",
        lambda of: changed(of, HEADER + 8, struct.pack("<I", 1 << 28)),
        "must be at most 262144 bytes",
    ),
    ("two captures in one file", lambda of: of + of, "another capture begins at byte"),
    ("the clock set back", lambda of: later(later(of, 9, 0), -5, 900), "the clock was set back"),
    ("the clock set forward", lambda of: later(of, 3 * 86_400, 900), "comes 72 hours after"),
    ("no acknowledgements", lambda of: joined(of, [f for f in frames(of) if is_data(f)]), "acknowledgements"),
    (
        "acknowledgements alone",
        lambda of: joined(of, [f for f in frames(of) if not is_data(f)]),
        "no TCP or UDP",
    ),
    ("garbage", lambda of: of[:HEADER] + bytes(range(256)) * 40, "must be at most 262144 bytes"),
    ("no IP", lambda of: joined(of, [(t, n, b"\x00" * len(b)) for t, n, b in frames(of)]), "no TCP or UDP"),
    ("few packets", lambda of: joined(of, frames(of)[:60]), "a fit needs at least"),
    ("at one time", lambda of: joined(of, [(0, n, b) for _, n, b in frames(of)]), "a fit needs at least"),
    ("UDP at one end", udp, "one end alone does not show what arrived"),
    ("packed and cut", lambda of: gzip.compress(of)[:-400], ""),
    ("a simple packet block", lambda of: pcapng(of, interface(101) + block(3, bytes(8))), "has no time"),
    ("no interface", lambda of: pcapng(of), "interface 0 is described nowhere"),
    (
        "another interface",
        lambda of: pcapng(of, interface(101), number=7),
        "interface 7 is described nowhere",
    ),
    ("a resolution", lambda of: pcapng(of, interface(101, 30)), "if_tsresol 30"),
    ("a foreign link type alone", lambda of: pcapng(of, interface(220)), "link type 220"),
    ("a block of 13 bytes", lambda of: section() + struct.pack("<III", 1, 13, 13), "has a length of 13"),
    (
        "a packet beyond its block",
        lambda of: section() + interface(101) + block(6, struct.pack("<5I", 0, 0, 0, 99, 99)),
        "no more than its block holds",
    ),
    ("no byte order", lambda of: changed(section(), 8, b"nope") + bytes(64), "not a capture"),
]


@pytest.mark.parametrize(("name", "made", "said"), REFUSED, ids=[case[0] for case in REFUSED])
def test_a_capture_that_cannot_be_read_is_one_line(
    name: str, made: Callable[[bytes], bytes], said: str, whole: bytes, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "record.pcap"
    file.write_bytes(made(whole))
    expect_one_line(cli("fit", str(file)), said)


# Captures that are fitted: name, change of the plain capture, and whether a warning says that it was cut.
READ: list[tuple[str, Callable[[bytes], bytes], bool]] = [
    ("cut in a packet", lambda of: of[: len(of) * 3 // 4 + 11], True),
    ("zeros at the end", lambda of: joined(of, frames(of)) + bytes(100_000), True),
    ("packed", lambda of: gzip.compress(of), False),
    ("odd blocks", lambda of: pcapng(of, interface(101), ODD), False),
    (
        "a foreign interface beside",
        lambda of: pcapng(of, interface(220) + interface(101) + enhanced(frames(of)[0]), number=1),
        False,
    ),
    (
        "a section of the other byte order",
        lambda of: section(">") + interface(220, order=">") + pcapng(of, interface(101)),
        False,
    ),
    ("zeros behind the last block", lambda of: pcapng(of, interface(101)) + bytes(4096), True),
    (
        "each packet at two interfaces",
        lambda of: joined(of, sorted(f for t, n, b in frames(of) for f in ((t, n, b), (t + 40_000, n, b)))),
        False,
    ),
]


@pytest.mark.parametrize(("name", "made", "is_cut"), READ, ids=[case[0] for case in READ])
def test_a_capture_that_is_odd_is_fitted_as_the_plain_one(
    name: str, made: Callable[[bytes], bytes], is_cut: bool, whole: bytes, tmp_path: Path
) -> None:
    file, plain = tmp_path / "record.pcap", tmp_path / "plain.pcap"
    file.write_bytes(made(whole))
    plain.write_bytes(whole)
    fit, expected = cf.fit.link(file), cf.fit.link(plain)
    assert fit.rate.value == pytest.approx(expected.rate.value, rel=2e-3)
    assert fit.delay.value == pytest.approx(expected.delay.value, rel=0.01)
    if "cut" not in name:
        assert fit.found["random_losses"] == expected.found["random_losses"]
    assert any("ends in the middle" in warning for warning in fit.warnings) == is_cut


def test_both_ends_in_the_wrong_order_or_of_other_flows_are_one_line(
    whole: bytes, cli: Cli, tmp_path: Path
) -> None:
    sender, receiver, other = (tmp_path / name for name in ("sender.pcap", "receiver.pcap", "other.pcap"))
    sender.write_bytes(whole)
    moved = [(t + (1 if is_data((t, n, b)) else -1) * 16 * 10**6 + SECOND, n, b) for t, n, b in frames(whole)]
    receiver.write_bytes(joined(whole, sorted(moved)))
    assert cli("fit", str(sender), str(receiver)).code == 0
    expect_one_line(cli("fit", str(receiver), str(sender)), "give the sender's first")
    other.write_bytes(udp(whole))
    expect_one_line(cli("fit", str(sender), str(other)), "does not have the flow")
    log = tmp_path / "ping.txt"
    log.write_text("PING a (a) 56(84) bytes of data.\n")
    expect_one_line(cli("fit", str(sender), str(log)), "is a log of ping")
    outcome = cli("fit", str(sender), str(sender))
    assert outcome.code in (0, 2), outcome.err


# Logs


def iperf(*sums: dict[str, Any], **more: Any) -> str:
    start = {"version": "iperf 3.16", "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 1448}}
    return json.dumps({"start": start, "intervals": [{"streams": [], "sum": of} for of in sums], **more})


def second(at: int, **more: Any) -> dict[str, Any]:
    return {"start": at, "end": at + 1, "bytes": 10**6, "retransmits": 0, "omitted": False, **more}


QLOG = '{"qlog_version": "0.3", "traces": [{"common_fields": {}, "events": [\n%s\n]}]}'
SENT = (
    '{"time": %d, "name": "transport:packet_sent", "data": '
    '{"header": {"packet_type": "1RTT", "packet_number": %d}, "raw": {"length": 1200}}}'
)
PING = "PING a (10.0.0.1) 56(84) bytes of data.\n"
ANSWER = "64 bytes from 10.0.0.1: icmp_seq=%d ttl=57 time=%s ms\n"
SS = "ESTAB 0 0 10.0.0.1:5001 10.0.0.2:80\n\t cubic rtt:%s/1 mss:1448 cwnd:10 bytes_acked:%s\n"
MM = "# mahimahi mm-link (Uplink) [x.up] > y\n# init timestamp: 1000\n# base timestamp: 1\n"

LOGS: list[tuple[str, str, str]] = [
    (
        "qlog of another layer",
        QLOG % '{"time": 1, "name": "http:frame_created", "data": {}}',
        "no packet_sent",
    ),
    ("qlog of the receiver", QLOG % ",\n".join(SENT % (n, n) for n in range(200)), "give that of the sender"),
    ("qlog without numbers", QLOG % '{"time": 1, "name": "transport:packet_sent", "data": {}}', "line 2"),
    ("qlog before its time", QLOG % (SENT % (-5, 1)), "line 2: time = -5"),
    ("qlog with zeros", QLOG.replace("[", "[\0") % "", "a byte of value 0"),
    ("qlog with one huge object", QLOG % ('{"x": "' + "y" * (1 << 20) + '"}'), "more than 1 MiB"),
    ("JSON in JSON in JSON", '{"qlog_version": "0.3", "x": ' + "[" * 100, "64 others"),
    ("iperf3 that could not connect", iperf(error="unable to connect"), "no intervals"),
    (
        "iperf3 in any order",
        iperf(second(5), second(1)),
        "sum.start = 1: the interval in front of it ends at 6",
    ),
    ("iperf3 with a number too large", iperf(second(1, bytes=1e300)), "sum.bytes"),
    ("iperf3 with an end before its start", iperf(second(3, end=2)), "must be after sum.start"),
    ("iperf3 with text", iperf(second(3, bytes="many")), "sum.bytes"),
    ("iperf3 with one interval", iperf(second(0)), "a fit needs at least 3"),
    ("irtt without round trips", '{"version": {"irtt": "0.9"}, "round_trips": []}', "no round_trips"),
    (
        "irtt with text",
        '{"version": {"irtt": "1"}, "round_trips": [\n{"timestamps": {"client": {"send": {"wall": "x"}}}}]}',
        "line 2",
    ),
    ("ping without an answer", PING + "\n--- a ping statistics ---\n", "no answer"),
    (
        "ping of many weeks",
        PING + "".join(ANSWER % (n * 30_000 % 65_536, "10") for n in range(400)),
        "probes are missing",
    ),
    ("ping with a negative time", PING + ANSWER % (1, "-3"), "line 2"),
    ("ping with zeros", PING + "\0" * (2 << 20), "longer than 1 MiB"),
    ("ss once", SS % ("40", "1000"), "needs two samples"),
    ("ss with a negative RTT", SS % ("-40", "1000"), "line 2: rtt:-40/1"),
    ("ss without addresses", "\t cubic rtt:40/1 mss:1448 cwnd:10\n" * 2, "line 1"),
    ("events back in time", "time_s,event,flow,seq\n1,send,0,0\n0.5,send,0,1\n", "line 3"),
    ("events without a packet", "time_s,event,flow,seq\n1,ack,0,0\n", "no packet that was sent"),
    ("mm-link with another line", MM + "1 + 1500\n2 x 1500\n", "line 5: 2 x 1500: must be TIME + BYTES"),
    ("mm-link with a size", MM + "1 + 70000\n", "line 4: 70000: must be from 1 to 65535 bytes"),
    ("mm-link back in time", MM + "9000 + 1500\n1 + 1500\n", "is 8999 ms before"),
    ("mm-link without packets", MM + "1 # 1504\n", "no packet that came"),
    (
        "mm-link that begins late",
        MM + "1 + 1500\n" + "".join(f"{n} - 1500 {n + 5}\n" for n in range(2, 50)),
        "",
    ),
    ("a half of a tunnel", "# ingress: 1000.5\n1.0 - 1 - 1500\n2.0 - 2 - 1500\n", "both ends"),
    ("JSON of no tool", '{"a": [1, 2, 3]}', ""),
    ("a journal that is cut", "crossfade journal 1\nH", "cut short"),
    ("no text", "\udcff\udcfe" * 50, ""),
]


@pytest.mark.parametrize(("name", "text", "said"), LOGS, ids=[case[0] for case in LOGS])
def test_a_log_that_cannot_be_read_is_one_line(
    name: str, text: str, said: str, cli: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "record"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    expect_one_line(cli("fit", str(file)), said)


def test_pairs_that_are_none_are_one_line(cli: Cli, tmp_path: Path) -> None:
    up, down, egress = (tmp_path / name for name in ("a.up", "a.down", "egress.log"))
    up.write_text("".join(f"{n}\n" for n in range(1, 4000)))
    down.write_text("5\n4\n")
    expect_one_line(cli("fit", str(up), str(down)))
    expect_one_line(cli("fit", str(down)))
    down.write_text("")
    expect_one_line(cli("fit", str(up), str(down)))
    up.write_text("1\n2\n")
    expect_one_line(cli("fit", str(up)), "too few for a fit")
    egress.write_text("# egress: 1000.5\n1.0 - 1 - 1500\n2.0 - 2 - 1500\n")
    expect_one_line(cli("fit", str(egress), str(egress)))
    expect_one_line(cli("fit", str(tmp_path)))
    expect_one_line(cli("fit", str(tmp_path / "missing")))


def test_an_interval_with_next_to_nothing_predicts_without_a_replay(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "iperf.json"
    file.write_text(iperf(*(second(at, bytes=10) for at in range(4))))
    outcome = cli("fit", str(file))
    assert outcome.code == 0, outcome.err
    fit = cf.fit.link(file)
    assert not fit.has_replay


# Program that runs a command and prints its status, standard error, peak memory and CPU time. It needs little
# memory, since the peak memory of a forked process includes that of its parent.
MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
of = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, done.stderr, of.ru_maxrss / 1024, of.ru_utime + of.ru_stime]))
"""


def limited(*words: str) -> tuple[int, str, float, float]:
    """Run ``crossfade``; returns exit status, standard error, peak memory in MB and CPU time in seconds."""
    command = [sys.executable, "-c", MEASURED, sys.executable, "-m", "crossfade", *words]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found[0], found[1], found[2], found[3]


TEN_GB = 10 * 1000**3


@pytest.mark.parametrize(
    "kind", ["capture", long_form("header"), "ping", "qlog", long_form("trace"), "journal"]
)
def test_ten_gigabytes_take_little_memory(kind: str, whole: bytes, tmp_path: Path) -> None:
    begins = {
        "capture": whole,
        "header": whole[:HEADER],
        "ping": PING.encode(),
        "qlog": QLOG.partition("%s")[0].encode(),
        "trace": b"1\n2\n3\n",
        "journal": b"crossfade journal 1\n",
    }[kind]
    file = tmp_path / ("big.up" if kind == "trace" else "big")
    file.write_bytes(begins)
    os.truncate(file, TEN_GB)
    assert file.stat().st_blocks * 512 < 100e6, "the file has holes"
    code, error, memory, seconds = limited("fit", str(file))
    assert code == (0 if kind == "capture" else 2), error
    assert error.count("\n") <= 1
    # A plain fit takes about 150 MB; journals and recorded losses are read up to 256 MiB.
    assert memory < (700 if kind in ("journal", "trace") else 350), f"{memory:.0f} MB"
    assert seconds < 60
