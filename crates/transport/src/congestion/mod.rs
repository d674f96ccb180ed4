//! Congestion control: how large the window is. Which segments to repeat is the business of
//! [`crate::recovery`].

mod reno;

pub use reno::{RenoRule, Rounding};

use crossfade_core::SimTime;

/// A window rule. Loss recovery tells it what happened; it answers with `cwnd` and `ssthresh`, in segments.
pub trait CongestionControl: Send {
    /// The congestion window.
    fn cwnd(&self) -> f64;

    /// The slow-start threshold.
    fn ssthresh(&self) -> f64;

    /// An acknowledgement outside loss recovery covered `acked` new segments.
    fn on_ack(&mut self, now: SimTime, acked: u64);

    /// Duplicate acknowledgements showed a loss while `window` segments were allowed under way.
    fn on_loss(&mut self, now: SimTime, window: f64);

    /// The retransmission timer expired while `window` segments were allowed under way.
    fn on_timeout(&mut self, now: SimTime, window: f64);

    /// Loss recovery inflates, deflates or restores the window.
    fn set_cwnd(&mut self, cwnd: f64);
}
