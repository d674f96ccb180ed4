"""What a host saw of a live run, from its packet capture: begin and end of a transfer, and its goodput."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crossfade.errors import ScenarioError
from crossfade.suite.timeline import Timeline

# The magic numbers of pcap files, of nanoseconds and microseconds; the byte order is this machine's or not.
SCALES = {0xA1B23C4D: 1e-9, 0xA1B2C3D4: 1e-6}
TCP, UDP = 6, 17

FEWEST_BYTES = 100
"""Packets with less data than this may be keep-alives, tokens or farewells, and end no transfer."""


@dataclass(frozen=True)
class Packet:
    """An IPv4 packet: when it passed, from which address, and the bytes of data behind its headers."""

    time_s: float
    source: str
    data: int


@dataclass(frozen=True)
class Transfer:
    """A transfer to a host: from its first packet out to the last with data in."""

    began_s: float
    ended_s: float
    line: Timeline

    @property
    def took_s(self) -> float:
        """How long it lasted."""
        return self.ended_s - self.began_s


def transfer(capture: Path, near: str, every_s: float) -> Transfer | None:
    """The transfer that the near host saw; None where nothing came.

    ``near`` is its own address. The timeline has ``goodput_bps``, the data behind the headers of all packets
    that came in, repeated ones too, by samples of ``every_s``.
    """
    began = ended = None
    sums: dict[int, float] = {}
    last = 0
    for packet in packets(capture):
        last = max(last, int(packet.time_s / every_s))
        if packet.source == near:
            began = packet.time_s if began is None else began
            continue
        if packet.data >= FEWEST_BYTES:
            ended = packet.time_s
        number = int(packet.time_s / every_s)
        sums[number] = sums.get(number, 0.0) + 8.0 * packet.data
    if began is None or ended is None:
        return None
    series = [((number + 1) * every_s, sums.get(number, 0.0) / every_s) for number in range(last + 1)]
    return Transfer(began, ended, Timeline({"goodput_bps": series, "main.goodput_bps": series}))


def packets(capture: Path) -> Iterator[Packet]:
    """The IPv4 packets of a capture of raw IP (link type 101), in its order."""
    with open(capture, "rb") as file:
        head = file.read(24)
        order = next((order for order in "<>" if _magic(head, order) in SCALES), None)
        if len(head) < 24 or order is None:
            raise ScenarioError(f"{capture}: no packet capture")
        scale = SCALES[_magic(head, order)]
        while len(line := file.read(16)) == 16:
            seconds, parts, kept, _ = struct.unpack(f"{order}IIII", line)
            data = file.read(kept)
            if (found := _packet(seconds + parts * scale, data)) is not None:
                yield found


def _magic(head: bytes, order: str) -> int:
    return int(struct.unpack(f"{order}I", head[:4])[0]) if len(head) >= 4 else 0


def _packet(time_s: float, data: bytes) -> Packet | None:
    if len(data) < 20 or data[0] >> 4 != 4:
        return None
    inner = 4 * (data[0] & 15)
    total = int.from_bytes(data[2:4], "big")
    source = ".".join(map(str, data[12:16]))
    if data[9] == TCP and len(data) >= inner + 13:
        return Packet(time_s, source, max(0, total - inner - 4 * (data[inner + 12] >> 4)))
    if data[9] == UDP:
        return Packet(time_s, source, max(0, total - inner - 8))
    return None
