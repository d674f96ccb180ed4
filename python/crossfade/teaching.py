"""Congestion controls written in Python, for teaching: slow, and run by the same engine as the built-in ones.

>>> from crossfade import teaching
>>> class Fixed(teaching.CongestionControl):
...     def on_ack(self, ack):
...         self.cwnd = 4.0
...
>>> point = {"tcp.variant": ["newreno"], "channel.p_e": [0.01]}
>>> events = teaching.run("quickstart", Fixed(), over=point)   # doctest: +SKIP

The interface is the trait ``CongestionControl`` of the crate ``transport``: what works here is a translation
away from a built-in congestion control. ``docs/own-control.md`` has both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crossfade import plans
from crossfade._crossfade import AckSample, LostSegment, RateSample, SendEvent
from crossfade.plans import translated_errors
from crossfade.plans.options import Options, ScenarioLike, Values

if TYPE_CHECKING:  # numpy takes a while to load
    import numpy as np

__all__ = [
    "AckSample",
    "BatchedCongestionControl",
    "CongestionControl",
    "LostSegment",
    "Policy",
    "RateSample",
    "Reno",
    "SendEvent",
    "SharedCongestionControl",
    "Step",
    "placed",
    "run",
]


class CongestionControl:
    """A congestion control. Loss recovery tells it what happened; it answers by its attributes, in segments.

    Override what yours does otherwise than keeping its window. Times are in seconds; ``window`` is how
    many segments were under way or, in the flavours ``paper`` and ``ns2``, allowed to be.

    One with a rate has an attribute ``pacing_rate`` (segments a second, or None) and perhaps
    ``send_quantum`` (segments that leave back to back). A method of these that it has is called (flavour
    ``rfc``), others cost nothing: ``on_send(send)``, ``on_segment_lost(lost)``, ``on_probe_repaired(now,
    app_limited)``, ``on_phase(now, phase, in_flight)`` with ``phase`` one of "open", "recovery", "loss",
    ``on_delivery(sample)``, ``limits_itself()`` (true: what is sent now tells nothing of the path) and
    ``seed(number)``, once, behind ``start``. A method ``info()`` gives a dict of numbers or words by
    name: what it is at, in the column ``info`` of events.
    """

    cwnd: float
    """The congestion window: finite, at least 1."""
    ssthresh: float
    """The slow-start threshold: at least 1; ``math.inf`` for none."""
    own_window: bool = False
    """The window is the control's alone, also in recovery: ``set_cwnd`` is never called."""
    ect_1: bool = False
    """Segments say ECT(1); marks are told by ``RateSample.ce``, not by ``on_ecn``."""

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


class BatchedCongestionControl:
    """A congestion control that hears of many acknowledgements at once: a call a round trip, or a ``period``.

    What ``on_acks`` leaves in ``cwnd`` and ``pacing_rate`` holds until the next call, also in recovery and
    after a timeout. It acts up to a period late: it is a control of rates, not a clock of acknowledgements.
    """

    cwnd: float
    """The congestion window in segments: finite, at least 1."""
    ssthresh: float
    """The slow-start threshold, which only traces show."""
    pacing_rate: float | None = None
    """Segments a second: finite, above 0; None for the sender's usual pacing (``tcp.pacing``)."""
    send_quantum: int | None = None
    """Segments that leave back to back when paced; None for the sender's own choice."""
    period: float | None = None
    """Seconds from one call to the first acknowledgement that brings another; None for a round trip."""
    ends_batch: tuple[Literal["loss", "timeout", "mark"], ...] = ()
    """Events that end a batch at once: a new recovery, a timeout, a congestion mark."""
    ended_by: str = ""
    """Cause of the end of the current batch: "round", "period", or one of ``ends_batch``."""
    ect_1: bool = False
    """Segments say ECT(1)."""

    def start(self, cwnd: float, ssthresh: float) -> None:
        """A connection begins with the windows that the scenario says."""
        self.cwnd = cwnd
        self.ssthresh = ssthresh

    def on_acks(self, batch: np.ndarray) -> None:
        """Acknowledgements arrived: a structured array, one row each, read-only; empty at a timeout perhaps.

        Its fields are those of :class:`RateSample` (NaN and -1 for what is not there; ``phase`` 0 open, 1
        recovery, 2 loss), and ``cwnd``, the window that held.
        """


class SharedCongestionControl:
    """A congestion control of many flows: one object for all flows of a run that name it, a call a period.

    A period has all acknowledgements of these flows from k times ``period`` on and before k + 1 times, of
    simulated time. ``on_acks`` is called behind it, when the next acknowledgement of one of them comes, and
    what it leaves in ``cwnd`` and ``pacing_rate`` holds for a flow from its own first acknowledgement behind
    the period on, also in recovery and after a timeout. A control that changes only flows that have rows,
    each by its own rows, gives every flow what an object of its own would.
    """

    shared: bool = True
    """Whether one object serves all flows."""
    period: float
    """Seconds, at least 1e-9, of at most 1,048,576 acknowledgements."""
    cwnd: np.ndarray | Sequence[float] = ()
    """The congestion windows in segments, by flow: finite, at least 1."""
    ssthresh: np.ndarray | Sequence[float] = ()
    """The slow-start thresholds, which only traces show."""
    pacing_rate: np.ndarray | None = None
    """Segments a second by flow, above 0; infinity, or None for all, leaves it to the sender."""
    send_quantum: int | None = None
    """Segments of any flow that leave back to back when paced; None for the sender's own choice."""
    ect_1: bool = False
    """Segments say ECT(1)."""

    def start(self, flow: int, cwnd: float, ssthresh: float) -> None:
        """A flow begins with the windows that the scenario says.

        Flows are numbered from 0 on; the number of one that has ended goes to a later one.
        """
        self.cwnd = placed(self.cwnd, flow, cwnd)
        self.ssthresh = placed(self.ssthresh, flow, ssthresh)
        if self.pacing_rate is not None:
            self.pacing_rate = placed(self.pacing_rate, flow, math.inf)

    def on_acks(self, batch: np.ndarray) -> None:
        """A period with acknowledgements is over: a structured array, one row each by time, read-only.

        Its fields are those that :class:`BatchedCongestionControl` gets, and ``flow``.
        """


def placed(values: np.ndarray | Sequence[float], flow: int, value: float) -> np.ndarray:
    """``values`` with ``value`` at place ``flow``, one place longer where that is new."""
    import numpy as np

    if flow == len(values):
        return np.append(values, value)
    changed = np.array(values)
    changed[flow] = value
    return changed


@dataclass(frozen=True)
class Step:
    """Feedback of the acknowledgements of a step."""

    now: float
    """The time of the last, in seconds."""
    rate: float
    """Segments that arrived, a second."""
    rtt: float
    """The last round trip, in seconds."""
    share: float
    """``rate`` of the highest delivery rate so far."""
    queueing: float
    """``rtt`` over the shortest so far: 1 where there is no queue."""
    loss: float
    """The share of what arrived or was lost that was lost."""
    marks: float
    """The share of what arrived that carried a congestion mark."""
    filled: float
    """Data in flight, divided by the highest rate times the shortest RTT."""


class Policy(BatchedCongestionControl):
    """A control that acts once a round trip, or a ``period``: on what ``act`` makes of what was observed.

    ``act`` gets six numbers: rate over the highest, round trip over the shortest, share lost, share marked,
    flight over the bandwidth-delay product (:data:`OBSERVED` has their bounds) and its last answer. It
    answers in -1 to 1: by how many powers of two the window grows, or the pacing rate.
    ``crossfade.gym.CongestionEnv`` trains one.
    """

    acts_on: Literal["cwnd", "pacing_rate"] = "cwnd"
    """What an action multiplies; with a pacing rate the window is twice the rate times the smoothed round
    trip.
    """
    step: Step | None = None
    """The last observation, for rewards."""

    OBSERVED = ((0.0, 1.0), (1.0, 10.0), (0.0, 1.0), (0.0, 1.0), (0.0, 10.0), (-1.0, 1.0))
    MOST = 1e6

    def act(self, observation: np.ndarray) -> float:
        """Next action, from -1 to 1."""
        raise NotImplementedError

    def start(self, cwnd: float, ssthresh: float) -> None:
        if self.acts_on not in ("cwnd", "pacing_rate"):
            raise ValueError(f"acts_on = {self.acts_on!r}: must be 'cwnd' or 'pacing_rate'")
        super().start(cwnd, ssthresh)
        self._most_rate, self._least_rtt, self._last = 0.0, math.inf, 0.0
        self._rtt, self._time, self._srtt = math.nan, 0.0, math.nan

    def on_acks(self, batch: np.ndarray) -> None:
        if not len(batch) or not self._observe(batch):
            return
        action = float(self.act(self.observation()))
        if not -1.0 <= action <= 1.0:
            raise ValueError(f"act gave {action}: must be at least -1 and at most 1")
        self._last, factor = action, 2.0**action
        if self.acts_on == "cwnd":
            self.cwnd = min(max(self.cwnd * factor, 1.0), self.MOST)
        else:
            rate = self.pacing_rate or self.cwnd / self._srtt
            self.pacing_rate = min(max(rate * factor, 1.0), self.MOST)
            self.cwnd = min(max(2.0 * self.pacing_rate * self._srtt, 4.0), self.MOST)

    def observation(self) -> np.ndarray:
        """The six numbers of the last step, each within its bounds."""
        import numpy as np

        step = self.step
        seen = (step.share, step.queueing, step.loss, step.marks, step.filled) if step else (0, 1, 0, 0, 0)
        least, most = zip(*self.OBSERVED, strict=True)
        observed: np.ndarray = np.clip(np.array([*seen, self._last]), least, most).astype(np.float32)
        return observed

    def _observe(self, batch: np.ndarray) -> bool:
        """Whether there is a round trip and a time to judge by."""
        import numpy as np

        rtts = batch["rtt"][~np.isnan(batch["rtt"])]
        if len(rtts):
            self._rtt, self._least_rtt = float(rtts[-1]), min(self._least_rtt, float(rtts.min()))
        if not np.isnan(batch["srtt"][-1]):
            self._srtt = float(batch["srtt"][-1])
        now, acked, lost = (
            float(batch["now"][-1]),
            int(batch["newly_acked"].sum()),
            int(batch["newly_lost"].sum()),
        )
        took, self._time = now - self._time, now
        rates = batch["rate"][~np.isnan(batch["rate"])]
        if len(rates):
            self._most_rate = max(self._most_rate, float(rates.max()))
        if math.isnan(self._rtt) or math.isnan(self._srtt) or took <= 0.0 or self._most_rate == 0.0:
            return False
        self.step = Step(
            now=now,
            rate=acked / took,
            rtt=self._rtt,
            share=acked / took / self._most_rate,
            queueing=self._rtt / self._least_rtt,
            loss=lost / max(acked + lost, 1),
            marks=min(int(batch["ce"].sum()) / max(acked, 1), 1.0),
            filled=int(batch["in_flight"][-1]) / (self._most_rate * self._least_rtt),
        )
        return True


def run(
    scenario: ScenarioLike,
    congestion_control: CongestionControl,
    *,
    set: Values | None = None,
    over: Values | None = None,
    seed: int | None = None,
) -> str:
    """Run 0 of a single point with a congestion control of yours; its events as CSV text.

    As :func:`crossfade.events`, whose output of the same scenario is what the built-in Reno makes of it. The
    columns ``cwnd`` and ``ssthresh`` are the trace of your control. An exception in one of its methods ends
    the run and is raised here; a window that no sender can use raises
    :class:`crossfade.errors.ScenarioError`.
    """
    plan = plans.load(scenario, Options(set, over, seed=seed))
    with translated_errors():
        return plan.core.events_with_congestion_control(congestion_control)
