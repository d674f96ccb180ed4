//! ns-2's Agent/TCP/Sack1: recovery by `pipe`, the estimate of the segments in flight (Fall and Floyd 1996).

use super::recovery::{LimitedTransmit, LossRecovery, Recover};
use super::scoreboard::Scoreboard;
use super::state::SendState;
use crate::outcome::AckOutcome;
use crate::segment::Ack;
use crossfade_core::SimTime;
use std::cmp::Ordering;

pub(super) struct Sack1 {
    recover: Recover,
    limited_transmit: LimitedTransmit,
    scoreboard: Scoreboard,
    in_recovery: bool,
    /// True if a timeout has cleared the scoreboard: duplicates are then ignored until new data is acknowledged.
    after_timeout: bool,
    /// Estimated number of segments in flight.
    pipe: i64,
    send_loop: SendLoop,
}

/// State of ns-2's send loop, which an acknowledgement starts and which sends all segments that the window allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendLoop {
    /// The loop is active. If the link takes segments one by one (`gate = "slot"`), it stays active over later
    /// acknowledgements, and a duplicate does not end it: ns-2 would have sent all segments before those
    /// acknowledgements.
    Runs,
    /// The loop has ended because nothing could be sent; the next request for a segment, such as after a write of the
    /// application, restarts it.
    Rests,
    /// The last acknowledgement does not start the loop: outside recovery it was a duplicate with new SACK information.
    /// This includes the duplicate that triggers a fast retransmit, after which only the retransmission is sent.
    Silent,
}

impl SendLoop {
    /// State after an acknowledgement that starts the loop (`starts`) or not.
    fn after_ack(self, starts: bool) -> Self {
        match self {
            Self::Rests | Self::Silent if !starts => Self::Silent,
            Self::Silent => Self::Rests,
            Self::Rests | Self::Runs => self,
        }
    }
}

impl Sack1 {
    pub(super) fn new() -> Self {
        Self {
            recover: Recover::START,
            limited_transmit: LimitedTransmit::default(),
            scoreboard: Scoreboard::default(),
            in_recovery: false,
            after_timeout: false,
            pipe: 0,
            send_loop: SendLoop::Rests,
        }
    }

    fn on_ack_in_recovery(&mut self, state: &mut SendState, ack: &Ack, now: SimTime) -> AckOutcome {
        self.pipe -= 1;
        if self.recover.is_reached(ack.next_expected) {
            state.on_new_ack(ack.next_expected, now);
            state.dupacks = 0;
            state.restart_timer(now);
            // The window stays at half: this acknowledgement does not let it grow.
            self.recover = Recover::START;
            self.in_recovery = false;
            self.after_timeout = false;
            self.scoreboard.clear();
            return AckOutcome::RecoveryEnd;
        }
        let is_news = self.scoreboard.update(ack);
        if ack.next_expected > state.snd_una {
            // Both the retransmission and the original have left the network.
            self.pipe -= 1;
            state.on_new_ack(ack.next_expected, now);
            state.rto.end_backoff();
            state.restart_timer(now);
            return AckOutcome::New;
        }
        if is_news {
            state.dupacks += 1;
        }
        AckOutcome::Duplicate
    }

    fn on_duplicate(&mut self, state: &mut SendState, ack: &Ack, now: SimTime) -> AckOutcome {
        if self.after_timeout || !self.scoreboard.update(ack) {
            return AckOutcome::Duplicate;
        }
        state.dupacks += 1;
        if state.dupacks < state.dupthresh {
            self.limited_transmit.allow(state);
        } else if state.dupacks == state.dupthresh && self.recover.allows_fast_retransmit(state) {
            self.recover.on_loss(state, state.window(0), now);
            self.pipe = (state.snd_max - state.snd_una).cast_signed() - i64::from(state.dupthresh);
            self.in_recovery = true;
            self.scoreboard.start_recovery(state.snd_una);
            return AckOutcome::FastRetransmit;
        }
        AckOutcome::Duplicate
    }

    /// Takes the next retransmission that is sent even if the last acknowledgement does not start the loop.
    fn next_repetition(&mut self, state: &mut SendState) -> Option<u64> {
        // The first retransmission does not count towards the pipe.
        if let Some(seq) = state.retransmit.take() {
            return Some(seq);
        }
        if self.in_recovery { None } else { self.limited_transmit.take(state) }
    }

    fn next_in_loop(&mut self, state: &mut SendState) -> Option<u64> {
        if !self.in_recovery {
            let usable = state.window(0) as u64;
            return state.next_in_order(usable);
        }
        if self.pipe >= state.congestion.cwnd() as i64 {
            return None;
        }
        let hole = self.scoreboard.next_hole(state.snd_una, state.snd_max);
        let seq = hole.or_else(|| state.next_in_order(state.w_max))?;
        self.pipe += 1;
        Some(seq)
    }
}

impl LossRecovery for Sack1 {
    fn on_ack(&mut self, state: &mut SendState, ack: &Ack, now: SimTime) -> AckOutcome {
        if ack.next_expected < state.snd_una {
            return AckOutcome::Stale;
        }
        if self.in_recovery {
            self.send_loop = self.send_loop.after_ack(true);
            return self.on_ack_in_recovery(state, ack, now);
        }
        let outcome = match ack.next_expected.cmp(&state.snd_una) {
            Ordering::Greater => {
                self.after_timeout = false;
                // The blocks of this acknowledgement count as new again when a duplicate reports them.
                self.scoreboard.clear();
                let acked = state.on_new_ack(ack.next_expected, now);
                state.dupacks = 0;
                state.restart_timer(now);
                state.grow_window(now, acked);
                AckOutcome::New
            }
            _ => self.on_duplicate(state, ack, now),
        };
        self.send_loop = self.send_loop.after_ack(state.dupacks == 0);
        outcome
    }

    fn on_timeout(&mut self, state: &mut SendState, now: SimTime) {
        state.dupacks = 0;
        self.send_loop = SendLoop::Rests;
        self.in_recovery = false;
        self.after_timeout = true;
        self.scoreboard.clear();
        self.recover.on_timeout(state, now);
    }

    fn next_segment(&mut self, state: &mut SendState) -> Option<u64> {
        if let Some(seq) = self.next_repetition(state) {
            return Some(seq);
        }
        let next = if self.send_loop == SendLoop::Silent { None } else { self.next_in_loop(state) };
        self.send_loop = if next.is_some() { SendLoop::Runs } else { SendLoop::Rests };
        next
    }
}
