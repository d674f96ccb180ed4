"""Goodput of aioquic in simulated time beside flavour quic, by departure of aioquic from RFC 9002.

Usage: python bench/quic_virtual.py [--runs N] [--seconds S] [--loss P,P] [--out FILE] [VARIANT ...]

Both ends of a connection are aioquic, whose core has neither clock nor network. This program delivers its
packets in simulated time over a link of 5 Mbit/s with a base RTT of 40 ms and a queue of 64 packets of 1228
bytes, with NewReno, as in quic_pairs.py; late wake-ups of a machine therefore play no role. Each variant of
aioquic removes departures from RFC 9002, or choices that the RFC leaves open; each variant of flavour quic
adds some. A VARIANT is a whole name, such as "not paced"; without one all run.

Prints, for each loss probability of --loss (0.03) and variant, mean goodput in Mbit/s with its 95 % interval
over N runs (10) of S seconds (20), without the first two seconds. Rows go to --out (quic_virtual.csv), and
runs already there are not repeated. Needs aioquic.
"""

from __future__ import annotations

import argparse
import csv
import heapq
import itertools
import random
import ssl
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from aioquic.quic import events, packet_builder, recovery
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.congestion import reno
from aioquic.quic.connection import QuicConnection
from aioquic.tls import Epoch
from quic_pairs import BASE, PROTOCOL, WARMUP_S, make_certificate, simulated

RATE, DELAY, LIMIT, OVERHEAD = 5e6, 0.02, 64, 28
COLUMNS = ["variant", "loss", "run", "seconds", "goodput_bps", "packets", "lost", "probe_timeouts"]


class Link:
    """A drop-tail queue, a rate, a delay and independent losses."""

    def __init__(self, rate: float | None, loss: Callable[[], bool]) -> None:
        self.rate, self.loss = rate, loss
        self.starts: list[float] = []
        self.idle_at = 0.0
        self.packets = self.lost = 0

    def arrival(self, now: float, size: int) -> float | None:
        """Arrival time of a packet that enters at ``now``; None if the queue or the channel drops it."""
        self.starts = [start for start in self.starts if start > now]
        if len(self.starts) >= LIMIT:
            return None
        start = max(self.idle_at, now)
        self.starts.append(start)
        self.idle_at = start + (size * 8 / self.rate if self.rate else 0.0)
        self.packets += 1
        if self.loss():
            self.lost += 1
            return None
        return self.idle_at + DELAY


class Run:
    """A connection in simulated time: a client that requests, and a server that sends without end."""

    def __init__(self, folder: Path, loss: float, seed: int, acks: str) -> None:
        client = QuicConfiguration(is_client=True, alpn_protocols=PROTOCOL, verify_mode=ssl.CERT_NONE)
        server = QuicConfiguration(is_client=False, alpn_protocols=PROTOCOL)
        server.load_cert_chain(f"{folder}/certificate.pem", f"{folder}/key.pem")
        self.client = QuicConnection(configuration=client)
        self.server = QuicConnection(
            configuration=server,
            original_destination_connection_id=self.client.original_destination_connection_id,
        )
        self.acks, self.unanswered, self.next_number = acks, 0, 0
        draws = random.Random(seed)
        self.forward = Link(RATE, lambda: draws.random() < loss)
        self.back = Link(None, lambda: False)
        self.queue: list[tuple[float, int, str, Any]] = []
        self.order = itertools.count()
        self.due: dict[QuicConnection, float | None] = {}
        self.arrivals: list[tuple[float, int]] = []
        self.probe_timeouts = 0
        self.stream: int | None = None

    def at(self, time: float, what: str, data: Any = None) -> None:
        heapq.heappush(self.queue, (time, next(self.order), what, data))

    def transmit(self, host: QuicConnection, now: float) -> None:
        """Send a host's packets and set its timer, as aioquic's asyncio protocol does after each event."""
        link, to = (self.forward, "to client") if host is self.server else (self.back, "to server")
        for data, _ in host.datagrams_to_send(now=now):
            arrival = link.arrival(now, len(data) + OVERHEAD)
            if arrival is not None:
                self.at(arrival, to, data)
        timer = host.get_timer()
        if timer is not None and timer != self.due.get(host):
            # Time must advance: by rounding, a loss may be due by the timer but not yet by the loss
            # detection.
            self.at(max(timer, now + 1e-6), "timer", (host, timer))
        self.due[host] = timer

    def read(self, host: QuicConnection, now: float) -> None:
        while (event := host.next_event()) is not None:
            if not isinstance(event, events.StreamDataReceived):
                continue
            if host is self.client:
                self.arrivals.append((now, len(event.data)))
            elif self.stream is None:
                self.stream = event.stream_id
                self.at(now, "write")

    def acknowledge_as_rfc(self, now: float) -> None:
        """Acknowledge each second packet, after 25 ms, and at once on a gap or its filling (RFC 9000)."""
        space = self.client._spaces[Epoch.ONE_RTT]
        if space.ack_at is None:
            return
        self.unanswered += 1
        in_order = space.largest_received_packet == self.next_number
        self.next_number = space.largest_received_packet + 1
        if self.unanswered >= 2 or not in_order:
            space.ack_at = now

    def go(self, seconds: float) -> dict[str, float]:
        """Run the connection for ``seconds`` after the first data; goodput in bit/s and packet counts."""
        self.client.connect(("server", 1), now=0.0)
        self.transmit(self.client, 0.0)
        asked = False
        if self.acks == "rfc":
            self.client._ack_delay = 0.025
        while self.queue:
            now, _, what, data = heapq.heappop(self.queue)
            if self.arrivals and now > self.arrivals[0][0] + seconds:
                break
            host = self.server
            if what == "timer":
                host, timer = data
                if self.due.get(host) != timer:
                    continue
                self.due[host] = None
                loss = self.server._loss
                before = loss._pto_count
                host.handle_timer(now=now)
                self.probe_timeouts += loss._pto_count > before
            elif what == "write":
                assert self.stream is not None
                self.server.send_stream_data(self.stream, bytes(20_000))
                self.at(now + 0.008, "write")
            elif what == "to server":
                self.server.receive_datagram(data, ("client", 1), now=now)
            else:
                host = self.client
                self.client.receive_datagram(data, ("server", 1), now=now)
                if self.acks == "rfc":
                    self.acknowledge_as_rfc(now)
            self.read(host, now)
            if not asked and host is self.client and host._handshake_confirmed:
                asked = True
                host.send_stream_data(host.get_next_available_stream_id(), b"go")
            self.transmit(host, now)
            if self.client._spaces and self.client._spaces[Epoch.ONE_RTT].ack_at is None:
                self.unanswered = 0
        start = self.arrivals[0][0]
        kept = sum(size for at, size in self.arrivals if WARMUP_S <= at - start < seconds)
        return {
            "goodput_bps": kept * 8 / (seconds - WARMUP_S),
            "packets": self.forward.packets,
            "lost": self.forward.lost,
            "probe_timeouts": self.probe_timeouts,
        }


@contextmanager
def replaced(of: Any, name: str, by: Any) -> Iterator[None]:
    """Replace attribute ``name`` of an object or class, for the duration of the context."""
    before = vars(of).get(name)
    setattr(of, name, by)
    try:
        yield
    finally:
        if before is None:
            delattr(of, name)
        else:
            setattr(of, name, before)


def whole_packets() -> Any:
    """Fill the window with whole packets, never with a part of one."""

    def floored(self: Any, value: int | None) -> None:
        size = self._flight_capacity if value is not None and value >= 0 else 1
        vars(self)["room"] = value if value is None or value < 0 else value // size * size

    return replaced(
        packet_builder.QuicPacketBuilder,
        "max_flight_bytes",
        property(lambda self: vars(self).get("room"), floored),
    )


def unpaced() -> Any:
    """Switch the pacer off."""
    return replaced(recovery.QuicPacketPacer, "update_rate", lambda self, **_: None)


def growth_by_parts() -> Any:
    """Let each acknowledged packet add its part of the window at once (RFC 9002 appendix B.5).

    aioquic collects acknowledged bytes until they are a window, and keeps them over a loss: collected under a
    large window, they add up to two packets to the halved one.
    """

    def on_packet_acked(self: Any, *, now: float, packet: Any) -> None:
        self.bytes_in_flight -= packet.sent_bytes
        if packet.sent_time <= self._congestion_recovery_start_time:
            return
        if self.ssthresh is None or self.congestion_window < self.ssthresh:
            self.congestion_window += packet.sent_bytes
        else:
            self.congestion_window += self._max_datagram_size * packet.sent_bytes // self.congestion_window

    return replaced(reno.RenoCongestionControl, "on_packet_acked", on_packet_acked)


def kept_rate() -> Any:
    """Keep the rate of the pacer: a packet sent without enough credit leaves a debt."""

    def update_after_send(self: Any, now: float) -> None:
        if self.packet_time is not None:
            self.update_bucket(now=now)
            self.bucket_time -= self.packet_time

    return replaced(recovery.QuicPacketPacer, "update_after_send", update_after_send)


VARIANTS: dict[str, dict[str, Any]] = {
    "aioquic": {},
    "growth of appendix B.5": {"parts": True},
    "acks of RFC 9000": {"acks": "rfc"},
    "whole packets": {"whole": True},
    "not paced": {"unpaced": True},
    "a pacer that keeps its rate": {"kept": True},
    "growth, acks": {"parts": True, "acks": "rfc"},
    "growth, whole packets, not paced": {"parts": True, "whole": True, "unpaced": True},
    "growth, acks, whole packets, not paced": {"parts": True, "acks": "rfc", "whole": True, "unpaced": True},
}
OURS: dict[str, dict[str, Any]] = {
    "quic": {},
    "quic, not paced": {"tcp.pacing": "off"},
    "quic, one probe": {"tcp.quic.probes": 1},
    "quic, acks at once": {"tcp.quic.ack_eliciting_threshold": 1},
    "quic, acks after 1 ms": {"tcp.quic.ack_eliciting_threshold": 1000, "tcp.quic.max_ack_delay": "1 ms"},
    "quic, acks at once, not paced": {"tcp.quic.ack_eliciting_threshold": 1, "tcp.pacing": "off"},
    "quic, acks after 1 ms, not paced": {
        "tcp.quic.ack_eliciting_threshold": 1000,
        "tcp.quic.max_ack_delay": "1 ms",
        "tcp.pacing": "off",
    },
}


def virtual(folder: Path, variant: dict[str, Any], loss: float, run: int, seconds: float) -> dict[str, float]:
    """Goodput in bit/s and packet counts of a run of aioquic in simulated time."""
    with ExitStack() as stack:
        if variant.get("whole"):
            stack.enter_context(whole_packets())
        if variant.get("unpaced"):
            stack.enter_context(unpaced())
        if variant.get("parts"):
            stack.enter_context(growth_by_parts())
        if variant.get("kept"):
            stack.enter_context(kept_rate())
        return Run(folder, loss, run, variant.get("acks", "aioquic")).go(seconds)


def ours(folder: Path, keys: dict[str, Any], loss: float, run: int, seconds: float) -> dict[str, float]:
    """Goodput in bit/s of a simulated run of flavour quic with these keys."""
    scenario = folder / f"{loss}.toml"
    scenario.write_text(BASE.replace("p_e = 0", f"p_e = {loss}"))
    return {"goodput_bps": simulated(scenario, keys, run, seconds)["goodput_bps"]}


def main(arguments: list[str]) -> int:
    """Run the cases without stored rows, and print a line for each loss probability and variant."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("variants", nargs="*", metavar="VARIANT")
    parser.add_argument("--runs", type=int, default=10, help="runs of each variant (default: 10)")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of a run (default: 20)")
    parser.add_argument(
        "--loss", default="0.03", help="loss probabilities, separated by commas (default: 0.03)"
    )
    parser.add_argument("--out", type=Path, default=Path("quic_virtual.csv"), help="CSV file of the rows")
    asked = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = list(csv.DictReader(asked.out.open())) if asked.out.exists() else []
    names = asked.variants or [*VARIANTS, *OURS]
    with tempfile.TemporaryDirectory() as folder, asked.out.open("a", newline="") as file:
        here = Path(folder)
        make_certificate(here)
        writer = csv.DictWriter(file, COLUMNS)
        if not rows:
            writer.writeheader()
        for loss in asked.loss.split(","):
            for name in names:
                for run in range(1, asked.runs + 1):
                    mark = {"variant": name, "loss": loss, "run": str(run), "seconds": str(asked.seconds)}
                    if any(mark.items() <= row.items() for row in rows):
                        continue
                    make, settings = (virtual, VARIANTS[name]) if name in VARIANTS else (ours, OURS[name])
                    found = make(here, settings, float(loss), run, asked.seconds)
                    rows.append({**mark, **found})
                    writer.writerow(rows[-1])
                    file.flush()
                chosen = [
                    float(row["goodput_bps"]) / 1e6
                    for row in rows
                    if (row["variant"], row["loss"], row["seconds"]) == (name, loss, str(asked.seconds))
                ]
                spread = 1.96 * statistics.stdev(chosen) / len(chosen) ** 0.5 if len(chosen) > 1 else 0.0
                print(
                    f"{loss:<7}{name:<46}{len(chosen):>4}{statistics.fmean(chosen):>8.3f} +- {spread:.3f}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
