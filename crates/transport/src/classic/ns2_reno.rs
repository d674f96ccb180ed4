//! ns-2's Agent/TCP/Reno: fast recovery that ends with the first new acknowledgement.

use super::recovery::{LimitedTransmit, LossRecovery, Recover};
use super::state::SendState;
use crate::outcome::AckOutcome;
use crate::segment::Ack;
use crossfade_core::SimTime;
use std::cmp::Ordering;

pub(super) struct Reno {
    recover: Recover,
    limited_transmit: LimitedTransmit,
    /// Window inflation (`dupwnd_`) in segments, added to `cwnd`: the number of segments that duplicate ACKs have shown
    /// to have left the network.
    inflation: u64,
    /// True if duplicate ACKs caused the last window reduction and no new data was acknowledged since.
    cut_by_duplicates: bool,
}

impl Reno {
    pub(super) fn new() -> Self {
        Self {
            recover: Recover::START,
            limited_transmit: LimitedTransmit::default(),
            inflation: 0,
            cut_by_duplicates: false,
        }
    }

    fn on_duplicate(&mut self, state: &mut SendState, now: SimTime) -> AckOutcome {
        state.dupacks += 1;
        match state.dupacks.cmp(&state.dupthresh) {
            Ordering::Less => self.limited_transmit.allow(state),
            Ordering::Equal if self.recover.allows_fast_retransmit(state) || self.cut_by_duplicates => {
                self.recover.on_loss(state, state.window(self.inflation), now);
                self.inflation = u64::from(state.dupthresh);
                self.cut_by_duplicates = true;
                return AckOutcome::FastRetransmit;
            }
            Ordering::Greater if self.cut_by_duplicates => self.inflation += 1,
            Ordering::Equal | Ordering::Greater => {}
        }
        AckOutcome::Duplicate
    }
}

impl LossRecovery for Reno {
    fn on_ack(&mut self, state: &mut SendState, ack: &Ack, now: SimTime) -> AckOutcome {
        match ack.next_expected.cmp(&state.snd_una) {
            Ordering::Greater => {
                let ends_recovery = self.inflation > 0;
                self.inflation = 0;
                self.cut_by_duplicates = false;
                let acked = state.on_new_ack(ack.next_expected, now);
                state.dupacks = 0;
                state.restart_timer(now);
                state.grow_window(now, acked);
                if ends_recovery { AckOutcome::RecoveryEnd } else { AckOutcome::New }
            }
            Ordering::Equal => self.on_duplicate(state, now),
            Ordering::Less => AckOutcome::Stale,
        }
    }

    fn on_timeout(&mut self, state: &mut SendState, now: SimTime) {
        // ns-2 removes the inflation before it halves the window.
        self.inflation = 0;
        self.cut_by_duplicates = false;
        state.dupacks = 0;
        self.recover.on_timeout(state, now);
    }

    fn next_segment(&mut self, state: &mut SendState) -> Option<u64> {
        state.retransmit.take().or_else(|| self.limited_transmit.take(state)).or_else(|| {
            let usable = state.congestion.cwnd() as u64 + self.inflation;
            state.next_in_order(usable.min(state.w_max))
        })
    }
}
