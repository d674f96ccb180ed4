//! Stop and wait: one frame at a time.

use super::Hard;
use super::SoftValue;
use super::{ArqError, ArqReceiver, ArqSender, Content, Delivery, Feedback, Outcome, Pdu, Sdu};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// The parameters of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopAndWaitConfig {
    /// How long after the start of its transmission a frame is sent again: at least a frame, the delays of both
    /// directions and the acknowledgement.
    pub timeout: SimTime,
    /// After so many retransmissions a frame is given up; `None` never gives up.
    pub max_retransmissions: Option<u32>,
}

impl StopAndWaitConfig {
    pub(super) fn check(&self) -> Result<(), ArqError> {
        ArqError::unless(self.timeout > SimTime::ZERO, "timeout", self.timeout, "above 0")
    }
}

/// Sends a frame until it is acknowledged or given up.
pub struct StopAndWaitSender {
    config: StopAndWaitConfig,
    /// The number of the frame that is being sent, or else of the next one.
    seq: u64,
    current: Option<Sdu>,
    /// Transmissions of it so far.
    transmissions: u32,
    /// When to send it again.
    deadline: SimTime,
    /// What the receiver is known to wait for. Less than `seq` when the last frame was given up.
    told: u64,
}

impl StopAndWaitSender {
    /// A sender of nothing so far.
    pub fn new(config: &StopAndWaitConfig) -> Self {
        let deadline = SimTime::ZERO;
        Self { config: *config, seq: 0, current: None, transmissions: 0, deadline, told: 0 }
    }

    fn end(&mut self) {
        self.seq += 1;
        self.current = None;
        self.transmissions = 0;
        self.deadline = SimTime::ZERO;
    }

    fn is_given_up(&self) -> bool {
        self.config.max_retransmissions.is_some_and(|n| u64::from(self.transmissions) > u64::from(n))
    }
}

impl ArqSender for StopAndWaitSender {
    fn wants_sdu(&self, now: SimTime) -> bool {
        self.current.is_none() || (self.deadline <= now && self.is_given_up())
    }

    fn on_sdu(&mut self, _now: SimTime, sdu: Sdu) {
        if self.current.is_some() {
            self.end();
        }
        self.current = Some(sdu);
        self.transmissions = 0;
        self.deadline = SimTime::ZERO;
    }

    fn on_feedback(&mut self, _now: SimTime, feedback: Feedback) {
        let Feedback::Ack { next, .. } = feedback else { return };
        self.told = self.told.max(next.min(self.seq + 1));
        if self.current.is_some() && next == self.seq + 1 && self.transmissions > 0 {
            self.end();
        }
    }

    fn poll_transmit(&mut self, now: SimTime) -> Option<Pdu> {
        if self.deadline > now {
            return None;
        }
        if self.current.is_some() && self.is_given_up() {
            self.end();
        }
        let pdu = |content, attempt| Pdu { seq: self.seq, oldest: self.seq, content, attempt };
        let pdu = match self.current {
            Some(sdu) => pdu(Content::Data(sdu), self.transmissions),
            None if self.told < self.seq => pdu(Content::Skip, 0),
            None => return None,
        };
        self.transmissions += 1;
        self.deadline = now + self.config.timeout;
        Some(pdu)
    }

    fn next_timeout(&self) -> Option<SimTime> {
        (self.current.is_some() || self.told < self.seq).then_some(self.deadline)
    }
}

/// Passes up what is new and acknowledges everything.
pub struct StopAndWaitReceiver<S = Hard> {
    next: u64,
    soft: Option<S>,
    delivery: VecDeque<Delivery>,
    feedback: VecDeque<Feedback>,
}

impl<S> Default for StopAndWaitReceiver<S> {
    fn default() -> Self {
        Self { next: 0, soft: None, delivery: VecDeque::new(), feedback: VecDeque::new() }
    }
}

impl<S: SoftValue> StopAndWaitReceiver<S> {
    /// A receiver of nothing so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// The sender has given up all frames before `oldest`.
    fn skip_to(&mut self, oldest: u64) {
        if oldest > self.next {
            self.delivery.push_back(Delivery::Lost { first: self.next, frames: oldest - self.next });
            self.next = oldest;
            self.soft = None;
        }
    }
}

impl<S: SoftValue> ArqReceiver<S> for StopAndWaitReceiver<S> {
    fn on_pdu(&mut self, now: SimTime, outcome: Outcome<S>) {
        let Outcome::Frame(pdu, payload) = outcome else { return };
        self.skip_to(pdu.oldest.min(pdu.seq));
        if let Content::Data(sdu) = pdu.content
            && pdu.seq == self.next
        {
            if !payload.check(&mut self.soft) {
                return;
            }
            self.next = self.next.saturating_add(1);
            self.delivery.push_back(Delivery::Frame { sdu, received_at: now });
        }
        self.feedback.push_back(Feedback::Ack { next: self.next, last: pdu.seq });
    }

    fn poll_feedback(&mut self, _now: SimTime) -> Option<Feedback> {
        self.feedback.pop_front()
    }

    fn poll_delivery(&mut self) -> Option<Delivery> {
        self.delivery.pop_front()
    }

    fn is_in_sequence(&self) -> bool {
        true
    }
}
