//! Congestion control: how large the window is. Which segments to repeat is the business of
//! [`crate::recovery`].

mod reno;

pub use reno::{RenoRule, Rounding};

use crossfade_core::SimTime;

/// What an acknowledgement of new segments tells a window rule. Sequence numbers count segments.
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

/// A window rule. Loss recovery tells it what happened; it answers with `cwnd` and `ssthresh`, in segments.
pub trait CongestionControl: Send {
    /// The congestion window.
    fn cwnd(&self) -> f64;

    /// The slow-start threshold.
    fn ssthresh(&self) -> f64;

    /// An acknowledgement outside loss recovery covered new segments.
    fn on_ack(&mut self, ack: &AckSample);

    /// Duplicate acknowledgements showed a loss while `window` segments were allowed under way.
    fn on_loss(&mut self, now: SimTime, window: f64);

    /// The retransmission timer expired while `window` segments were allowed under way.
    fn on_timeout(&mut self, now: SimTime, window: f64);

    /// Loss recovery inflates, deflates or restores the window.
    fn set_cwnd(&mut self, cwnd: f64);
}
