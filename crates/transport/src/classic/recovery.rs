//! Loss recovery: which segments to repeat, and when. How large the window is, is the business of
//! [`crate::congestion`].

use super::state::SendState;
use crate::outcome::AckOutcome;
use crate::segment::Ack;
use crossfade_core::SimTime;

/// Loss recovery: which segments the sender retransmits, and when.
pub trait LossRecovery: Send {
    /// An acknowledgement arrived.
    fn on_ack(&mut self, state: &mut SendState, ack: &Ack, now: SimTime) -> AckOutcome;

    /// The retransmission timer expired.
    fn on_timeout(&mut self, state: &mut SendState, now: SimTime);

    /// The segment to send next, if one may be sent now.
    fn next_segment(&mut self, state: &mut SendState) -> Option<u64>;
}

/// ns-2's memory of the last loss (`recover_`, `bugFix_`): one past the highest segment sent when it was
/// found.
///
/// Duplicate acknowledgements of segments sent before that are echoes of the same loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recover(u64);

impl Recover {
    /// ns-2 starts as if segment 0 had been sent before a loss.
    pub(super) const START: Self = Self(1);

    /// Whether duplicate acknowledgements mean a new loss. Segment 1 is exempt (`bugfix_ss_`), so that a loss
    /// of the second segment of a connection can be repaired.
    pub(super) fn allows_fast_retransmit(self, state: &SendState) -> bool {
        state.snd_una > self.0 || state.snd_una == 1
    }

    pub(super) fn mark(&mut self, state: &SendState) {
        self.0 = state.snd_max;
    }

    /// What the agents with fast recovery do on the duplicate that shows a loss.
    pub(super) fn on_loss(&mut self, state: &mut SendState, window: f64, now: SimTime) {
        self.mark(state);
        state.restart_timer(now);
        state.stop_timing();
        state.congestion.on_loss(now, window);
        state.retransmit = Some(state.snd_una);
    }

    /// What all agents do when the timer expires.
    pub(super) fn on_timeout(&mut self, state: &mut SendState, now: SimTime) {
        self.mark(state);
        state.congestion.on_timeout(now, state.window(0));
        state.rto.back_off();
        state.restart_timer(now);
        state.stop_timing();
        state.go_back();
    }

    pub(super) fn is_reached(self, next_expected: u64) -> bool {
        next_expected >= self.0
    }
}

/// A new segment that limited transmit (RFC 3042, ns-2's `singledup_`) allows on the duplicate just counted.
///
/// ns-2 sends it before it looks at the window, so it is spent whether or not the window was open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LimitedTransmit(bool);

impl LimitedTransmit {
    pub(super) fn allow(&mut self, state: &SendState) {
        self.0 = state.limited_transmit;
    }

    pub(super) fn take(&mut self, state: &mut SendState) -> Option<u64> {
        if !std::mem::take(&mut self.0) {
            return None;
        }
        let usable = state.congestion.cwnd() as u64 + u64::from(state.dupacks);
        state.next_in_order(usable.min(state.w_max))
    }
}
