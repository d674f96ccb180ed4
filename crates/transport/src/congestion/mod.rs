//! Congestion control: sets the window. [`LossRecovery`](crate::LossRecovery) decides which segments are retransmitted.

mod bbr;
mod choice;
mod cubic;
mod custom;
mod dctcp;
mod events;
mod highspeed;
mod hystart;
mod linux;
mod linux_hystart;
mod marked_share;
mod per_ack;
mod prague;
mod reno;
mod rounds;
mod slow_start;
mod window;

pub use bbr::{BbrV1, BbrV3};
pub(crate) use choice::congestion_control;
pub use cubic::Cubic;
pub use custom::{CustomControl, MakeControl};
pub use dctcp::Dctcp;
pub use events::{ControlInfo, LostSegment, Needs, Phase, RateSample, SendEvent};
pub use highspeed::HighSpeed;
pub use hystart::HyStart;
pub use linux::{LinuxCubic, LinuxReno};
pub use per_ack::{PerAckReno, Rounding};
pub use prague::Prague;
pub use reno::{AckCounting, Reno};
pub use slow_start::SlowStart;

use crossfade_core::{SimTime, Stream};

/// Acknowledgement of new segments, as reported to a congestion control. Sequence numbers count segments.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct AckSample {
    /// Arrival time of the acknowledgement.
    pub now: SimTime,
    /// Number of segments covered for the first time, selectively or cumulatively.
    pub acked: u64,
    /// RTT sample; `None` if the acknowledgement gives none.
    pub rtt: Option<SimTime>,
    /// Next segment that the receiver expects.
    pub next_expected: u64,
    /// One past the highest segment ever sent.
    pub snd_max: u64,
    /// True if the congestion window limited the sender, rather than the application or the receiver window.
    pub cwnd_limited: bool,
}

/// A congestion control. Loss recovery reports events to it, and reads its `cwnd` and `ssthresh`, in segments.
///
/// Every `window` argument is the number of segments from which a reduction starts: the FlightSize (RFC 5681 section
/// 3.1), at most `cwnd`, or in flavour `quic` `cwnd` itself (RFC 9002 section 7.3.2).
///
/// A congestion control that asks for samples ([`Needs`]) receives more events, in flavours `rfc` and `quic`. For one
/// acknowledgement their order is:
///
/// 1. [`on_ecn`](Self::on_ecn) for an echoed mark; [`undo`](Self::undo), if the last reduction had no cause;
/// 2. [`on_segment_lost`](Self::on_segment_lost) for each segment that the acknowledgement shows to be lost;
/// 3. [`on_loss`](Self::on_loss), if a recovery begins; if a tail loss probe has repaired the loss,
///    [`on_probe_repaired`](Self::on_probe_repaired) before it;
/// 4. [`on_phase`](Self::on_phase), if the phase of loss recovery has changed;
/// 5. [`on_delivery`](Self::on_delivery);
/// 6. [`on_ack`](Self::on_ack), if the window may grow.
///
/// A timer reports losses, then `on_loss` or [`on_timeout`](Self::on_timeout), and then the phase. Afterwards segments
/// leave, each after its [`on_send`](Self::on_send).
///
/// All but six methods have a default, so one trait serves simple congestion controls and those that model the path.
pub trait CongestionControl: Send {
    /// Congestion window in segments.
    fn cwnd(&self) -> f64;

    /// Slow-start threshold in segments.
    fn ssthresh(&self) -> f64;

    /// Processes an acknowledgement of new segments outside loss recovery.
    fn on_ack(&mut self, ack: &AckSample);

    /// Reacts to a loss, once per recovery, which acknowledgements or the reordering timer revealed while `window`
    /// segments were allowed in flight.
    fn on_loss(&mut self, now: SimTime, window: f64);

    /// Reacts to an expiry of the retransmission timer while `window` segments were allowed in flight. Under RFC 5681
    /// section 3.1 this is called for the first timeout of a segment; later ones leave `ssthresh` unchanged and call
    /// [`set_cwnd`](Self::set_cwnd) only.
    fn on_timeout(&mut self, now: SimTime, window: f64);

    /// Sets the window to `cwnd` segments, when loss recovery inflates, deflates or restores it.
    fn set_cwnd(&mut self, cwnd: f64);

    /// Reacts to an echoed congestion mark while `window` segments were in flight, at most once per RTT (RFC 3168
    /// section 6.1.2). By default a mark counts as a loss.
    fn on_ecn(&mut self, now: SimTime, window: f64) {
        self.on_loss(now, window);
    }

    /// Undoes the last reduction, whose loss or timeout proved spurious: restores the state before it (RFC 4015 section
    /// 3.2, RFC 9438 section 4.9). The sender limits the burst that a restored window would allow. Without a reduction
    /// since the last call, nothing happens; a congestion control without saved state keeps its window.
    fn undo(&mut self) {}

    /// Called before the first transmission after `idle` time with nothing in flight (RFC 5681 section 4.1, RFC 9438
    /// section 5.8); the sender sets the restart window itself.
    fn on_idle_end(&mut self, _now: SimTime, _idle: SimTime) {}

    /// Requirements on the sender; it reads them once, at the start.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Takes the stream of random numbers. Called once, before any other event, if the congestion control
    /// [needs](Needs::random) it.
    fn seed(&mut self, _stream: Stream) {}

    /// Pacing rate in segments per second. `None`: the sender paces at a multiple of the window per RTT, if pacing is
    /// configured. A congestion control with a rate is always paced. NaN and values below 0.1 count as 0.1.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Number of segments that may leave back to back if the sender is paced; `None`: the sender decides.
    fn send_quantum(&self) -> Option<u64> {
        None
    }

    /// Called before each segment leaves.
    fn on_send(&mut self, _send: &SendEvent) {}

    /// Called for each segment found lost, whether an original or a retransmission.
    fn on_segment_lost(&mut self, _lost: &LostSegment) {}

    /// Called when a tail loss probe has repaired a loss, which starts no recovery and causes no `on_segment_lost` (RFC
    /// 8985 section 7.4.2). `app_limited`: the sender was application-limited when the lost segment left.
    fn on_probe_repaired(&mut self, _now: SimTime, _app_limited: bool) {}

    /// Called after a change of the phase of loss recovery, with an estimated `in_flight` segments. Every timeout is
    /// reported, also consecutive ones, and to every congestion control.
    fn on_phase(&mut self, _now: SimTime, _phase: Phase, _in_flight: u64) {}

    /// Processes the delivery-rate sample of an acknowledgement, in any phase.
    fn on_delivery(&mut self, _sample: &RateSample) {}

    /// True if the control deliberately sends less than the path can carry, so that segments sent now count as
    /// application-limited. Read after each `on_delivery`.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Current state of the congestion control, for traces and plots.
    fn info(&self) -> ControlInfo {
        ControlInfo::default()
    }
}
