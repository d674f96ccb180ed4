//! ns-2's Agent/TCP: Tahoe, and with `noFastRetrans_` the paper's `OldTahoe`.

use super::recovery::{LimitedTransmit, LossRecovery, Recover};
use super::state::SendState;
use crate::outcome::AckOutcome;
use crate::segment::Ack;
use crossfade_core::SimTime;
use std::cmp::Ordering;

pub(super) struct Tahoe {
    fast_retransmit: bool,
    recover: Recover,
    limited_transmit: LimitedTransmit,
}

impl Tahoe {
    pub(super) fn new() -> Self {
        Self { fast_retransmit: true, recover: Recover::START, limited_transmit: LimitedTransmit::default() }
    }

    pub(super) fn without_fast_retransmit() -> Self {
        Self { fast_retransmit: false, ..Self::new() }
    }
}

impl LossRecovery for Tahoe {
    fn on_ack(&mut self, state: &mut SendState, ack: &Ack, now: SimTime) -> AckOutcome {
        match ack.next_expected.cmp(&state.snd_una) {
            Ordering::Greater => {
                let acked = state.on_new_ack(ack.next_expected, now);
                state.dupacks = 0;
                state.restart_timer(now);
                state.grow_window(now, acked);
                AckOutcome::New
            }
            Ordering::Equal => {
                state.dupacks += 1;
                if state.dupacks == state.dupthresh && self.fast_retransmit {
                    if self.recover.allows_fast_retransmit(state) {
                        self.recover.mark(state);
                        state.congestion.on_timeout(now, state.window(0));
                        state.restart_timer(now);
                        state.stop_timing();
                        state.go_back();
                        return AckOutcome::FastRetransmit;
                    }
                } else if state.dupacks < state.dupthresh {
                    self.limited_transmit.allow(state);
                }
                AckOutcome::Duplicate
            }
            Ordering::Less => AckOutcome::Stale,
        }
    }

    /// Processes a timeout: unlike ns-2's other agents, Tahoe keeps the count of duplicates.
    fn on_timeout(&mut self, state: &mut SendState, now: SimTime) {
        self.recover.on_timeout(state, now);
    }

    fn next_segment(&mut self, state: &mut SendState) -> Option<u64> {
        self.limited_transmit.take(state).or_else(|| {
            let usable = state.window(0) as u64;
            state.next_in_order(usable)
        })
    }
}
