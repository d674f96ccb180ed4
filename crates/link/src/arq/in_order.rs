//! Receiver that accepts only the next frame in order, for stop-and-wait and go back N.

use super::{ArqReceiver, Content, Delivery, Feedback, Outcome, Pdu};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Receiver that passes up frames in order, and acknowledges the last of them. Stop-and-wait and go back N share it;
/// they differ in how far their senders run ahead.
#[derive(Debug, Default)]
pub struct InOrderReceiver {
    next: u64,
    delivery: VecDeque<Delivery>,
    feedback: VecDeque<Feedback>,
}

impl InOrderReceiver {
    /// Creates a receiver that has not received a frame.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts frames before `oldest` as lost, since the sender has given them up.
    fn skip_to(&mut self, oldest: u64) {
        if oldest > self.next {
            self.delivery.push_back(Delivery::Lost { first: self.next, frames: oldest - self.next });
            self.next = oldest;
        }
    }
}

impl ArqReceiver for InOrderReceiver {
    fn on_pdu(&mut self, now: SimTime, outcome: Outcome) {
        let (pdu, is_good) = match outcome {
            Outcome::Good(pdu) => (pdu, true),
            Outcome::Corrupt(pdu) => (pdu, false),
            Outcome::Erased => return,
        };
        self.skip_to(pdu.oldest.min(pdu.seq));
        if let Content::Data(sdu) = pdu.content
            && pdu.seq == self.next
        {
            if !is_good {
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

    fn awaits(&self, pdu: &Pdu) -> bool {
        pdu.seq == self.next.max(pdu.oldest.min(pdu.seq))
    }

    fn is_in_sequence(&self) -> bool {
        true
    }
}
