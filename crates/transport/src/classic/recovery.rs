//! Loss recovery: which segments the sender retransmits, and when. [`crate::congestion`] sets the window.

use super::state::SendState;
use crate::outcome::AckOutcome;
use crate::segment::Ack;
use crossfade_core::SimTime;

/// Loss recovery of a sender: selects the segments to retransmit and the time of each retransmission.
pub trait LossRecovery: Send {
    /// Processes acknowledgement `ack`, which arrived at `now`, and returns its outcome.
    fn on_ack(&mut self, state: &mut SendState, ack: &Ack, now: SimTime) -> AckOutcome;

    /// Processes the expiry of the retransmission timer at `now`.
    fn on_timeout(&mut self, state: &mut SendState, now: SimTime);

    /// Next segment to send; `None` if none may be sent now.
    fn next_segment(&mut self, state: &mut SendState) -> Option<u64>;
}

/// ns-2's memory of the last loss (`recover_`, `bugFix_`): one past the highest segment sent when the loss was found.
///
/// Duplicate acknowledgements of segments below this number stem from the same loss and trigger no fast retransmit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recover(u64);

impl Recover {
    /// Initial value: ns-2 starts as if segment 0 had been sent before a loss.
    pub(super) const START: Self = Self(1);

    /// True if duplicate acknowledgements signal a new loss. Segment 1 is exempt (`bugfix_ss_`), so a loss of the
    /// second segment of a connection can be repaired.
    pub(super) fn allows_fast_retransmit(self, state: &SendState) -> bool {
        state.snd_una > self.0 || state.snd_una == 1
    }

    pub(super) fn mark(&mut self, state: &SendState) {
        self.0 = state.snd_max;
    }

    /// Reaction, common to ns-2's agents with fast recovery, to the duplicate ACK that triggers a fast retransmit.
    pub(super) fn on_loss(&mut self, state: &mut SendState, window: f64, now: SimTime) {
        self.mark(state);
        state.restart_timer(now);
        state.stop_timing();
        state.congestion.on_loss(now, window);
        state.retransmit = Some(state.snd_una);
    }

    /// Reaction, common to all of ns-2's agents, to an expired retransmission timer.
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

/// Permission to send one new segment on the duplicate ACK just counted (limited transmit: RFC 3042, ns-2's
/// `singledup_`).
///
/// ns-2 sends the segment before it checks the window, so the permission is used up whether or not the window was open.
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
