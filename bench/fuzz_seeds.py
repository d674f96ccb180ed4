"""Seeds for bench/fuzz.py: first inputs of each target, from the files of the repository and the schema.

This module has no command. ``SEEDS`` has a generator of inputs (bytes) per target, ``LONGEST`` their limit.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
import struct
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[1]

# Longest input of each target in bytes: a little more than its parser meets in practice.
LONGEST = {
    "scenario": 6000,
    "golden": 4000,
    "trace": 600,
    "losses": 400,
    "table": 1200,
    "rows": 4096,
    "arq": 2000,
    "packet": 210,
    "window": 900,
    "journal": 2400,
    "capture": 24_000,
    "log": 12_000,
    "formats": 1000,
    "control": 600,
}

# The schema of scenarios, from the snapshot of a test.
SCHEMA: dict[str, Any] = json.loads(
    (ROOT / "crates/scenario/tests/snapshots/all__snapshots__the_schema.snap")
    .read_text(encoding="utf-8")
    .split("---\n", 2)[2]
)


def texts_between_quotes(pattern: str, *folders: str) -> list[str]:
    """Every match of `pattern` in the Rust files below `folders`."""
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.rs"))]
    return [
        text for path in files for text in re.findall(pattern, path.read_text(encoding="utf-8"), re.DOTALL)
    ]


# Number of scenarios that get each value of each key, and each pair of a word and a value of another key.
FEW, FEW_PAIRS = 4, 1

# Marker in place of a value: the key is removed.
GONE = "gone"


def scenarios() -> Iterator[bytes]:
    """Scenarios found in the repository, and variants of them with other values of each key."""
    had: Counter[str] = Counter()
    for text in written_scenarios():
        yield text.encode()
        try:
            scenario = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        for variant in variants(scenario, had):
            data = as_toml(variant).encode()
            if len(data) <= LONGEST["scenario"]:
                yield data


def written_scenarios() -> Iterator[str]:
    """Shipped scenarios, those in tests and pages, and finite-state channels that none of them has."""
    for path in sorted((ROOT / "scenarios").rglob("*.toml")):
        yield path.read_text(encoding="utf-8")
    pages = [
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "tests").rglob("*.py"),
        *(ROOT / "crates").glob("*/tests/**/*.rs"),
    ]
    for path in sorted(pages):
        if "_build" in path.parts:
            continue
        for text in re.findall(
            r'schema = [12]\n.*?(?="#|"""|```)', path.read_text(encoding="utf-8"), re.DOTALL
        ):
            if len(text) < LONGEST["scenario"]:
                yield text
    quick = tomllib.loads((ROOT / "scenarios/quickstart.toml").read_text(encoding="utf-8"))
    quick.pop("sweep", None)
    for transitions in ([[0.9, 0.1], [0.2, 0.8]], [[1, 0], [0, 1]], [[0.5, 0.4], [0, 1]], [[1]], []):
        losses = [0.01, 1.0][: len(transitions)]
        channel = {"model": "finite-state", "transitions": transitions, "state_p_e": losses}
        yield as_toml(quick | {"channel": channel})


def variants(scenario: dict[str, Any], had: Counter[str]) -> Iterator[dict[str, Any]]:
    """Copies of a scenario with one or two keys changed, unless enough earlier ones had this change.

    A key gets each value that the schema names, numbers at and beside its bounds, some values that it does
    not take, and is removed. A key with a list of words also gets each word together with each value of each
    other key of its table. ``had`` counts the changes so far.
    """
    neighbours: dict[tuple[str, ...], list[tuple[str, dict[str, Any]]]] = {}
    for path, schema in keys(SCHEMA, ()):
        if path[-1] != "*":
            neighbours.setdefault(path[:-1], []).append((path[-1], schema))
    for path, named in neighbours.items():
        if table_at(scenario, path) is None:
            continue
        for name, schema in named:
            changes = [{name: value} for value in [*values(schema), GONE, 0, -1, 3, 1e308, "1 ms", "x"]]
            pairs = [
                {name: word, other: value}
                for word in words(schema)
                for other, its in named
                if other != name
                for value in [*values(its), GONE]
            ]
            for few, several in ((FEW, changes), (FEW_PAIRS, pairs)):
                for change in several:
                    key = repr((path, change))
                    had[key] += 1
                    if had[key] <= few:
                        yield changed(scenario, path, change)


def table_at(scenario: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any] | None:
    """The table of a scenario at a path of names, None if there is none; ``*`` is the first name."""
    table: Any = scenario
    for part in path:
        table = table.get(next(iter(table), "") if part == "*" else part)
        if not isinstance(table, dict):
            return None
    return cast(dict[str, Any], table)


def changed(scenario: dict[str, Any], path: tuple[str, ...], change: dict[str, Any]) -> dict[str, Any]:
    """A copy of a scenario with keys of one table set or removed."""
    new = copy.deepcopy(scenario)
    table = table_at(new, path)
    assert table is not None
    for name, value in change.items():
        if value is GONE:
            table.pop(name, None)
        else:
            table[name] = value
    return new


Key = tuple[tuple[str, ...], dict[str, Any]]


def keys(schema: dict[str, Any], path: tuple[str, ...]) -> Iterator[Key]:
    """Each key below a schema: the path of names to it (``*`` is any name), and its own schema."""
    for alternative in schema.get("anyOf", []):
        yield from keys(alternative, path)
    for name, part in schema.get("properties", {}).items():
        yield from keys(part, (*path, name))
    if isinstance(part := schema.get("additionalProperties"), dict):
        yield from keys(part, (*path, "*"))
    if path:
        yield path, schema


def words(schema: dict[str, Any]) -> Iterator[str]:
    """The words that a key takes, if the schema lists them."""
    yield from (word["const"] for word in schema.get("oneOf", []) if "const" in word)
    for alternative in schema.get("anyOf", []):
        yield from words(alternative)


def values(schema: dict[str, Any]) -> Iterator[Any]:
    """Values that a key takes by its schema, and numbers beside its bounds."""
    yield from re.findall(r'"([^"]*)"', schema.get("x-expects", ""))
    yield from words(schema)
    for bound in ("minimum", "maximum", "exclusiveMinimum"):
        if bound in schema:
            yield from (schema[bound] - 1, schema[bound], schema[bound] + 1)
    for alternative in schema.get("anyOf", []):
        yield from (value for value in values(alternative) if value not in words(alternative))
    if schema.get("x-file"):
        # The target chooses the content of the file by the last letter of its name.
        yield from (f"file{kind}" for kind in range(10))


def as_toml(scenario: dict[str, Any]) -> str:
    """The TOML text of a scenario, with each top-level table on one line."""

    def written(value: Any) -> str:
        if isinstance(value, dict):
            parts = (f"{json.dumps(name)} = {written(part)}" for name, part in value.items())
            return "{ " + ", ".join(parts) + " }"
        if isinstance(value, list):
            return "[" + ", ".join(map(written, value)) + "]"
        return json.dumps(value, ensure_ascii=False)

    return "".join(f"{json.dumps(name)} = {written(value)}\n" for name, value in scenario.items())


def golden() -> Iterator[bytes]:
    """Golden traces of ns-2: shortened loss patterns on the first line, then the first lines of the trace."""
    for folder in sorted((ROOT / "tests/data/golden").glob("ns2*")):
        if not (folder / "patterns.json").is_file():
            continue
        whole = json.loads((folder / "patterns.json").read_text(encoding="utf-8"))
        short = {key: value[:6] if key == "patterns" else value for key, value in whole.items()}
        for path in sorted(folder.glob("*.csv.gz"))[:8]:
            lines = gzip.decompress(path.read_bytes()).decode().splitlines()
            for count in (6, 30):
                yield "\n".join([json.dumps(short, separators=(",", ":")), *lines[:count], ""]).encode()


def traces() -> Iterator[bytes]:
    """Link traces (delivery opportunities, rates or attenuation over time), shipped and from tests."""
    for path in [*sorted((ROOT / "scenarios").rglob("*.csv")), *sorted((ROOT / "tests/data").glob("*.csv"))]:
        yield "\n".join([*path.read_text(encoding="utf-8").splitlines()[:60], ""]).encode()
    yield b"0\n0\n1\n5\n12\n"
    yield b"time_s,rate_bps\n0,1e6\n1.5,2e6\n10,0\n"
    yield b"time_s,attenuation_db\n0,3\n10,4.5\n"
    for text in texts_between_quotes(r'"((?:[0-9a-z_,. #]|\\n)+\\n(?:[0-9a-z_,. #]|\\n)+)"', "crates/link"):
        yield text.replace("\\n", "\n").encode()


def losses() -> Iterator[bytes]:
    """Recorded losses in each form that the parser takes, and in some that it refuses."""
    yield from (
        b"0101101\n",
        b"0 1 0 1\n",
        b"0\n1\n1\n0\n",
        b"sent,lost\n1,0\n2,1\n",
        b"# lost\n3\n4\n10\n",
        b"10 3\n20 1\n",
    )
    for text in texts_between_quotes(
        r'"((?:[0-9a-z_,. #]|\\n)+\\n(?:[0-9a-z_,. #]|\\n)+)"', "crates/channel"
    ):
        yield text.replace("\\n", "\n").encode()


def tables() -> Iterator[bytes]:
    """Each table, once for each parser: the first byte chooses the parser."""
    for text in plain_tables():
        for reader in b"012345":
            yield bytes([reader]) + text


def plain_tables() -> Iterator[bytes]:
    """Tables that scenarios name, and golden tables of chains and of antenna weights."""
    weights = json.loads((ROOT / "tests/data/golden/weights/vectors.json").read_text(encoding="utf-8"))
    for entry in weights:
        if len(text := json.dumps([entry], separators=(",", ":"))) < LONGEST["table"]:
            yield text.encode()
    for path in (ROOT / "tests/data/golden/ns2-chain").glob("*.csv"):
        yield path.read_bytes()[: LONGEST["table"]]
    yield b"time_s,sinr_db\n0,12.5\n0.1,9\n"
    yield b"0 12.5 3\n0.1 9 -4\n# end\n"
    yield b"node,x_m,y_m\n0,0,0\n1,200,0\n2,400,50\n"
    yield b"snr_db,transmissions,residual\n0,1,0.5\n10,1,0.01\n10,2,0.001\n"
    yield b"scheme,snr_db,transmissions,residual\nsiso,0,1,0.5\nblast,0,1,0.1\n"
    yield b"axis,from,to,phy.scheme\nchannel.snr_db,-9,5,siso\nchannel.snr_db,5,40,alamouti\n"
    for text in texts_between_quotes(
        r'"((?:[0-9a-z_,. #]|\\n)+\\n(?:[0-9a-z_,. #]|\\n)+)"', "crates/phy", "crates/cell", "crates/mac"
    ):
        yield text.replace("\\n", "\n").encode()


def rows() -> Iterator[bytes]:
    """Names of metrics with values, many of them impossible in a run."""
    rng = random.Random(1)
    names = ["goodput_bps", "rtt_mean_s", "link_utilisation", "flow:a.goodput_bps", "loss_rate", "timeouts"]
    values = [0.0, 1.0, 1e6, -1.0, 1e300, float("nan")]
    for _ in range(30):
        parts = []
        for _ in range(rng.randrange(1, 25)):
            chosen = "\n".join(sorted(rng.sample(names, rng.randrange(1, 5))))
            parts.append(chosen.encode() + struct.pack("<3d", *(rng.choice(values) for _ in range(3))))
        yield b"".join(parts)


def frames() -> Iterator[bytes]:
    """Link frames with mostly consecutive numbers, as an ARQ receiver gets them."""
    rng = random.Random(2)
    kinds = [0x80, 0x82, 0x42, 0x02, 0xC3, 0x81]
    for _ in range(40):
        data = bytearray()
        for number in range(rng.randrange(4, 120)):
            data += bytes(
                [
                    rng.choice(kinds),
                    (number + rng.randrange(-2, 3)) % 256,
                    max(0, number - 4),
                    rng.randrange(60),
                ]
            )
        yield bytes(data)


def packets() -> Iterator[bytes]:
    """IPv4 and IPv6 packets: TCP with options, UDP, ICMP, fragments, extension headers, tunnels.

    Each follows a ``struct virtio_net_hdr``, empty or with the size of the segments into which to cut it.
    """
    for data in plain_packets():
        for size in (1, 7, 20):
            for kind, place in ((0, 0), (1, 16), (0x81, 16), (4, 16), (5, 6)):
                begin = 20 if data[0] >> 4 == 4 else 40
                yield struct.pack("=BBHHHH", kind > 0, kind, 0, size, begin, place) + data


def plain_packets() -> Iterator[bytes]:
    """Each packet alone."""

    def ip4(protocol: int, payload: bytes, flags: int = 0x4000, tos: int = 0) -> bytes:
        fields = (0x45, tos, 20 + len(payload), 1, flags, 64, protocol, 0, 0x0A000001, 0x0A000002)
        return struct.pack(">BBHHHBBHII", *fields) + payload

    def ip6(following: int, payload: bytes, traffic_class: int = 0) -> bytes:
        return (
            struct.pack(">IHBB", 0x60000000 | traffic_class << 20, len(payload), following, 64)
            + bytes(32)
            + payload
        )

    def tcp(flags: int, payload: bytes = b"", options: bytes = b"") -> bytes:
        offset = (20 + len(options)) // 4 << 4
        fields = (1000, 80, 5, 6, offset, flags, 50_000, 0, 0)
        return struct.pack(">HHIIBBHHH", *fields) + options + payload

    udp = struct.pack(">HHHH", 1, 2, 12, 0) + b"abcd"
    yield ip4(6, tcp(0x10))
    yield ip4(6, tcp(0x18, b"x" * 50))
    yield ip4(6, tcp(2, b"", b"\x02\x04\x05\xb4\x01\x03\x03\x07"))
    yield ip4(6, tcp(0x10, b"a"), tos=1)
    yield ip4(6, tcp(0x10)[:13])
    yield ip4(17, udp)
    yield ip4(17, udp, 0x2001)
    yield ip4(1, b"\x08\0\0\0abcd")
    yield ip4(4, ip4(6, tcp(0x10)))
    yield ip6(6, tcp(0x10))
    yield ip6(6, tcp(0x12, b"", b"\x03\x03\x02\x00"))
    yield ip6(17, udp, 2)
    yield ip6(0, b"\x11\0" + bytes(6) + udp)
    yield ip6(44, b"\x06\0\0\1\0\0\0\1" + tcp(0x10))


def windows() -> Iterator[bytes]:
    """The largest window in bytes, and the packets of a host: handshakes and other packets."""
    rng = random.Random(5)
    packets = list(plain_packets())
    handshakes = [data for data in packets if data[33:34] == b"\x02" or data[53:54] == b"\x02"]
    for most in (1, 1000, 58_400, 1 << 20, (1 << 32) - 1):
        for _ in range(4):
            others = (rng.choice(packets) for _ in range(5))
            chosen = [rng.choice(handshakes), *others, rng.choice(handshakes)]
            parts = (bytes([rng.randrange(2), len(data)]) + data for data in chosen)
            yield struct.pack(">I", most) + b"".join(parts)


def entries() -> Iterator[bytes]:
    """Entries of journals of live runs, 24 bytes each."""
    rng = random.Random(3)
    for _ in range(20):
        count = rng.randrange(1, 30)
        yield bytes(rng.randrange(256) if at % 24 in (0, 8, 16) else 0 for at in range(24 * count))


def captures() -> Iterator[bytes]:
    """Captures with enough packets for a fit, as pcap and pcapng: TCP, encrypted QUIC, QUIC in clear."""

    def packet(is_up: bool, protocol: int, rest: bytes, payload: int) -> bytes:
        ends = (0x0A000001, 0x0A000002) if is_up else (0x0A000002, 0x0A000001)
        length = 20 + len(rest) + payload
        return struct.pack(">BBHHHBBHII", 0x45, 0, length, 1, 0x4000, 64, protocol, 0, *ends) + rest

    def tcp(is_up: bool, number: int, flags: int, at_ms: int, sack: bytes = b"") -> bytes:
        ports = (1000, 80) if is_up else (80, 1000)
        seq, ack = (number, 1) if is_up else (1, number)
        options = b"\x01\x01\x08\x0a" + struct.pack(">II", at_ms, max(0, at_ms - 20)) + sack
        fields = (*ports, seq, ack, (20 + len(options)) // 4 << 4, flags, 60_000, 0, 0)
        return packet(is_up, 6, struct.pack(">HHIIBBHHH", *fields) + options, 1448 if is_up else 0)

    def udp(is_up: bool, data: bytes, payload: int) -> bytes:
        ports = (1000, 443) if is_up else (443, 1000)
        return packet(is_up, 17, struct.pack(">HHHH", *ports, 8 + payload, 0) + data, payload - len(data))

    def stream(chance: random.Random) -> list[tuple[int, bytes]]:
        found = [(0, tcp(True, 0, 2, 1)), (20, tcp(False, 1, 18, 21))]
        for index in range(130):
            at = 40 + 10 * index
            found.append((at, tcp(True, 1 + 1448 * index, 16, at)))
            if chance.random() < 0.9:
                found.append((at + 20, tcp(False, 1 + 1448 * (index + 1), 16, at + 20)))
        return found

    def quic(chance: random.Random) -> list[tuple[int, bytes]]:
        initial = b"\xc3\0\0\0\x01" + bytes(11)
        found = [(0, udp(True, initial, 1200)), (20, udp(False, initial, 1200))]
        for index in range(130):
            at = 40 + 10 * index
            first = 0x40 | (index // 4 & 1) << 5 | chance.randrange(32)
            found.append((at, udp(True, bytes([first]) + chance.randbytes(15), 1222)))
            found.append((at + 1, udp(False, bytes([first]) + chance.randbytes(15), 30)))
        return found

    def clear(chance: random.Random) -> list[tuple[int, bytes]]:
        found = []
        for index in range(130):
            at, number = 10 * index, struct.pack(">H", index)
            found.append((at, udp(True, b"\x41" + bytes(8) + number + b"\x0e\0\0\0", 1222)))
            said = b"\x41" + bytes(8) + number + b"\x02" + struct.pack(">H", 0x4000 | index) + bytes(3)
            if chance.random() < 0.9:
                found.append((at + 20, udp(False, said, 30)))
        return found

    for make in (stream, quic, clear):
        packets = sorted(make(random.Random(6)))
        head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 101)
        rows = (
            struct.pack("<IIII", at // 1000, at % 1000 * 10**6, len(of), len(of)) + of for at, of in packets
        )
        yield head + b"".join(rows)
        blocks = [struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)]
        blocks.append(struct.pack("<IIHHII", 1, 20, 101, 0, 0, 20))
        for at, of in packets:
            padded = of + bytes(-len(of) % 4)
            length = 32 + len(padded)
            fields = (6, length, 0, 0, at * 1000, len(of), len(of))
            blocks.append(struct.pack("<IIIIIII", *fields) + padded + struct.pack("<I", length))
        yield b"".join(blocks)


def logs() -> Iterator[bytes]:
    """A log of each tool (qlog, iperf3, irtt, ping, ss, ...) with enough packets or intervals for a fit."""

    def event(name: str, at: int, **data: object) -> str:
        header = {"packet_type": "1RTT", "packet_number": data.pop("number", 0)}
        return json.dumps({"time": at, "name": f"transport:{name}", "data": {"header": header, **data}})

    def named(at: int) -> str:
        ack = {"frame_type": "ack", "ack_delay": 1.0, "acked_ranges": [[at, at]]}
        return event("packet_received", 20 + at, frames=[ack], raw={"length": 30})

    sent = [event("packet_sent", at, number=at, raw={"length": 1200}) for at in range(20)]
    qlog = [line for pair in zip(sent, map(named, range(20)), strict=True) for line in pair]
    yield ('{"qlog_version": "0.3", "traces": [{"events": [' + ",\n".join(qlog) + "]}]}").encode()
    yield "\n".join(
        ['\x1e{"qlog_format": "JSON-SEQ", "trace": {}}', *(f"\x1e{line}" for line in qlog)]
    ).encode()
    for protocol, streams in (("TCP", [{"rtt": 40_000}]), ("UDP", [])):
        start = {"version": "iperf 3.16", "test_start": {"protocol": protocol, "num_streams": 1}}
        sums = [
            {"start": at, "end": at + 1, "bytes": 10**6, "retransmits": 1, "packets": 700, "lost_packets": 9}
            for at in range(5)
        ]
        of_all = [{"streams": streams, "sum": of} for of in sums]
        end = {"sum": {"lost_percent": 5.0}}
        yield json.dumps({"start": start, "intervals": of_all, "end": end}).encode()
    trips = [
        {"lost": "false", "timestamps": {"client": {"send": {"wall": 10**9 + at}}}, "delay": {"rtt": 10**7}}
        for at in range(1, 9)
    ]
    yield json.dumps({"version": {"irtt": "0.9"}, "round_trips": trips}).encode()
    yield b"PING a (10.0.0.1) 56(84) bytes of data.\n" + b"".join(
        b"[1700000000.%06d] 64 bytes from 10.0.0.1: icmp_seq=%d ttl=57 time=%d.5 ms\n" % (at, at, at)
        for at in range(1, 9)
    )
    yield b"Reply from 10.0.0.1: bytes=32 time<1ms TTL=57\nRequest timed out.\n" * 4
    ss = "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n\t cubic rtt:40.5/2 mss:1448 cwnd:10 bytes_acked:{} retrans:0/1 "
    ss += "data_segs_out:9 delivery_rate 11.6Mbps app_limited minrtt:40\n"
    yield "".join(f"170000000{at}.5\n{ss.format(at * 10**6)}" for at in range(6)).encode()
    events = (f"0.0{at:02d},send,0,{at}\n0.1{at:02d},receive,0,{at}\n" for at in range(60))
    yield ("time_s,event,flow,seq\n" + "".join(sorted("".join(events).splitlines(True)))).encode()
    rows = (f"{at} + 1500\n{at + 20} - 1500 20\n{at + 1} d 1 1500\n{at} # 1504\n" for at in range(150))
    yield ("# mahimahi mm-link (Uplink) [x] > y\n# init timestamp: 9\n" + "".join(rows)).encode()


def formats() -> Iterator[bytes]:
    """Recordings of links: examples of each format in the tests, traces, and logs of emulators."""
    for path in sorted((ROOT / "tests/data/recordings").iterdir()):
        yield path.read_bytes()
    yield from traces()
    yield b"# egress: 1000.5\n0.1 - 1 - 1500\n1.2 - 2 - 1500\n"
    yield b"# init timestamp: 1000.5\n0.100 + 1500 1\n20.100 - 1500 20.000 1\n21.000 # 1500\n"


def connections() -> Iterator[bytes]:
    """A sender and the events of its network, mostly deliveries; each congestion control, TCP and QUIC."""
    rng = random.Random(4)
    for control in range(14):
        for _ in range(6):
            sender = bytes([control, *(rng.randrange(256) for _ in range(7))])
            ops = [0, 3, 6] * 8 + list(range(16))
            yield sender + bytes(
                byte for _ in range(rng.randrange(20, 250)) for byte in (rng.choice(ops), rng.randrange(8))
            )


SEEDS = {
    "scenario": scenarios,
    "golden": golden,
    "trace": traces,
    "losses": losses,
    "table": tables,
    "rows": rows,
    "arq": frames,
    "packet": packets,
    "window": windows,
    "journal": entries,
    "capture": captures,
    "log": logs,
    "formats": formats,
    "control": connections,
}
