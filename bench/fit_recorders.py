"""Make records of a simulated link for `fit_links.py`: captures of TCP and QUIC flows, and events of UDP.

``RECORDERS`` are the records of the tables in the documentation. ``OTHERS`` are records that users also have:
other flows, and captures that start late, lack acknowledgements, or join segments. This module has no
command.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import crossfade as cf

RECORDERS = ("cubic", "reno", "bbr-v1", "quic", "udp")
OTHERS = {
    "bbr-v3": "BBRv3",
    "udp-slow": "UDP at 10 to 80 % of the rate, exactly paced",
    "udp-poisson": "UDP at random times, 60 % of the rate",
    "udp-on-off": "UDP above the rate, on for 1 s and off for 1 s in the mean",
    "held": "CUBIC whose application offers 10 to 80 % of the rate",
    "window": "CUBIC with a receive window of 0.2 to 0.9 BDP",
    "two": "two CUBIC flows in one capture",
    "short": "CUBIC, 10 s",
    "late": "CUBIC, without the first 30 % of the capture",
    "thinned": "CUBIC, one acknowledgement for all segments of 5 ms",
    "offload": "CUBIC, trains of segments as TSO hands them over",
    "reno-window": "Reno with a receive window of 1.1 to 3 BDP",
}
# Bytes of IP and TCP headers with timestamps, and of the largest segment of TSO.
HEADERS = 52
LARGEST = 65_000
# Segments that follow one another within this time, in ns, are joined as one TSO segment.
TRAIN_NS = 200_000
Frame = tuple[int, int, bytes]


def keys(control: str, link: dict[str, Any]) -> dict[str, Any]:
    """Keys of the scenario for a recorder or predicted congestion control ``control`` on a drawn link."""
    draw = random.Random(f"{control} {link['number']}")
    bdp = max(4.0, link["rate"] * link["rtt"] / 12e3)
    rate = link["rate"]

    def udp(share: float, **more: Any) -> dict[str, Any]:
        flow = {"traffic": "udp", "rate": f"{share * rate:.0f} bit/s", **more}
        return {"tcp": None, "flows": {"udp": flow}}

    found: dict[str, dict[str, Any]] = {
        "quic": {"tcp.flavour": "quic", "tcp.variant": None},
        "udp": udp(link["udp"]),
        "udp-slow": udp(draw.uniform(0.1, 0.8)),
        "udp-poisson": udp(0.6, traffic="poisson"),
        "udp-on-off": udp(draw.uniform(1.3, 2), on="1 s", off="1 s"),
        "held": {
            "flows": {"held": {"traffic": "bulk", "rate": f"{draw.uniform(0.1, 0.8) * rate:.0f} bit/s"}}
        },
        "window": {"tcp.w_max": max(2, round(draw.uniform(0.2, 0.9) * bdp))},
        "reno-window": {"tcp.congestion": "reno", "tcp.w_max": max(8, round(draw.uniform(1.1, 3) * bdp))},
        "two": {"flows": {"two": {"traffic": "bulk", "count": 2, "stagger": "1 s"}}},
        "short": {"run.duration": "10 s"},
        "thinned": {"reverse.aggregation": {"period": "5 ms", "thinning": 1000}},
        "late": {},
        "offload": {},
    }
    return found.get(control, {"tcp.congestion": control})


def record(text: str, link: dict[str, Any], recorder: str, folder: Path) -> Path:
    """Record one run of a scenario in ``folder``; returns the capture (.pcap) or the events of UDP (.csv)."""
    of = keys(recorder, link)
    if "tcp" in of:
        file = folder / "record.csv"
        cf.runs.write_events(file, text, set=of)
        return file
    file = folder / "record.pcap"
    cf.runs.write_pcap(file, text, set=of, snaplen=100)
    if recorder == "late":
        data = file.read_bytes()
        all_frames = frames(data)
        file.write_bytes(joined(data, all_frames[3 * len(all_frames) // 10 :]))
    if recorder == "offload":
        file.write_bytes(trains(file.read_bytes()))
    return file


def frames(data: bytes) -> list[Frame]:
    """Frames of a pcap file with times in ns: of each the time, the bytes on the wire, the captured bytes."""
    found, at = [], 24
    while at < len(data):
        seconds, fraction, kept, length = struct.unpack_from("<IIII", data, at)
        found.append((seconds * 10**9 + fraction, length, data[at + 16 : at + 16 + kept]))
        at += 16 + kept
    return found


def joined(data: bytes, of: list[Frame]) -> bytes:
    """A pcap file with the file header of the pcap file ``data``, and the given frames."""
    heads = (struct.pack("<IIII", *divmod(time, 10**9), len(body), length) for time, length, body in of)
    return data[:24] + b"".join(head + body for head, (_, _, body) in zip(heads, of, strict=True))


def trains(data: bytes) -> bytes:
    """The capture with consecutive data segments joined, as an interface with TSO shows them."""
    found: list[Frame] = []
    train: list[Frame] = []

    def close() -> None:
        if train:
            time, _, body = train[0]
            length = HEADERS + sum(length - HEADERS for _, length, _ in train)
            found.append((time, length, body[:2] + struct.pack(">H", length) + body[4:]))
            train.clear()

    all_frames = frames(data)
    # The largest frame has data, so it shows the port of the sender.
    large = max(all_frames, key=lambda frame: frame[1])
    sender = large[2][20:22]
    for frame in all_frames:
        time, length, body = frame
        if body[20:22] != sender or length <= HEADERS:
            found.append(frame)
            continue
        if train:
            last = train[-1]
            follows = number(last) + last[1] - HEADERS == number(frame)
            size = sum(length - HEADERS for _, length, _ in train)
            if not follows or time - last[0] > TRAIN_NS or size + length > LARGEST:
                close()
        train.append(frame)
    close()
    return joined(data, sorted(found, key=lambda frame: frame[0]))


def number(frame: Frame) -> int:
    """TCP sequence number of a frame."""
    return int.from_bytes(frame[2][24:28], "big")
