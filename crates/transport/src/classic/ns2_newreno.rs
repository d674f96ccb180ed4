//! ns-2's Agent/TCP/Newreno: a partial acknowledgement retransmits the next hole and deflates the window.

use super::recovery::{LimitedTransmit, LossRecovery, Recover};
use super::state::SendState;
use crate::outcome::AckOutcome;
use crate::segment::Ack;
use crossfade_core::SimTime;
use std::cmp::Ordering;

/// Maximum number of segments that may follow one acknowledgement in recovery (`maxburst`).
const MAX_BURST_IN_RECOVERY: u32 = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum LastCut {
    None,
    Duplicates,
    Timeout,
}

pub(super) struct NewReno {
    recover: Recover,
    limited_transmit: LimitedTransmit,
    /// Window inflation (`dupwnd_`) in segments, added to `cwnd`: the number of segments that duplicate ACKs have shown
    /// to have left the network.
    inflation: u64,
    last_cut: LastCut,
    /// True after a partial acknowledgement in this recovery: only the first one restarts the timer ("impatient", RFC
    /// 6582 section 4). A timeout does not reset the flag.
    seen_partial: bool,
    /// Number of segments that may still be sent in response to the last acknowledgement.
    burst: u32,
}

impl NewReno {
    pub(super) fn new() -> Self {
        Self {
            recover: Recover::START,
            limited_transmit: LimitedTransmit::default(),
            inflation: 0,
            last_cut: LastCut::None,
            seen_partial: false,
            burst: u32::MAX,
        }
    }

    fn on_new_ack(&mut self, state: &mut SendState, ack: &Ack, now: SimTime) -> AckOutcome {
        if self.last_cut == LastCut::Duplicates && !self.recover.is_reached(ack.next_expected) {
            self.on_partial_ack(state, ack, now);
            return AckOutcome::New;
        }
        let ends_recovery = self.inflation > 0;
        if ends_recovery {
            self.inflation = 0;
            self.last_cut = LastCut::None;
        }
        self.seen_partial = false;
        let acked = state.on_new_ack(ack.next_expected, now);
        state.dupacks = 0;
        state.restart_timer(now);
        state.grow_window(now, acked);
        if ends_recovery { AckOutcome::RecoveryEnd } else { AckOutcome::New }
    }

    /// Processes a partial acknowledgement: keeps the count of duplicates and does not let the window grow.
    fn on_partial_ack(&mut self, state: &mut SendState, ack: &Ack, now: SimTime) {
        let acked = state.on_new_ack(ack.next_expected, now);
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            let deflated = state.congestion.cwnd() - (acked - self.inflation) as f64;
            state.congestion.set_cwnd(deflated.max(1.0));
            // The inflation stays above zero, since zero would end the recovery.
            self.inflation = 1;
        }
        if !self.seen_partial {
            self.seen_partial = true;
            state.restart_timer(now);
        }
        state.retransmit = Some(state.snd_una);
    }

    fn on_duplicate(&mut self, state: &mut SendState, now: SimTime) -> AckOutcome {
        state.dupacks += 1;
        match state.dupacks.cmp(&state.dupthresh) {
            Ordering::Less => self.limited_transmit.allow(state),
            Ordering::Equal if self.recover.allows_fast_retransmit(state) => {
                self.recover.on_loss(state, state.window(self.inflation), now);
                self.inflation = u64::from(state.dupthresh);
                self.last_cut = LastCut::Duplicates;
                return AckOutcome::FastRetransmit;
            }
            Ordering::Greater if self.last_cut == LastCut::Duplicates => self.inflation += 1,
            Ordering::Equal | Ordering::Greater => {}
        }
        AckOutcome::Duplicate
    }
}

impl LossRecovery for NewReno {
    fn on_ack(&mut self, state: &mut SendState, ack: &Ack, now: SimTime) -> AckOutcome {
        let outcome = match ack.next_expected.cmp(&state.snd_una) {
            Ordering::Greater => self.on_new_ack(state, ack, now),
            Ordering::Equal => self.on_duplicate(state, now),
            Ordering::Less => return AckOutcome::Stale,
        };
        if state.dupacks == 0 {
            self.burst = u32::MAX;
        } else if state.dupacks >= state.dupthresh {
            self.burst = MAX_BURST_IN_RECOVERY;
        }
        outcome
    }

    fn on_timeout(&mut self, state: &mut SendState, now: SimTime) {
        // ns-2 removes the inflation before it halves the window.
        self.inflation = 0;
        self.last_cut = LastCut::Timeout;
        self.burst = u32::MAX;
        state.dupacks = 0;
        self.recover.on_timeout(state, now);
    }

    fn next_segment(&mut self, state: &mut SendState) -> Option<u64> {
        state.retransmit.take().or_else(|| self.limited_transmit.take(state)).or_else(|| {
            let usable = state.congestion.cwnd() as u64 + self.inflation;
            let seq = (self.burst > 0).then(|| state.next_in_order(usable.min(state.w_max))).flatten()?;
            self.burst -= 1;
            Some(seq)
        })
    }
}
