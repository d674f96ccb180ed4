"""Captures of the hosts of a live run: the transfer, its goodput, and delays of packets."""

from __future__ import annotations

import math
import struct
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crossfade.errors import ScenarioError
from crossfade.suite.timeline import Timeline

# Magic numbers of pcap files with times in nanoseconds and microseconds, in either byte order.
SCALES = {0xA1B23C4D: 1e-9, 0xA1B2C3D4: 1e-6}
TCP, UDP = 6, 17

FEWEST_BYTES = 100
"""Least bytes of data of a packet that can end a transfer; smaller ones may be keep-alives or tokens."""


FULL_BYTES = 1000
"""Least bytes of data of a full packet; only delays of full packets, equal in size, show the queue alone."""


@dataclass(frozen=True)
class Packet:
    """IPv4 packet of a capture: its time, sender's address, and bytes of data behind its headers.

    ``size`` includes the headers; ``identity`` is equal for one packet in the captures of two hosts.
    """

    time_s: float
    source: str
    data: int
    size: int = 0
    identity: int = 0


@dataclass(frozen=True)
class Transfer:
    """Transfer to a host, from its first packet sent to the last packet with data received."""

    began_s: float
    ended_s: float
    line: Timeline
    arrived: Sequence[tuple[float, int, int]] = ()
    """Time, bytes with all headers, and bytes of data of each packet that came in."""

    @property
    def took_s(self) -> float:
        """Duration of the transfer in seconds."""
        return self.ended_s - self.began_s

    def bytes_between(self, from_s: float, to_s: float) -> tuple[int, int]:
        """Bytes received between two times: with all headers, and of data alone."""
        found = [(size, data) for time_s, size, data in self.arrived if from_s <= time_s < to_s]
        return sum(size for size, _ in found), sum(data for _, data in found)


@dataclass(frozen=True)
class Delays:
    """Delays of packets between the hosts: full packets with data, and all packets of the other direction.

    Each is a pair of the time of arrival and the delay, in seconds.
    """

    data: Sequence[tuple[float, float]] = ()
    back: Sequence[tuple[float, float]] = field(default_factory=tuple)

    def queueing_s(self, share: float, from_s: float = 0.0, to_s: float = math.inf) -> float:
        """Quantile of the data's delays beyond the shortest of all, in seconds; NaN without data."""
        least = min((delay for _, delay in self.data), default=math.nan)
        return self.one_way_s(share, from_s, to_s) - least

    def one_way_s(self, share: float, from_s: float = 0.0, to_s: float = math.inf) -> float:
        """Quantile of the data's delays, in seconds."""
        return quantile([delay for time_s, delay in self.data if from_s <= time_s < to_s], share)

    def round_trip_s(self, share: float, from_s: float = 0.0, to_s: float = math.inf) -> float:
        """Quantile of the data's delays, plus the median of the reverse path, in seconds."""
        return self.one_way_s(share, from_s, to_s) + quantile([delay for _, delay in self.back], 0.5)


def quantile(values: Sequence[float], share: float) -> float:
    """Smallest value that at least a share ``share`` of the values does not exceed; NaN without values."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else math.nan


def delays(near_capture: Path, far_capture: Path, near: str) -> Delays:
    """Delays of the packets in both captures; ``near`` is the address of the host that receives the data."""
    sent: dict[int, deque[float]] = defaultdict(deque)
    for packet in packets(far_capture):
        if packet.source != near and packet.data >= FULL_BYTES:
            sent[packet.identity].append(packet.time_s)
    data: list[tuple[float, float]] = []
    left: dict[int, deque[float]] = defaultdict(deque)
    for packet in packets(near_capture):
        if packet.source == near:
            left[packet.identity].append(packet.time_s)
        elif times := sent.get(packet.identity):
            data.append((packet.time_s, packet.time_s - times.popleft()))
    back = [
        (packet.time_s, packet.time_s - left[packet.identity].popleft())
        for packet in packets(far_capture)
        if packet.source == near and left.get(packet.identity)
    ]
    return Delays(data, back)


def transfer(capture: Path, near: str, every_s: float) -> Transfer | None:
    """Transfer in the near host's capture; None if nothing was received.

    ``near`` is the host's own address. The timeline has ``goodput_bps``, the data behind the headers of all
    received packets, retransmissions included, in samples of ``every_s``.
    """
    began = ended = None
    sums: dict[int, float] = {}
    arrived: list[tuple[float, int, int]] = []
    last = 0
    for packet in packets(capture):
        last = max(last, int(packet.time_s / every_s))
        if packet.source == near:
            began = packet.time_s if began is None else began
            continue
        if packet.data >= FEWEST_BYTES:
            ended = packet.time_s
        arrived.append((packet.time_s, packet.size, packet.data))
        number = int(packet.time_s / every_s)
        sums[number] = sums.get(number, 0.0) + 8.0 * packet.data
    if began is None or ended is None:
        return None
    series = [((number + 1) * every_s, sums.get(number, 0.0) / every_s) for number in range(last + 1)]
    line = Timeline({"goodput_bps": series, "main.goodput_bps": series})
    return Transfer(began, ended, line, arrived)


def packets(capture: Path) -> Iterator[Packet]:
    """IPv4 packets of a capture of raw IP (link type 101), in order."""
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
        headers = inner + 4 * (data[inner + 12] >> 4)
    elif data[9] == UDP:
        headers = inner + 8
    else:
        return None
    return Packet(time_s, source, max(0, total - headers), total, hash(data))
