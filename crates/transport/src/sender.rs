//! The sending end.

use crate::config::TcpConfig;
use crate::recovery::{AckOutcome, LossRecovery, loss_recovery};
use crate::segment::{Ack, Segment};
use crate::state::SendState;
use crossfade_core::{SimTime, TcpSnapshot};

/// A TCP sender without IO.
///
/// Tell it what happens ([`on_ack`](Self::on_ack), [`on_timeout`](Self::on_timeout)), then ask it for
/// segments with [`poll_transmit`](Self::poll_transmit) until there are none, and for the time of its next
/// timeout.
pub struct Sender {
    state: SendState,
    recovery: Box<dyn LossRecovery>,
}

impl Sender {
    /// A sender that has sent nothing.
    pub fn new(config: &TcpConfig) -> Self {
        Self { state: SendState::new(config), recovery: loss_recovery(config) }
    }

    /// An acknowledgement arrived at `now`.
    pub fn on_ack(&mut self, now: SimTime, ack: &Ack) -> AckOutcome {
        // No honest receiver acknowledges what was never sent.
        if ack.next_expected > self.state.snd_max {
            return AckOutcome::Stale;
        }
        self.recovery.on_ack(&mut self.state, ack, now)
    }

    /// When [`Self::on_timeout`] is to be called unless something happens before.
    pub fn next_timeout(&self) -> Option<SimTime> {
        self.state.timer.deadline()
    }

    /// The retransmission timer expired; does nothing before [`Self::next_timeout`].
    pub fn on_timeout(&mut self, now: SimTime) {
        if self.next_timeout().is_some_and(|deadline| deadline <= now) {
            self.recovery.on_timeout(&mut self.state, now);
        }
    }

    /// The next segment to send at `now`, if the window allows one.
    pub fn poll_transmit(&mut self, now: SimTime) -> Option<Segment> {
        let seq = self.recovery.next_segment(&mut self.state)?;
        let retransmission = seq < self.state.snd_max;
        self.state.on_sent(seq, now);
        Some(Segment { seq, retransmission, timestamp: now, ..Segment::default() })
    }

    /// Whether everything that the application had was acknowledged.
    pub fn is_done(&self) -> bool {
        self.state.snd_una >= self.state.available
    }

    /// The oldest segment not yet acknowledged.
    pub fn snd_una(&self) -> u64 {
        self.state.snd_una
    }

    /// The sum, in seconds, and the number of the round trips measured so far.
    pub fn rtt_samples(&self) -> (f64, u64) {
        (self.state.rtt_sum_s, self.state.rtt_samples)
    }

    /// The variables that traces show.
    pub fn snapshot(&self) -> TcpSnapshot {
        TcpSnapshot {
            cwnd: self.state.congestion.cwnd(),
            ssthresh: self.state.congestion.ssthresh(),
            dupacks: self.state.dupacks,
            backoff: self.state.rto.backoff(),
            flight_size: self.state.flight_size(),
        }
    }
}
