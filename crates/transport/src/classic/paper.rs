//! Idealised senders of Zorzi, Chockalingam and Rao, "Throughput analysis of TCP on channels with memory" (2000), as
//! the paper's formulas describe them.
//!
//! ```text
//!             K-th duplicate (not OldTahoe)
//!   ┌──────┐ ─────────────────────────────> Tahoe: W = 1, back to A, stay open
//!   │ Open │ ── Reno, NewReno, SACK: ────> ┌────────────┐  partial ACK: W + 1; NewReno, SACK: repeat the next hole
//!   └──────┘    W = min(h + K, W_max),     │ Recovering │  Reno: wait for the timer of the next hole
//!      ^  ^     repeat A                   └────────────┘
//!      │  └── full ACK: W = W_th = h ───────┘   │
//!      └──────── timeout: W_th = ceil(W/2), W = 1, back to A
//! ```
//!
//! In recovery only the retransmitted segment is sent until it is acknowledged, although the inflated window would
//! allow more: section II of the paper differs here from its analysis, and this module follows the analysis. If a
//! retransmission is lost, the sender stays silent until its segment's timer expires, which started when the segment
//! was first sent.

use super::recovery::LossRecovery;
use super::scoreboard::Scoreboard;
use super::state::SendState;
use crate::config::Variant;
use crate::outcome::AckOutcome;
use crate::segment::Ack;
use crossfade_core::SimTime;

#[derive(Clone, Copy, Debug)]
enum Phase {
    Open,
    /// In recovery until all segments below `recover` are acknowledged.
    Recovering {
        recover: u64,
    },
}

pub(super) struct PaperRecovery {
    variant: Variant,
    phase: Phase,
    /// Segments that SACK has reported beyond the cumulative acknowledgement.
    scoreboard: Scoreboard,
}

impl PaperRecovery {
    pub(super) fn new(variant: Variant) -> Self {
        Self { variant, phase: Phase::Open, scoreboard: Scoreboard::default() }
    }

    fn on_new_ack(&mut self, state: &mut SendState, ack: &Ack, now: SimTime) -> AckOutcome {
        let acked = state.on_new_ack(ack.next_expected, now);
        state.dupacks = 0;
        // Any progress ends the back-off, since the paper's sender takes no RTT samples.
        state.rto.end_backoff();
        let Phase::Recovering { recover } = self.phase else {
            state.grow_window(now, acked);
            return AckOutcome::New;
        };
        if state.snd_una >= recover {
            self.phase = Phase::Open;
            state.congestion.set_cwnd(state.congestion.ssthresh());
            return AckOutcome::RecoveryEnd;
        }
        inflate(state);
        match self.variant {
            Variant::NewReno => state.retransmit = Some(state.snd_una),
            Variant::Sack => state.retransmit = self.scoreboard.next_hole(state.snd_una, recover),
            Variant::OldTahoe | Variant::Tahoe | Variant::Reno => {}
        }
        AckOutcome::New
    }

    fn on_duplicate(&mut self, state: &mut SendState, now: SimTime) -> AckOutcome {
        state.dupacks += 1;
        if matches!(self.phase, Phase::Recovering { .. }) {
            // Acknowledgements arrive in recovery only if the reverse path has a delay (section II: W + 1 for each).
            inflate(state);
            return AckOutcome::Duplicate;
        }
        if state.dupacks != state.dupthresh || self.variant == Variant::OldTahoe {
            return AckOutcome::Duplicate;
        }
        let window = state.congestion.cwnd();
        if self.variant == Variant::Tahoe {
            state.congestion.on_timeout(now, window);
            self.start_over(state);
        } else {
            state.congestion.on_loss(now, window);
            let inflated = state.congestion.ssthresh() + f64::from(state.dupthresh);
            state.congestion.set_cwnd(inflated.min(state.w_max as f64));
            self.phase = Phase::Recovering { recover: state.snd_nxt };
            state.retransmit = Some(state.snd_una);
            self.scoreboard.start_recovery(state.snd_una);
            state.stop_timing();
        }
        AckOutcome::FastRetransmit
    }

    /// Restarts from the oldest unacknowledged segment, with all timers stopped.
    fn start_over(&mut self, state: &mut SendState) {
        state.go_back();
        state.timer.clear();
        state.stop_timing();
        self.phase = Phase::Open;
        self.scoreboard.clear();
    }
}

/// Inflates the congestion window by one segment, to at most the receiver window `W_max`.
fn inflate(state: &mut SendState) {
    state.congestion.set_cwnd(state.window(1));
}

impl LossRecovery for PaperRecovery {
    fn on_ack(&mut self, state: &mut SendState, ack: &Ack, now: SimTime) -> AckOutcome {
        if self.variant == Variant::Sack {
            self.scoreboard.update(ack);
        }
        if ack.next_expected > state.snd_una {
            self.on_new_ack(state, ack, now)
        } else if ack.next_expected == state.snd_una && state.flight_size() > 0 {
            self.on_duplicate(state, now)
        } else {
            AckOutcome::Stale
        }
    }

    fn on_timeout(&mut self, state: &mut SendState, now: SimTime) {
        state.congestion.on_timeout(now, state.congestion.cwnd());
        state.rto.back_off();
        state.dupacks = 0;
        self.start_over(state);
    }

    fn next_segment(&mut self, state: &mut SendState) -> Option<u64> {
        if let Phase::Recovering { .. } = self.phase {
            return state.retransmit.take();
        }
        let duplicates = state.dupacks.min(state.dupthresh - 1);
        // Limited transmit sends new data only (RFC 3042): retransmissions beyond the window would return as duplicates
        // without end.
        let is_new = state.snd_nxt == state.snd_max;
        let extra = if state.limited_transmit && is_new { u64::from(duplicates) } else { 0 };
        let usable = state.window(extra) as u64;
        state.next_in_order(usable)
    }
}
