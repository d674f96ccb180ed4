"""Fits of a link to logs of emulators and tunnels, traces of mahimahi, journals, and encrypted QUIC."""

from __future__ import annotations

import random
import struct
from collections import deque
from pathlib import Path

import numpy as np
import pytest

import crossfade as cf
from crossfade.errors import TraceError
from crossfade.fitting.records import read_record
from tests.conftest import Cli, expect_one_line

# Rate of one packet per ms, queue in packets, and one-way delay in ms.
RATE = 12.032e6
BYTES = 1504
LIMIT = 40
DELAY_MS = 20


def emulated(lasts_ms: int, loss: float, seed: int = 3) -> list[tuple[float, str, float]]:
    """Events of packet trains on a link with an opportunity per ms: time, sign, and time in the link (ms).

    Signs are those of mm-link: ``+`` arrival, ``d`` drop, ``#`` opportunity, ``-`` departure.
    """
    of = random.Random(seed)
    comes: list[float] = []
    at = 5.0
    while at < lasts_ms:
        comes += [at + 0.01 * index for index in range(of.randint(1, 60))]
        at += of.expovariate(1 / 40)
    comes.sort()
    waiting: deque[float] = deque()
    events: list[tuple[float, str, float]] = []
    index = 0
    for now in range(1, lasts_ms + 200):
        while index < len(comes) and comes[index] < now:
            events.append((comes[index], "+", 0.0))
            if len(waiting) >= LIMIT:
                events.append((comes[index], "d", 0.0))
            else:
                waiting.append(comes[index])
            index += 1
        events.append((now, "#", 0.0))
        if waiting:
            came = waiting.popleft()
            if of.random() >= loss:
                events.append((now, "-", now - came))
    return events


def mm_link(events: list[tuple[float, str, float]]) -> str:
    """Log of these events in the format of mm-link: its comment lines, then events with times in whole ms."""
    lines = [
        "# mahimahi mm-link (Uplink) [x.up] > up.log",
        "# command line: 'mm-link' 'x.up' 'x.down'",
        f"# queue: droptail [packets={LIMIT}]",
        "# init timestamp: 1751273666603",
        "# base timestamp: 36",
        f"# mahimahi config: [delay {DELAY_MS} ms] ",
    ]
    for at, sign, delay in events:
        ms = int(at)
        rest = {"+": f"{BYTES}", "#": "1504", "d": f"1 {BYTES}", "-": f"{BYTES} {int(at) - int(at - delay)}"}
        lines.append(f"{ms} {sign} {rest[sign]}")
    return "\n".join(lines) + "\n"


def test_a_log_of_mm_link_shows_the_link_and_the_delay_around_it(tmp_path: Path) -> None:
    file = tmp_path / "up.log"
    file.write_text(mm_link(emulated(40_000, loss=0.0)))
    fit = cf.fit.link(file)
    assert fit.rate.verdict == "identified"
    assert fit.rate.value == pytest.approx(RATE, rel=0.02)
    # The reverse path is assumed equally long; times are whole ms.
    assert fit.delay.value == pytest.approx(2 * DELAY_MS / 1e3, abs=3e-3)
    assert fit.queue.verdict == "identified"
    assert fit.queue.value == pytest.approx(LIMIT, abs=3)


def test_a_merged_log_of_pantheon_shows_losses_and_the_largest_flow(tmp_path: Path) -> None:
    lines = ["# init timestamp: 1500000000000.125"]
    events = emulated(40_000, loss=0.01)
    for at, sign, delay in events:
        if sign in "+-":
            rest = "" if sign == "+" else f" {delay + DELAY_MS:.3f}"
            lines.append(f"{at + (DELAY_MS if sign == '-' else 0):.3f} {sign} {BYTES}{rest} 1")
    # The log also has a second flow, of packets of 80 bytes.
    for at in range(0, 40_000, 50):
        lines += [f"{at:.3f} + 80 2", f"{at + 21:.3f} - 80 21.000 2"]
    head, *rows = lines
    rows.sort(key=lambda row: float(row.split()[0]))
    file = tmp_path / "datalink_run1.log"
    file.write_text("\n".join([head, *rows]) + "\n")
    fit = cf.fit.link(file)
    assert fit.flow == "tunnel, flow 1"
    assert fit.rate.value == pytest.approx(RATE, rel=0.01)
    came, dropped, left = (sum(sign == of for _, sign, _ in events) for of in "+d-")
    assert fit.loss.low <= 1 - left / (came - dropped) <= fit.loss.high
    assert fit.queue.value == pytest.approx(LIMIT, abs=2)
    # The log of the other direction has delays of 30 ms.
    other = tmp_path / "acklink_run1.log"
    rows = [line for at in range(0, 40_000, 20) for line in (f"{at:.3f} + 52", f"{at + 30:.3f} - 52 30.000")]
    rows.sort(key=lambda row: float(row.split()[0]))
    other.write_text("\n".join(["# init timestamp: 1500000000000.125", *rows]) + "\n")
    both = cf.fit.link(other, file)
    assert both.delay.verdict == "identified"
    assert both.delay.value == pytest.approx((DELAY_MS + 30) / 1e3, abs=2e-3)


def test_a_pair_of_mahimahi_has_the_rate_alone(tmp_path: Path, cli: Cli) -> None:
    up, down = tmp_path / "cell.up", tmp_path / "cell.down"
    # A rate that alternates between 12 and 6 Mbit/s every 10 s.
    up.write_text("".join(f"{ms}\n" for ms in range(1, 40_001) if (ms // 10_000) % 2 == 0 or ms % 2 == 0))
    down.write_text("".join(f"{ms}\n" * 2 for ms in range(1, 40_001)))
    for files in ((up, down), (up,)):
        fit = cf.fit.link(*files)
        assert (fit.model, fit.rate.verdict) == ("M2", "identified")
        assert fit.rate.value == pytest.approx(9e6, rel=0.02)
        assert {of.verdict for name, of in fit.parameters.items() if name != "rate"} == {"not identified"}
        rows = fit.found["rates"]
        for at, rate in ((5, 12e6), (15, 6e6), (25, 12e6), (35, 6e6)):
            assert next(value for time, value in reversed(rows) if time <= at) == pytest.approx(
                rate, rel=0.03
            )
    with pytest.raises(TraceError, match="has no round trip"):
        fit.predict(["cubic"])
    expect_one_line(cli("fit", str(up), "--predict", "cubic"), "--rtt")
    fit = cf.fit.link(up, down, rtt="40 ms")
    rows = {of.metric: of for of in fit.predict(["cubic"], runs=8, cache=False)}
    assert 7e6 < rows["goodput_bps"].value < 9e6


def datagram(at_ns: int, is_up: bool, data: bytes, length: int) -> bytes:
    """Packet of a pcap file in ns: raw IPv4 and UDP with a payload of ``length`` bytes.

    ``data`` has the captured first bytes of the payload; ``is_up`` is the direction.
    """
    ends = [(0x0A000001, 40_000), (0x0A000002, 443)][:: 1 if is_up else -1]
    (source, port), (destination, other) = ends
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 28 + length, 1, 0x4000, 64, 17, 0, source, destination)
    packet = ip + struct.pack(">HHHH", port, other, 8 + length, 0) + data
    return struct.pack("<IIII", at_ns // 10**9, at_ns % 10**9, len(packet), 28 + length) + packet


def quic(rtt_ms: dict[int, int], spins: bool) -> bytes:
    """Capture of an encrypted QUIC upload of 10 Mbit/s at its sender.

    ``rtt_ms`` has the RTT in ms from each second on, which the spin bit shows if ``spins``.
    """
    of = random.Random(9)
    initial = b"\xc3\x00\x00\x00\x01" + bytes(20)
    packets = [
        (0, datagram(0, True, initial, 1200)),
        (40_000_000, datagram(40_000_000, False, initial, 1200)),
    ]
    at, turned, spin = 41_000_000, 41_000_000, False
    while at < 12 * 10**9:
        rtt = next(rtt for second, rtt in sorted(rtt_ms.items(), reverse=True) if at >= second * 10**9)
        if at - turned >= rtt * 10**6:
            turned, spin = at, not spin
        first = 0x40 | (0x20 if spin and spins else 0) | of.randrange(32)
        packets.append((at, datagram(at, True, bytes([first]) + of.randbytes(20), 1222)))
        if of.random() < 0.5:
            packets.append(
                (at + 1, datagram(at + 1, False, bytes([0x40 | of.randrange(32)]) + of.randbytes(20), 30))
            )
        at += 10**6
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 101)
    return head + b"".join(packet for _, packet in sorted(packets))


def test_encrypted_quic_at_one_end_tells_by_sizes_gaps_and_its_spin_bit(tmp_path: Path) -> None:
    file = tmp_path / "quic.pcap"
    file.write_bytes(quic({0: 40, 3: 90}, spins=True))
    fit = cf.fit.link(file)
    assert fit.flow.startswith("QUIC, UDP 10.0.0.1 port 40000")
    assert (fit.rate.verdict, fit.delay.verdict, fit.loss.verdict) == (
        "identified",
        "identified",
        "not identified",
    )
    assert fit.rate.value == pytest.approx(1250 * 8e3, rel=0.01)
    assert fit.delay.value == pytest.approx(0.04, abs=2e-3)
    # The queue held 50 ms of data.
    assert fit.queue.value * fit.found["packet_bytes"] == pytest.approx(50e-3 * 10e6 / 8, rel=0.1)
    # Without the spin bit only the handshake shows the RTT, so no queue is seen.
    file.write_bytes(quic({0: 40, 3: 90}, spins=False))
    fit = cf.fit.link(file)
    assert (fit.rate.verdict, fit.queue.verdict) == ("bounded", "bounded")
    assert fit.delay.value == pytest.approx(0.041, abs=1e-3)
    assert any("what was lost does not show" in warning for warning in fit.warnings)


def test_a_journal_has_the_packets_of_its_links_on_one_clock(cli: Cli) -> None:
    path = Path(__file__).parent / "data/kept/12/live.cfj"
    packets, about = read_record([path])
    forward, reverse = cf.live.replay(path)
    counts = [int((packets["fate"] == fate).sum()) for fate in range(3)]
    lost = forward.lost + forward.dropped
    assert counts == [forward.arrived, lost, forward.packets - forward.arrived - lost]
    delays = packets["seen_s"] - packets["sent_s"]
    assert np.nanmin(delays) > 0
    assert (np.isnan(delays) == (packets["fate"] != 0)).all()
    assert len(about["reverse_sent_s"]) == 1
    assert reverse.arrived > 0
    # The journal lasts half a second, which is too short for a fit.
    expect_one_line(cli("fit", str(path)), "a fit needs at least 1 s")
    expect_one_line(cli("fit", str(path), str(path)), "give it alone")
