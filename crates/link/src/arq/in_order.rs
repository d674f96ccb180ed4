//! A receiver that keeps nothing but the frame it waits for.

use super::{ArqReceiver, Content, Delivery, Feedback, Outcome, Pdu};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Passes up what comes in order, and acknowledges how far it is: the receiver of stop-and-wait and of
/// go-back-N, which differ in how far their senders run ahead.
#[derive(Debug, Default)]
pub struct InOrderReceiver {
    next: u64,
    delivery: VecDeque<Delivery>,
    feedback: VecDeque<Feedback>,
}

impl InOrderReceiver {
    /// A receiver of nothing so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// The sender has given up all frames before `oldest`.
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
