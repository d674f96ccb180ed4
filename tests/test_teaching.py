"""Congestion controls in Python, driven by the simulator, behave like the built-in ones."""

from __future__ import annotations

import csv
import io
import math

import pytest

import crossfade as cf
from crossfade import teaching
from tests.conftest import SMALL, events_text

# Enough losses for all kinds of recoveries and timeouts.
LOSSY = SMALL.replace("p_e = 0.01", "p_e = 0.03")


class PerAck(teaching.CongestionControl):
    """Reno with one increase per ACK, as in the paper and in ns-2, which differ in how they halve."""

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def on_ack(self, ack: teaching.AckSample) -> None:
        step = 1.0 if self.cwnd < self.ssthresh else 1.0 / self.cwnd
        self.cwnd = min(self.cwnd + step, self.limit)

    def on_timeout(self, now: float, window: float) -> None:
        self.on_loss(now, window)
        self.cwnd = 1.0


class PaperReno(PerAck):
    def on_loss(self, now: float, window: float) -> None:
        self.ssthresh = self.cwnd = float(math.ceil(window / 2))


class Ns2Reno(PerAck):
    def on_loss(self, now: float, window: float) -> None:
        self.ssthresh = max(2.0, float(math.floor(window / 2)))
        self.cwnd = max(1.0, window / 2)


def rows(events: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(events)))


@pytest.mark.parametrize("variant", ["old-tahoe", "tahoe", "reno", "newreno", "sack"])
@pytest.mark.parametrize(
    ("flavour", "rule"), [("paper", PaperReno(limit=24.0)), ("ns2", Ns2Reno(limit=math.inf))]
)
def test_reno_in_python_leaves_the_trace_of_the_built_in_reno(
    flavour: str, rule: teaching.CongestionControl, variant: str
) -> None:
    values = {"tcp.flavour": flavour, "tcp.variant": variant}
    built_in = rows(events_text(LOSSY, set=values))
    assert rows(teaching.run(LOSSY, rule, set=values)) == built_in
    assert {row["event"] for row in built_in} >= {"send", "lost", "ack", "timeout"}
    assert len({row["cwnd"] for row in built_in}) > 20


@pytest.mark.parametrize("variant", ["reno", "newreno", "sack"])
def test_reno_as_rfc_5681_has_it_leaves_the_trace_of_the_built_in_one(variant: str) -> None:
    values = {"tcp": {"flavour": "rfc", "variant": variant, "rto": {"fixed": None}}, "link.delay": "20 ms"}
    built_in = rows(events_text(LOSSY, set=values))
    assert rows(teaching.run(LOSSY, teaching.Reno(), set=values)) == built_in
    assert {row["event"] for row in built_in} >= {"send", "lost", "ack", "fast_retransmit"}
    assert len({row["cwnd"] for row in built_in}) > 20


def test_the_rule_decides_what_is_sent() -> None:
    class Stubborn(teaching.CongestionControl):
        def on_ack(self, ack: teaching.AckSample) -> None:
            self.cwnd = 7.0

        def set_cwnd(self, cwnd: float) -> None:
            pass

    events = rows(teaching.run(SMALL, Stubborn(), set={"tcp.flavour": "ns2", "channel.p_e": 0}))
    assert max(int(row["flight_size"]) for row in events) == 7
    assert {float(row["cwnd"]) for row in events} == {1.0, 7.0}


def test_reno_follows_the_rfc() -> None:
    reno = teaching.Reno()
    reno.start(2.0, 4.0)
    windows = []
    for acked in [1, 2, 2, 2, 2]:
        reno.on_ack(teaching.AckSample(0.0, acked))
        windows.append(reno.cwnd)
    assert windows == [3.0, 4.0, 4.0, 5.0, 5.0]
    reno.on_loss(0.0, 5.0)
    assert (reno.cwnd, reno.ssthresh) == (2.5, 2.5)
    reno.undo()
    assert (reno.cwnd, reno.ssthresh) == (5.0, 5.0)
    reno.on_timeout(0.0, 3.0)
    assert (reno.cwnd, reno.ssthresh) == (1.0, 2.0)
    reno.on_ack(teaching.AckSample(0.0, 1, cwnd_limited=False))
    assert reno.cwnd == 1.0


@pytest.mark.parametrize("cwnd", [math.nan, math.inf, 0.5, -1.0])
def test_an_impossible_window_is_refused(cwnd: float) -> None:
    class Broken(teaching.CongestionControl):
        def on_ack(self, ack: teaching.AckSample) -> None:
            self.cwnd = cwnd

    with pytest.raises(
        cf.errors.ScenarioError, match=r"^Broken\.cwnd = \S+ after on_ack: must be finite and at least 1$"
    ):
        teaching.run(SMALL, Broken())


def test_an_exception_in_a_rule_ends_the_run_and_is_raised() -> None:
    class Faulty(teaching.CongestionControl):
        calls = 0

        def on_ack(self, ack: teaching.AckSample) -> None:
            self.calls += 1
            raise LookupError("no window for this")

    rule = Faulty()
    with pytest.raises(LookupError, match="no window for this"):
        teaching.run(SMALL, rule)
    assert rule.calls == 1


def test_what_is_no_congestion_control_is_refused() -> None:
    with pytest.raises(AttributeError, match="start"):
        teaching.run(SMALL, object())  # type: ignore[arg-type]


def test_one_point_alone_can_be_run() -> None:
    with pytest.raises(cf.errors.ScenarioError, match="the plan has 2 points"):
        teaching.run(SMALL, teaching.Reno(), over={"channel.p_e": [0.01, 0.1]})
