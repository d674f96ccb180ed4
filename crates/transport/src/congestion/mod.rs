//! Congestion control: how large the window is. Which segments to repeat is the business of
//! [`LossRecovery`](crate::LossRecovery).

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

/// What an acknowledgement of new segments tells a congestion control. Sequence numbers count segments.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct AckSample {
    /// When it arrived.
    pub now: SimTime,
    /// How many segments it covers for the first time, selectively or cumulatively.
    pub acked: u64,
    /// The round trip that it measures, if it measures one.
    pub rtt: Option<SimTime>,
    /// The next segment that the receiver expects.
    pub next_expected: u64,
    /// One past the highest segment ever sent.
    pub snd_max: u64,
    /// Whether the congestion window, and not the application or the receiver's window, held the sender back.
    pub cwnd_limited: bool,
}

/// A congestion control. Loss recovery tells it what happened; it answers with `cwnd` and `ssthresh`, in segments.
///
/// Every window given is the one that RFC 5681 section 3.1 halves: under its rules the FlightSize.
///
/// A congestion control that asks for samples ([`Needs`]) hears more, in flavour `rfc`. Within an acknowledgement the order is:
///
/// 1. [`on_ecn`](Self::on_ecn) for an echoed mark; [`undo`](Self::undo), if the last reduction had no cause;
/// 2. [`on_segment_lost`](Self::on_segment_lost) for each segment that it shows to be lost;
/// 3. [`on_loss`](Self::on_loss), if a recovery begins; where a tail loss probe has repaired the loss,
///    [`on_probe_repaired`](Self::on_probe_repaired) before it;
/// 4. [`on_phase`](Self::on_phase), if what the sender does about losses has changed;
/// 5. [`on_delivery`](Self::on_delivery);
/// 6. [`on_ack`](Self::on_ack), where the window may grow.
///
/// A timer tells losses, `on_loss` or [`on_timeout`](Self::on_timeout), and the phase in this order. Then segments leave, each
/// behind its [`on_send`](Self::on_send).
///
/// It is one trait, not one for all and one for models: all but six methods have a default, and a second trait would be an empty
/// `impl` for each congestion control without a model.
pub trait CongestionControl: Send {
    /// The congestion window.
    fn cwnd(&self) -> f64;

    /// The slow-start threshold.
    fn ssthresh(&self) -> f64;

    /// An acknowledgement outside loss recovery covered new segments.
    fn on_ack(&mut self, ack: &AckSample);

    /// Called once for each recovery: duplicate acknowledgements showed a loss while `window` segments were allowed in
    /// flight.
    fn on_loss(&mut self, now: SimTime, window: f64);

    /// The retransmission timer expired while `window` segments were allowed under way. Under RFC 5681
    /// section 3.1 this is for the first timeout of a segment; its later ones leave `ssthresh` alone and are
    /// told by [`set_cwnd`](Self::set_cwnd) only.
    fn on_timeout(&mut self, now: SimTime, window: f64);

    /// Loss recovery inflates, deflates or restores the window.
    fn set_cwnd(&mut self, cwnd: f64);

    /// An acknowledgement echoed a congestion mark while `window` segments were under way. At most once a
    /// round trip (RFC 3168 section 6.1.2). A mark counts as a loss unless the congestion control knows better.
    fn on_ecn(&mut self, now: SimTime, window: f64) {
        self.on_loss(now, window);
    }

    /// The last loss or timeout was spurious: nothing had been lost. Restores the state of before it (RFC
    /// 4015 section 3.2, RFC 9438 section 4.9); the sender bounds the burst that this would allow. Without a
    /// reduction since the last call, nothing happens. A congestion control that does not remember keeps its window.
    fn undo(&mut self) {}

    /// The sender is about to send after nothing was under way for `idle` (RFC 5681 section 4.1, RFC 9438
    /// section 5.8); it sets the restart window itself.
    fn on_idle_end(&mut self, _now: SimTime, _idle: SimTime) {}

    /// What it wants of the sender. Asked for once, at the start.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Takes the stream of random numbers. Called once, before anything else, if the congestion control
    /// [needs](Needs::random) any.
    fn seed(&mut self, _stream: Stream) {}

    /// The pacing rate in segments a second; `None` leaves it to the sender: a multiple of the window a round trip, where
    /// pacing is on. A congestion control that has one is always paced. What is no number, or less than a segment in ten seconds, is
    /// that.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// How many segments may leave back to back when paced; `None` leaves it to the sender.
    fn send_quantum(&self) -> Option<u64> {
        None
    }

    /// A segment is about to leave.
    fn on_send(&mut self, _send: &SendEvent) {}

    /// A segment was found lost, a retransmission or not.
    fn on_segment_lost(&mut self, _lost: &LostSegment) {}

    /// A tail loss probe has repaired the loss of a segment, which no recovery and no `on_segment_lost` tells of (RFC 8985 section
    /// 7.4.2). `app_limited`: the application had nothing to send as that left.
    fn on_probe_repaired(&mut self, _now: SimTime, _app_limited: bool) {}

    /// The sender does something else about losses, with `in_flight` segments thought to be in the network. Each timeout is
    /// told, also of one after another, and to every congestion control.
    fn on_phase(&mut self, _now: SimTime, _phase: Phase, _in_flight: u64) {}

    /// An acknowledgement arrived, in whatever phase.
    fn on_delivery(&mut self, _sample: &RateSample) {}

    /// Whether it sends less than the path takes, on purpose: what is sent now tells as little of the path as what the
    /// application limits. Asked for after each `on_delivery`.
    fn limits_itself(&self) -> bool {
        false
    }

    /// What it is at, for traces and plots.
    fn info(&self) -> ControlInfo {
        ControlInfo::default()
    }
}
