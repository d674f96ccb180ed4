"""Fits do not depend on segmentation offload; an application-limited sender gives a bound of the rate."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import crossfade as cf
from tests.test_fit_bad_input import Frame, frames, is_data, joined

LINK = """
schema = 2
link = { rate = "20 Mbit/s", packet_size = "1500 B", delay = "20 ms", queue = { limit = "60 packets" } }
reverse = { delay = "20 ms" }
channel = { model = "iid", p_e = 0.002 }
tcp = { variant = "sack", congestion = "cubic", w_max = 10000 }
run = { duration = "15 s", runs = 1 }
"""
HEADERS = 52
LARGEST = 65_000


def sequence(frame: Frame) -> int:
    return int.from_bytes(frame[2][24:28], "big")


def trains(data: bytes, apart_ns: int, at_last: bool) -> bytes:
    """Capture in which successive segments are joined, with the time of the first, as by TSO, or of the last,
    as by GRO.
    """
    found: list[Frame] = []
    open_train: list[Frame] = []

    def close() -> None:
        if open_train:
            payload = sum(length - HEADERS for _, length, _ in open_train)
            length = HEADERS + payload
            _, _, body = open_train[0]
            time = open_train[-1 if at_last else 0][0]
            found.append((time, length, body[:2] + struct.pack(">H", length) + body[4:]))
            open_train.clear()

    for frame in frames(data):
        if not is_data(frame) or frame[1] <= HEADERS:
            if not open_train or frame[0] - open_train[-1][0] > apart_ns:
                close()
            found.append(frame)
            continue
        if open_train:
            last = open_train[-1]
            follows = sequence(last) + last[1] - HEADERS == sequence(frame)
            size = sum(length - HEADERS for _, length, _ in open_train)
            if not follows or frame[0] - last[0] > apart_ns or size + frame[1] > LARGEST:
                close()
        open_train.append(frame)
    close()
    return joined(data, sorted(found, key=lambda frame: frame[0]))


@pytest.mark.parametrize("control", ["cubic", "bbr-v1"])
def test_segmentation_offload_changes_nothing(control: str, tmp_path: Path) -> None:
    plain, cut = tmp_path / "plain.pcap", tmp_path / "cut.pcap"
    plain.write_bytes(cf.runs.pcap(LINK, snaplen=100, set={"tcp.congestion": control}))
    cut.write_bytes(trains(plain.read_bytes(), 200_000, at_last=False))
    assert len(frames(cut.read_bytes())) < len(frames(plain.read_bytes()))
    fit, expected = cf.fit.link(cut), cf.fit.link(plain)
    assert fit.found["offloads"]
    assert any("TSO, GRO" in warning for warning in fit.warnings)
    assert fit.found["packets"] == expected.found["packets"]
    assert fit.rate.verdict == expected.rate.verdict == "identified"
    assert fit.rate.value == pytest.approx(20e6, rel=2e-3)
    assert fit.delay.value == pytest.approx(40e-3, rel=0.01)
    assert fit.found["random_losses"] == pytest.approx(expected.found["random_losses"], abs=2)


def test_receive_offload_changes_nothing(tmp_path: Path) -> None:
    """With captures at both ends, the fitted rate is unchanged if the receiver's interface joins segments
    that arrive within 0.7 ms of one another.
    """
    sender, receiver = tmp_path / "sender.pcap", tmp_path / "receiver.pcap"
    # The window of 100 packets keeps packets in the queue, but never fills it.
    keys = {"channel.p_e": 0.0, "tcp.w_max": 100, "run.duration": "8 s"}
    sender.write_bytes(cf.runs.pcap(LINK, snaplen=100, set=keys))
    there: list[Frame] = []
    left = 0
    for time, length, body in frames(sender.read_bytes()):
        if not is_data((time, length, body)):
            there.append((time - 20 * 10**6, length, body))
        elif length > HEADERS:
            left = max(left, time) + 1500 * 8 * 50
            there.append((left + 20 * 10**6, length, body))
    moved = [(time + 10**9, length, body) for time, length, body in there]
    plain = joined(sender.read_bytes(), sorted(moved, key=lambda frame: frame[0]))
    fits = []
    for data in (plain, trains(plain, 700_000, at_last=True)):
        receiver.write_bytes(data)
        fits.append(cf.fit.link(sender, receiver))
    assert [fit.found["offloads"] for fit in fits] == [False, True]
    for fit in fits:
        assert fit.rate.verdict == "identified"
        assert fit.rate.value == pytest.approx(20e6, rel=5e-3)


@pytest.mark.parametrize("offered", ["0.5 Mbit/s", "1 Mbit/s", "2 Mbit/s", "5 Mbit/s"])
def test_an_application_that_holds_back_gives_a_bound_alone(offered: str, tmp_path: Path) -> None:
    file = tmp_path / "held.pcap"
    flows = {"held": {"traffic": "bulk", "rate": offered}}
    file.write_bytes(cf.runs.pcap(LINK, snaplen=100, set={"channel.p_e": 0.0, "flows": flows}))
    fit = cf.fit.link(file)
    assert fit.rate.verdict == "bounded"
    assert fit.rate.value <= 20e6 * 1.001
    assert any("lower bound" in warning for warning in fit.warnings)
