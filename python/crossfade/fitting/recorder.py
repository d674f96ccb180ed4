"""Record of the packets of a link between two machines of the user, as ``crossfade record`` makes it.

The sender sends UDP packets to a receiver, for a limited time and at a limited rate. First it asks over TCP,
at the port that later receives UDP. Both ends prove that they know a token (HMAC of random numbers of both,
RFC 2104) before any load is sent, so no host receives load without its consent. Packets of 1500 bytes are
sent 10 ms apart for 1 s, then for 2 s at the full rate, and so on: bursts fill the queue, and pauses empty
it. The receiver reports the arrival time of each packet. The offset of its clock follows from the exchange
with the shortest round trip out of several, with half of that as the one-way delay.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import secrets
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crossfade.errors import CrossfadeError, shortened
from crossfade.files import write_text

# Limits of a record: duration in seconds, and rate of a burst in bit/s.
LONGEST_S, FASTEST_BPS = 120.0, 1e9
SHORTEST_S, SLOWEST_BPS = 3.0, 120e3
# Shortest token in bytes.
SHORTEST_TOKEN = 16
# Version of the protocol; both ends must have the same.
VERSION = 1
# Bytes of a packet with the headers of IP and UDP.
PACKET = 1500
# Bytes of the headers of IP and UDP.
HEADERS = {socket.AF_INET: 28, socket.AF_INET6: 48}
# Beginning of the UDP payload: mark of the session, and number of the packet.
HEADER = struct.Struct("!8sI")
# Report of an arrived packet to the sender: its number, and its arrival time in ns.
ARRIVAL = struct.Struct("!Iq")
# In seconds: time between packets in a pause, and durations of a burst and of a pause.
PROBE_S, BURST_S, REST_S = 10e-3, 2.0, 1.0
# Number of exchanges that measure the offset of the clocks.
PINGS = 20
# Longest line of the TCP connection in bytes, and timeout of an answer in seconds.
LONGEST_LINE, PATIENCE_S = 4096, 10.0
# Time in seconds after the last packet within which packets in flight arrive.
LATE_S = 1.5


@dataclass(frozen=True)
class Sent:
    """Result of a record: packets sent, packets that arrived, and the shortest round-trip time in seconds."""

    packets: int
    arrived: int
    rtt_s: float


def read_token(file: Path | None) -> bytes:
    """Token in a file, without surrounding white space; empty if ``file`` is None.

    Raises CrossfadeError if the file cannot be read or the token has a wrong length.
    """
    if file is None:
        return b""
    try:
        token = file.read_bytes().strip()
    except OSError as error:
        raise CrossfadeError(f"--token {shortened(file)}: {error.strerror}") from None
    if not SHORTEST_TOKEN <= len(token) <= LONGEST_LINE:
        raise CrossfadeError(
            f"--token {shortened(file)}: must have {SHORTEST_TOKEN} to {LONGEST_LINE} bytes, not {len(token)}"
        )
    return token


def receive(
    host: str, port: int, token: bytes = b"", ready: Callable[[int], None] = lambda port: None
) -> int:
    """Receive the packets of one sender, report their arrival times to it, and return their number.

    ``ready`` is called with the port once the receiver listens; port 0 chooses a free one. Without a token,
    ``host`` must be a loopback address, and a failed session is an error; with a token the receiver waits for
    the next sender.
    """
    address = _address(host, port, token)
    with socket.create_server(address[1], family=address[0]) as server:
        port = server.getsockname()[1]
        with socket.socket(address[0], socket.SOCK_DGRAM) as data:
            data.bind((address[1][0], port))
            data.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            data.setblocking(False)
            ready(port)
            while True:
                peer, _ = server.accept()
                with peer:
                    try:
                        with _Talk(peer) as talk:
                            return _serve(talk, data, token)
                    except (OSError, ValueError, KeyError, TypeError, CrossfadeError) as error:
                        # The peer had no token or closed the connection: the next one may be the sender.
                        if not token:
                            raise CrossfadeError(f"record: the sender left or was none: {error}") from None


def send(host: str, port: int, to: Path, rate_bps: float, lasts_s: float, token: bytes = b"") -> Sent:
    """Send packets to a receiver, and write the fate of each to ``to``, as CSV that ``crossfade fit`` reads.

    ``rate_bps`` is the rate of the bursts in bit/s, ``lasts_s`` the duration in seconds.
    """
    if not SLOWEST_BPS <= rate_bps <= FASTEST_BPS:
        raise CrossfadeError(f"--rate {rate_bps:g} bit/s: must be from 120 kbit/s to 1 Gbit/s")
    if not SHORTEST_S <= lasts_s <= LONGEST_S:
        raise CrossfadeError(f"--for {lasts_s:g} s: must be from {SHORTEST_S:g} to {LONGEST_S:g} s")
    family, address = _address(host, port, token)
    with _told(host, port):
        talk = _Talk(socket.create_connection(address[:2], timeout=PATIENCE_S))
    with talk, socket.socket(family, socket.SOCK_DGRAM) as data, _told(host, port):
        session = _ask(talk, token, rate_bps, lasts_s)
        rtt_ns, offset_ns = _clocks(talk)
        data.connect(talk.peer.getpeername())
        sent = _load(talk, data, session, HEADERS[family], rate_bps, lasts_s)
        time.sleep(LATE_S)
        talk.say({"done": len(sent)})
        arrived = talk.arrivals(len(sent))
    _write(to, sent, arrived, offset_ns)
    return Sent(len(sent), len(arrived), rtt_ns / 1e9)


@contextmanager
def _told(host: str, port: int) -> Iterator[None]:
    """Context in which a network error, or a malformed answer, becomes a CrossfadeError of one line."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise CrossfadeError(f"record: {shortened(host)} port {port}: {why}") from None


def _address(host: str, port: int, token: bytes) -> tuple[socket.AddressFamily, tuple[Any, ...]]:
    """Address family and address of a host and port; CrossfadeError beyond loopback without a token."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError, OverflowError):
        raise CrossfadeError(f"record: {shortened(host)}: is no address or name of a host") from None
    if not token and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise CrossfadeError(
            f"record: {shortened(host)}: is not this machine: needs --token FILE at both ends"
        )
    return family, address


class _Talk:
    """TCP connection between sender and receiver, with a JSON object per line."""

    def __init__(self, peer: socket.socket) -> None:
        peer.settimeout(PATIENCE_S)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peer = peer
        self._file = peer.makefile("rb")

    def __enter__(self) -> _Talk:
        return self

    def __exit__(self, *of: object) -> None:
        self._file.close()
        self.peer.close()

    def say(self, said: dict[str, Any]) -> None:
        self.peer.sendall(json.dumps(said).encode() + b"\n")

    def hear(self) -> dict[str, Any]:
        line = self._file.readline(LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise ConnectionError("the other end closed the connection, or is no crossfade record")
        heard = json.loads(line)
        if not isinstance(heard, dict):
            raise ConnectionError("the other end is no crossfade record")
        if "refused" in heard:
            raise ConnectionError(shortened(str(heard["refused"])))
        return heard

    def arrivals(self, packets: int) -> dict[int, int]:
        """Arrival times in ns by packet number, on the receiver's clock, as the receiver reports them.

        Raises ConnectionError if the report is incomplete, or has more than ``packets`` arrivals.
        """
        count = int(self.hear()["arrived"])
        if not 0 <= count <= packets:
            raise ConnectionError(f"{count} of {packets} packets arrived")
        found = {}
        for _ in range(count):
            row = self._file.read(ARRIVAL.size)
            if len(row) < ARRIVAL.size:
                raise ConnectionError("the receiver left before it had said what arrived")
            number, at = ARRIVAL.unpack(row)
            found[number] = at
        return found


def _proof(token: bytes, who: str, *said: object) -> str:
    return hmac.new(token, json.dumps([who, *said]).encode(), hashlib.sha256).hexdigest()


def _ask(talk: _Talk, token: bytes, rate_bps: float, lasts_s: float) -> bytes:
    """Request a record, prove knowledge of the token, and return the mark of the session (8 bytes).

    Raises ConnectionError if the receiver cannot prove knowledge of the token, or refuses.
    """
    mine = secrets.token_hex(16)
    talk.say({"crossfade-record": VERSION, "number": mine, "rate_bps": rate_bps, "lasts_s": lasts_s})
    heard = talk.hear()
    if not hmac.compare_digest(str(heard["proof"]), _proof(token, "receiver", mine, heard["number"])):
        raise ConnectionError("the receiver has another token")
    talk.say({"proof": _proof(token, "sender", mine, heard["number"], rate_bps, lasts_s)})
    session = bytes.fromhex(talk.hear()["session"])
    if len(session) != 8:
        raise ConnectionError("the other end is no crossfade record")
    return session


def _clocks(talk: _Talk) -> tuple[int, int]:
    """Shortest round-trip time of the exchanges, and the receiver's clock minus the sender's, in ns.

    The offset follows from that exchange, with half of its round-trip time as the one-way delay.
    """
    found = []
    for _ in range(PINGS):
        begun = time.monotonic_ns()
        talk.say({"ping": 1})
        there = int(talk.hear()["at"])
        ended = time.monotonic_ns()
        found.append((ended - begun, there - (begun + ended) // 2))
    return min(found)


def _times(rate_bps: float, lasts_s: float) -> Iterator[float]:
    """Send times in s: for 1 s packets 10 ms apart, then for 2 s packets at the full rate, repeatedly."""
    at, gap = 0.0, 8 * PACKET / rate_bps
    while at < lasts_s:
        yield at
        phase = at % (REST_S + BURST_S)
        at += gap if phase >= REST_S else min(max(gap, PROBE_S), max(REST_S - phase, gap))


def _load(
    talk: _Talk, data: socket.socket, session: bytes, headers: int, rate_bps: float, lasts_s: float
) -> list[int]:
    """Send the packets of a record; returns the send time of each in ns, by the sender's monotonic clock.

    Raises ConnectionError if the receiver ends the record.
    """
    padding = bytes(PACKET - headers - HEADER.size)
    sent: list[int] = []
    begun = time.monotonic_ns()
    for at in _times(rate_bps, lasts_s):
        due = begun + round(at * 1e9)
        if len(sent) % 64 == 0 and select.select([talk.peer], [], [], 0)[0]:
            raise ConnectionError("the receiver ended the record")
        while (left := due - time.monotonic_ns()) > 0:
            # The last 0.2 ms are waited for actively, since a sleep ends 50 us or more too late.
            time.sleep((left - 200_000) / 1e9 if left > 300_000 else 0)
        now = time.monotonic_ns()
        if now - begun > (lasts_s + PATIENCE_S) * 1e9:
            break
        try:
            data.send(HEADER.pack(session, len(sent)) + padding)
        except BlockingIOError:
            continue
        sent.append(now)
    return sent


def _serve(talk: _Talk, data: socket.socket, token: bytes) -> int:
    """Serve a sender: check its request and token, receive its packets, report their arrival times.

    Returns the number of arrived packets. Raises ConnectionError if the request or the token is wrong.
    """
    asked = talk.hear()
    rate_bps, lasts_s = float(asked["rate_bps"]), float(asked["lasts_s"])
    if asked.get("crossfade-record") != VERSION:
        raise ConnectionError("the other end is no crossfade record")
    if not (SLOWEST_BPS <= rate_bps <= FASTEST_BPS and SHORTEST_S <= lasts_s <= LONGEST_S):
        talk.say({"refused": "more than 1 Gbit/s or 120 s"})
        raise ConnectionError("asked for too much")
    theirs, mine = str(asked["number"]), secrets.token_hex(16)
    talk.say({"number": mine, "proof": _proof(token, "receiver", theirs, mine)})
    proof = _proof(token, "sender", theirs, mine, rate_bps, lasts_s)
    if not hmac.compare_digest(str(talk.hear()["proof"]), proof):
        talk.say({"refused": "another token"})
        raise ConnectionError("another token")
    session = secrets.token_bytes(8)
    talk.say({"session": session.hex()})
    for _ in range(PINGS):
        talk.hear()
        talk.say({"at": time.monotonic_ns()})
    found: dict[int, int] = {}
    most = int(lasts_s * rate_bps / (8 * PACKET) + lasts_s / PROBE_S) + 2
    until = time.monotonic() + lasts_s + 2 * PATIENCE_S
    while time.monotonic() < until:
        ready = select.select([data, talk.peer], [], [], 1.0)[0]
        if data in ready:
            _take(data, session, found, most)
        elif talk.peer in ready:
            talk.hear()
            break
    talk.say({"arrived": len(found)})
    talk.peer.sendall(b"".join(ARRIVAL.pack(number, at) for number, at in found.items()))
    return len(found)


def _take(data: socket.socket, session: bytes, found: dict[int, int], most: int) -> None:
    """Read all waiting datagrams, and add those of the session to ``found``: arrival time in ns by number.

    Copies, and numbers from ``most`` on, are ignored.
    """
    while True:
        try:
            packet = data.recv(2048)
        except BlockingIOError:
            return
        now = time.monotonic_ns()
        if len(packet) >= HEADER.size and packet[:8] == session:
            number = HEADER.unpack_from(packet)[1]
            if number < most:
                found.setdefault(number, now)


def _write(to: Path, sent: list[int], arrived: dict[int, int], offset_ns: int) -> None:
    begun = sent[0] if sent else 0
    events = [(at - begun, 0, "send", number) for number, at in enumerate(sent)]
    for number, at in enumerate(sent):
        if number in arrived:
            # The error of the clock offset must not put the arrival before the transmission.
            events.append((max(arrived[number] - offset_ns - begun, at - begun + 1), 1, "receive", number))
        else:
            events.append((at - begun, 1, "lost", number))
    events.sort()
    rows = "".join(f"{at / 1e9:.9f},{event},0,{number}\n" for at, _, event, number in events)
    write_text(to, "time_s,event,flow,seq\n" + rows)
