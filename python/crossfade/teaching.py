"""Congestion controls written in Python, for teaching: slow, and run by the same engine as the built-in ones.

>>> from crossfade import teaching
>>> class Fixed(teaching.CongestionControl):
...     def on_ack(self, ack):
...         self.cwnd = 4.0
...
>>> point = {"tcp.variant": ["newreno"], "channel.p_e": [0.01]}
>>> events = teaching.run("quickstart", Fixed(), over=point)   # doctest: +SKIP

The interface is the trait ``CongestionControl`` of the crate ``transport``: what works here is a translation
away from a built-in rule. ``docs/congestion-control.md`` has both.
"""

from __future__ import annotations

from crossfade import plans
from crossfade._crossfade import AckSample
from crossfade.plans import Options, Scenario, Values, translated_errors

__all__ = ["AckSample", "CongestionControl", "Reno", "run"]


class CongestionControl:
    """A window rule. Loss recovery tells it what happened; it answers by its attributes, in segments.

    Override what your rule does otherwise than keeping its window. Times are in seconds; ``window`` is how
    many segments were under way or, in the flavours ``paper`` and ``ns2``, allowed to be.
    """

    cwnd: float
    """The congestion window: finite, at least 1."""
    ssthresh: float
    """The slow-start threshold: at least 1; ``math.inf`` for none."""

    def start(self, cwnd: float, ssthresh: float) -> None:
        """A connection begins with the windows that the scenario says."""
        self.cwnd = cwnd
        self.ssthresh = ssthresh

    def on_ack(self, ack: AckSample) -> None:
        """An acknowledgement outside loss recovery covered new segments."""

    def on_loss(self, now: float, window: float) -> None:
        """Duplicate acknowledgements showed a loss; once for each recovery."""

    def on_timeout(self, now: float, window: float) -> None:
        """The retransmission timer expired, for the first time for this segment."""

    def on_ecn(self, now: float, window: float) -> None:
        """An acknowledgement echoed a congestion mark; at most once a round trip. As a loss, by default."""
        self.on_loss(now, window)

    def set_cwnd(self, cwnd: float) -> None:
        """Loss recovery inflates, deflates or restores the window."""
        self.cwnd = cwnd

    def undo(self) -> None:
        """The last loss or timeout was spurious: be as if it had not happened, if you remember."""

    def on_idle_end(self, now: float, idle: float) -> None:
        """The sender is about to send after nothing was under way for ``idle``."""


class Reno(CongestionControl):
    """Reno's rule (RFC 5681 section 3.1): slow start, additive increase, halving."""

    def start(self, cwnd: float, ssthresh: float) -> None:
        super().start(cwnd, ssthresh)
        self._segments_acked = 0.0
        self._before: tuple[float, float, float] | None = None

    def on_ack(self, ack: AckSample) -> None:
        # A window that was not filled has not been tested.
        if not ack.cwnd_limited:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += min(ack.acked, 1.0)  # equation (2)
            return
        # One segment more for each window acknowledged (RFC 3465 section 2.1).
        self._segments_acked += ack.acked
        if self._segments_acked >= self.cwnd:
            self._segments_acked = min(self._segments_acked - self.cwnd, self.cwnd)
            self.cwnd += 1.0

    def on_loss(self, now: float, window: float) -> None:
        self._remember(window)
        self._halve(window)
        self.cwnd = self.ssthresh

    def on_timeout(self, now: float, window: float) -> None:
        self._remember(window)
        self._halve(window)
        self.cwnd = 1.0

    def on_ecn(self, now: float, window: float) -> None:
        self._before = None
        self._halve(window)
        self.cwnd = max(window / 2.0, 1.0)

    def undo(self) -> None:
        if self._before is not None and self.cwnd < self._before[0]:
            self.cwnd, self.ssthresh, self._segments_acked = self._before
        self._before = None

    def _remember(self, window: float) -> None:
        # Slow start will lead back to what was under way (RFC 4015 section 3.2, pipe_prev).
        self._before = (self.cwnd, max(self.ssthresh, window), self._segments_acked)

    def _halve(self, window: float) -> None:
        self.ssthresh = max(window / 2.0, 2.0)  # equation (4)
        self._segments_acked = 0.0


def run(
    scenario: Scenario,
    congestion_control: CongestionControl,
    *,
    set: Values | None = None,
    over: Values | None = None,
    seed: int | None = None,
) -> str:
    """Run 0 of a single point with a congestion control of yours; its events as CSV text.

    As :func:`crossfade.events`, whose output of the same scenario is what the built-in Reno makes of it. The
    columns ``cwnd`` and ``ssthresh`` are the trace of your rule. An exception in one of its methods ends the
    run and is raised here; a window that no sender can use raises :class:`crossfade.ScenarioError`.
    """
    plan = plans.load(scenario, Options(set, over, seed=seed))
    with translated_errors():
        return plan.core.events_with_congestion_control(congestion_control)
