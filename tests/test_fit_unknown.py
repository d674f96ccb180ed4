"""Fits to records that leave parameters open: a bounded rate, other flows, a queue that is never empty."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import crossfade as cf
from crossfade.comparison.predictions import between
from tests.conftest import Cli
from tests.test_fit_bad_input import frames, joined

LINK = """
schema = 2
link = { rate = "4 Mbit/s", packet_size = "1500 B", delay = "15 ms", queue = { limit = "60 packets" } }
reverse = { delay = "15 ms" }
channel = { model = "none" }
tcp = { variant = "sack", congestion = "cubic", w_max = 10000 }
run = { duration = "20 s", runs = 1 }
"""


def test_an_interval_is_that_of_one_more_value() -> None:
    assert between([float(value) for value in range(1, 20)], 0.9) == (1.0, 19.0)
    assert between([float(value) for value in range(1, 40)], 0.9) == pytest.approx((2.0, 38.0))
    assert between([3.0], 0.9) == (3.0, 3.0)
    assert between([1.0, 2.0], 0.9) == (1.0, 2.0)


def test_a_bounded_rate_is_predicted_as_a_range_without_an_upper_end(tmp_path: Path) -> None:
    """UDP at a tenth of the link's rate gives only a lower bound of the rate, so the predicted range of
    CUBIC's goodput has no upper end, and contains the true goodput.
    """
    file = tmp_path / "events.csv"
    cf.runs.write_events(
        file, LINK, set={"tcp": None, "flows": {"probe": {"traffic": "udp", "rate": "0.4 Mbit/s"}}}
    )
    fit = cf.fit.link(file)
    assert fit.rate.verdict == "bounded"
    assert fit.rate.value < 0.5e6
    goodput, delay = fit.predict(["cubic"], runs=6, cache=False)
    assert goodput.is_range
    assert delay.is_range
    assert goodput.high == math.inf
    truth = cf.run(LINK, cache=False).points[0]
    assert goodput.low < truth.value("goodput_bps") < goodput.high
    assert delay.low < delay.high < math.inf


def test_what_is_assumed_goes_through_its_range_however_few_runs_there_are(tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    cf.runs.write_events(
        file, LINK, set={"tcp": None, "flows": {"probe": {"traffic": "udp", "rate": "2 Mbit/s"}}}
    )
    fit = cf.fit.link(file)
    first = fit.found["draws"][:10]
    for values, low, high in (
        ([row[0] / fit.rate.value for row in first], 1.0, 4.0),
        ([row[2] * 8 / row[0] / row[1] for row in first], 0.2, 5.0),
    ):
        parts = {math.floor(5 * math.log(value / low) / math.log(high / low)) for value in values}
        assert parts == set(range(5))
    # Draws 11 to 14 have the ends of the ranges of rate and queue limit.
    rates = [row[0] / fit.rate.value for row in fit.found["draws"][10:14]]
    queues = [row[2] * 8 / row[0] / row[1] for row in fit.found["draws"][10:14]]
    assert rates == pytest.approx([1.0, 4.0, 1.0, 4.0])
    packet = 8 * fit.found["packet_bytes"] / fit.found["draws"][10][0] / fit.found["draws"][10][1]
    assert queues == pytest.approx([max(0.2, packet), 0.2, 5.0, 5.0])


def to_another_host(packet: tuple[int, int, bytes]) -> tuple[int, int, bytes]:
    """The packet, with another address of the receiver if it belongs to the second flow."""
    time, length, body = packet
    ports = body[20:22], body[22:24]
    second = (50_001).to_bytes(2, "big")
    at = 16 if ports[0] == second else 12
    return (time, length, body[:at] + bytes([192, 0, 2, 9]) + body[at + 4 :]) if second in ports else packet


def test_other_flows_of_a_capture_react(tmp_path: Path, cli: Cli) -> None:
    """With two CUBIC flows to different hosts in a capture, a second prediction lets the other flow react."""
    file = tmp_path / "two.pcap"
    flows = {"two": {"traffic": "bulk", "count": 2, "stagger": "0.1 s"}}
    data = cf.runs.pcap(LINK, set={"flows": flows}, snaplen=100)
    file.write_bytes(joined(data, [to_another_host(packet) for packet in frames(data)]))
    fit = cf.fit.link(file)
    assert fit.found["share"] < 0.9
    assert fit.has_others
    goodput, delay = fit.predict(["bbr-v1"], runs=3, cache=False)
    assert goodput.reacting is not None
    assert delay.reacting is not None
    assert 0 < goodput.reacting < 4e6
    done = cli("fit", str(file), "--predict", "quic", "--report", str(tmp_path / "two.html"))
    assert done.code == 0, done.err
    assert "if others react" in done.out
    assert "If other flows react" in (tmp_path / "two.html").read_text()


def test_a_capture_of_a_queue_that_was_never_empty_bounds_the_delay(tmp_path: Path, cli: Cli) -> None:
    """With a queue of four BDPs, CUBIC never empties it after the start, so a late capture only bounds the
    delay.
    """
    whole, late = tmp_path / "whole.pcap", tmp_path / "late.pcap"
    whole.write_bytes(cf.runs.pcap(LINK, set={"link.queue.limit": "40 packets"}, snaplen=100))
    data = whole.read_bytes()
    late.write_bytes(joined(data, frames(data)[2000:]))
    fit = cf.fit.link(whole)
    assert fit.delay.verdict == "identified"
    assert fit.delay.value == pytest.approx(30e-3, rel=0.02)
    fit = cf.fit.link(late)
    assert fit.rate.value == pytest.approx(4e6, rel=5e-3)
    assert (fit.delay.verdict, fit.queue.verdict) == ("bounded", "bounded")
    assert min(draw[1] for draw in fit.found["draws"]) <= 30e-3 < fit.delay.value
    assert any("never seen empty" in warning for warning in fit.warnings)
    assert "at most " in fit._repr_html_()
    link = tmp_path / "link.toml"
    done = cli("fit", str(late), "--to", str(link))
    assert "<=" in done.out
    assert "# delay, there and back: at most" in link.read_text()
    assert cli("check", str(link)).code == 0


def test_iperf_of_an_overload_has_the_rate_over_time(tmp_path: Path) -> None:
    """iperf3 at 30 Mbit/s over a link of 20 and 8 Mbit/s, alternating every 10 s, with three seconds of
    outage, the last included.
    """
    rates = [0 if second in (31, 32, 59) else 20 if second // 10 % 2 == 0 else 8 for second in range(60)]
    sent = 30e6 / 8 / 1472
    intervals = [
        {
            "streams": [],
            "sum": {
                "start": second,
                "end": second + 1,
                "bytes": sent * 1472,
                "packets": sent,
                "lost_packets": sent * (1 - rate / 30),
            },
        }
        for second, rate in enumerate(rates)
    ]
    start = {"test_start": {"protocol": "UDP", "blksize": 1472, "num_streams": 1, "reverse": 0}}
    file = tmp_path / "udp.json"
    file.write_text(json.dumps({"start": start, "intervals": intervals, "end": {}}))
    fit = cf.fit.link(file, rtt="40 ms")
    assert (fit.model, fit.rate.verdict, fit.loss.verdict) == ("M2", "identified", "not identified")
    rows = fit.found["rates"]
    for at, rate in ((5, 20), (15, 8), (25, 20), (31.5, 0), (36, 8)):
        found = next(rate for from_s, rate in reversed(rows) if from_s <= at)
        assert found == pytest.approx(rate * 1e6 * 1500 / 1472, rel=1e-3)
    goodput, _ = fit.predict(["cubic"], runs=8, cache=False)
    # CUBIC gets at most the mean rate of the link, 13.3 Mbit/s; the replay has the offered rate of 30 Mbit/s.
    assert goodput.low < 13e6 < goodput.high
    assert goodput.replay is not None
    assert goodput.value < 0.6 * goodput.replay
    assert not goodput.is_range


def test_a_log_without_delays_takes_a_usual_queue_for_the_round_trip_that_is_given(tmp_path: Path) -> None:
    """A UDP log of iperf3 does not show the queue: with a given RTT, its limit is drawn from 0.2 to 5 BDP."""
    intervals = []
    for second in range(40):
        packets, lost = 10_000 + 100 * second, 1_000
        of = {"start": second, "end": second + 1, "bytes": packets * 1472}
        intervals.append({"streams": [], "sum": {**of, "packets": packets, "lost_packets": lost}})
    start = {"test_start": {"protocol": "UDP", "blksize": 1472, "num_streams": 1, "reverse": 0}}
    file = tmp_path / "udp.json"
    file.write_text(json.dumps({"start": start, "intervals": intervals, "end": {}}))
    fit = cf.fit.link(file, rtt="60 ms")
    assert (fit.delay.value, fit.queue.verdict) == (0.06, "not identified")
    shares = sorted(held / (rate / 8 * 0.06) for rate, _, held, *_ in fit.found["draws"])
    assert 0.2 <= shares[0] < 0.4
    assert 2.5 < shares[-1] <= 5.0
    assert fit.queue.low < fit.queue.value < fit.queue.high
