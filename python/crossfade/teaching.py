"""Congestion controls written in Python, for teaching: slower than built-in ones, in the same simulator.

>>> from crossfade import teaching
>>> class Fixed(teaching.CongestionControl):
...     def on_ack(self, ack):
...         self.cwnd = 4.0
...
>>> point = {"tcp.variant": ["newreno"], "channel.p_e": [0.01]}
>>> events = teaching.run("quickstart", Fixed(), over=point)   # doctest: +SKIP

The interface is that of the Rust trait ``CongestionControl`` of the crate ``transport``, so a control can be
translated into a built-in one. ``docs/own-control.md`` describes both.
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

if TYPE_CHECKING:  # numpy is slow to import
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
    """Base class of a congestion control: loss recovery calls its methods, and it sets ``cwnd`` in segments.

    Override the methods that should do more than keep the window. Times are in seconds. The argument
    ``window`` is the number of segments in flight or, in the flavours ``paper`` and ``ns2``, the number
    allowed.

    A rate-based control has an attribute ``pacing_rate`` (segments per second, or None) and optionally
    ``send_quantum`` (number of segments sent back to back). In flavour ``rfc`` these optional methods are
    called if they exist: ``on_send(send)``, ``on_segment_lost(lost)``, ``on_probe_repaired(now,
    app_limited)``, ``on_phase(now, phase, in_flight)`` with ``phase`` one of "open", "recovery", "loss",
    ``on_delivery(sample)``, ``limits_itself()`` (true if the control sends less than the path allows, so that
    rate samples count as application-limited) and ``seed(number)``, once, after ``start``. A method
    ``info()`` returns a dict of numbers or words by name, such as the state, which appears in the column
    ``info`` of events.
    """

    cwnd: float
    """Congestion window in segments: finite, at least 1."""
    ssthresh: float
    """Slow-start threshold in segments: at least 1; ``math.inf`` if it is not set."""
    own_window: bool = False
    """True if only the control sets the window, also in recovery: ``set_cwnd`` is never called."""
    ect_1: bool = False
    """True if segments carry ECT(1); congestion marks are then in ``RateSample.ce``, and ``on_ecn`` is not
    called.
    """

    def start(self, cwnd: float, ssthresh: float) -> None:
        """Called when a connection begins, with the initial windows of the scenario in segments."""
        self.cwnd = cwnd
        self.ssthresh = ssthresh

    def on_ack(self, ack: AckSample) -> None:
        """Called for an acknowledgement of new segments outside loss recovery."""

    def on_loss(self, now: float, window: float) -> None:
        """Called when duplicate acknowledgements show a loss, once per recovery."""

    def on_timeout(self, now: float, window: float) -> None:
        """Called when the retransmission timer expires for the first time for a segment."""

    def on_ecn(self, now: float, window: float) -> None:
        """Called for an echoed congestion mark (ECN), at most once per round trip; by default like a loss."""
        self.on_loss(now, window)

    def set_cwnd(self, cwnd: float) -> None:
        """Called when loss recovery inflates, deflates or restores the window."""
        self.cwnd = cwnd

    def undo(self) -> None:
        """Called when the last loss or timeout proves spurious: restore the state from before it. Default:
        nothing.
        """

    def on_idle_end(self, now: float, idle: float) -> None:
        """Called before the sender sends after ``idle`` seconds with no segment in flight."""


class Reno(CongestionControl):
    """Reno congestion control (RFC 5681 section 3.1): slow start, additive increase, halving on loss."""

    def start(self, cwnd: float, ssthresh: float) -> None:
        super().start(cwnd, ssthresh)
        self._segments_acked = 0.0
        self._before: tuple[float, float, float] | None = None

    def on_ack(self, ack: AckSample) -> None:
        # Without a full window, acknowledgements do not show that the path can take more.
        if not ack.cwnd_limited:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += min(ack.acked, 1.0)  # equation (2)
            return
        # One more segment for each acknowledged window (RFC 3465 section 2.1).
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
        # With this threshold, slow start would return to the earlier flight size (RFC 4015 section 3.2,
        # pipe_prev).
        self._before = (self.cwnd, max(self.ssthresh, window), self._segments_acked)

    def _halve(self, window: float) -> None:
        self.ssthresh = max(window / 2.0, 2.0)  # equation (4)
        self._segments_acked = 0.0


class BatchedCongestionControl:
    """Congestion control that gets acknowledgements in batches: one call per round trip, or per ``period``.

    The values of ``cwnd`` and ``pacing_rate`` after ``on_acks`` hold until the next call, also in recovery
    and after a timeout. Reactions come up to a period late, so it controls rates and cannot act on each
    acknowledgement.
    """

    cwnd: float
    """Congestion window in segments: finite, at least 1."""
    ssthresh: float
    """Slow-start threshold in segments; it has no effect, and only appears in traces."""
    pacing_rate: float | None = None
    """Pacing rate in segments per second: finite, above 0; None for the sender's usual pacing
    (``tcp.pacing``).
    """
    send_quantum: int | None = None
    """Number of segments sent back to back when paced; None for the sender's own choice."""
    period: float | None = None
    """Shortest time between calls in seconds: the first acknowledgement after it causes the next call.
    None: one round trip.
    """
    ends_batch: tuple[Literal["loss", "timeout", "mark"], ...] = ()
    """Events that end a batch immediately: "loss" (a new recovery), "timeout", "mark" (a congestion mark)."""
    ended_by: str = ""
    """Cause that ended the current batch: "round", "period", or one of ``ends_batch``."""
    ect_1: bool = False
    """True if segments carry ECT(1)."""

    def start(self, cwnd: float, ssthresh: float) -> None:
        """Called when a connection begins, with the initial windows of the scenario in segments."""
        self.cwnd = cwnd
        self.ssthresh = ssthresh

    def on_acks(self, batch: np.ndarray) -> None:
        """Called with a batch of acknowledgements: a read-only structured array, one row each; it may be
        empty at a timeout.

        Fields are those of :class:`RateSample` (NaN or -1 for missing values; ``phase`` is 0 open, 1
        recovery, 2 loss), and ``cwnd``, the window at that time.
        """


class SharedCongestionControl:
    """Congestion control of many flows: one object serves all flows of a run that name it, with one call per
    period.

    Period k contains all acknowledgements of these flows from k times ``period`` up to (k + 1) times
    ``period`` of simulated time. ``on_acks`` is called after a period, at the next acknowledgement of one of
    the flows. The values in ``cwnd`` and ``pacing_rate`` apply to a flow from its own first acknowledgement
    after the period, also in recovery and after a timeout. A control that changes each flow only by the
    flow's own rows acts as if each flow had its own object.
    """

    shared: bool = True
    """True if one object serves all flows."""
    period: float
    """Length of a period in seconds, at least 1e-9; a period may have at most 1,048,576 acknowledgements."""
    cwnd: np.ndarray | Sequence[float] = ()
    """Congestion windows in segments, indexed by flow: finite, at least 1."""
    ssthresh: np.ndarray | Sequence[float] = ()
    """Slow-start thresholds in segments, indexed by flow; they have no effect, and only appear in traces."""
    pacing_rate: np.ndarray | None = None
    """Pacing rates in segments per second, indexed by flow, above 0; infinity for a flow, or None for all,
    leaves pacing to the sender.
    """
    send_quantum: int | None = None
    """Number of segments that a flow sends back to back when paced; None for the sender's own choice."""
    ect_1: bool = False
    """True if segments carry ECT(1)."""

    def start(self, flow: int, cwnd: float, ssthresh: float) -> None:
        """Called when a flow begins, with the initial windows of the scenario in segments.

        Flows are numbered from 0; a later flow may get the number of one that has ended.
        """
        self.cwnd = placed(self.cwnd, flow, cwnd)
        self.ssthresh = placed(self.ssthresh, flow, ssthresh)
        if self.pacing_rate is not None:
            self.pacing_rate = placed(self.pacing_rate, flow, math.inf)

    def on_acks(self, batch: np.ndarray) -> None:
        """Called after a period with acknowledgements: a read-only structured array, one row each, ordered by
        time.

        Fields are those of :meth:`BatchedCongestionControl.on_acks`, and ``flow``, the number of the flow.
        """


def placed(values: np.ndarray | Sequence[float], flow: int, value: float) -> np.ndarray:
    """A copy of ``values`` with ``value`` at index ``flow``; it is one longer if ``flow`` equals its
    length.
    """
    import numpy as np

    if flow == len(values):
        return np.append(values, value)
    changed = np.array(values)
    changed[flow] = value
    return changed


@dataclass(frozen=True)
class Step:
    """Feedback from the acknowledgements of one step of a :class:`Policy`."""

    now: float
    """Time of the last acknowledgement, in seconds."""
    rate: float
    """Delivery rate in the step, in segments per second."""
    rtt: float
    """Last measured round-trip time, in seconds."""
    share: float
    """``rate`` divided by the highest delivery rate so far."""
    queueing: float
    """``rtt`` divided by the shortest so far: 1 without queueing."""
    loss: float
    """Share of lost segments among those delivered or lost."""
    marks: float
    """Share of delivered segments with a congestion mark."""
    filled: float
    """Segments in flight, divided by the product of highest rate and shortest RTT (the BDP)."""


class Policy(BatchedCongestionControl):
    """Control by actions: once per round trip, or per ``period``, ``act`` maps observations to an action.

    ``act`` gets six numbers, with bounds in :data:`OBSERVED`: rate over the highest rate, RTT over the
    shortest RTT, share lost, share marked, flight over the bandwidth-delay product, and its last action. It
    returns a number from -1 to 1, the power of two by which the window, or the pacing rate, is multiplied.
    ``crossfade.gym.CongestionEnv`` trains a policy.
    """

    acts_on: Literal["cwnd", "pacing_rate"] = "cwnd"
    """Quantity that an action multiplies; with ``pacing_rate`` the window is twice the rate times the
    smoothed RTT.
    """
    step: Step | None = None
    """Feedback of the last step, for rewards; None before the first."""

    OBSERVED = ((0.0, 1.0), (1.0, 10.0), (0.0, 1.0), (0.0, 1.0), (0.0, 10.0), (-1.0, 1.0))
    MOST = 1e6

    def act(self, observation: np.ndarray) -> float:
        """The next action, from -1 to 1, given the six observed numbers."""
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
        """The six numbers that ``act`` gets, each clipped to its bounds."""
        import numpy as np

        step = self.step
        seen = (step.share, step.queueing, step.loss, step.marks, step.filled) if step else (0, 1, 0, 0, 0)
        least, most = zip(*self.OBSERVED, strict=True)
        observed: np.ndarray = np.clip(np.array([*seen, self._last]), least, most).astype(np.float32)
        return observed

    def _observe(self, batch: np.ndarray) -> bool:
        """Set ``step`` from a batch; False if there is no RTT, rate or elapsed time yet."""
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
    """Run 0 of a single point with a congestion control given as an object; returns its events as CSV text.

    The columns are those of :func:`crossfade.events`, which shows the built-in Reno in the same scenario;
    ``cwnd`` and ``ssthresh`` are the values of the given control. An exception in one of its methods ends the
    run and is raised here; an unusable window raises :class:`crossfade.errors.ScenarioError`.
    """
    plan = plans.load(scenario, Options(set, over, seed=seed))
    with translated_errors():
        return plan.core.events_with_congestion_control(congestion_control)
