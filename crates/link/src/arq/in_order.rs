//! A receiver that keeps nothing but the frame it waits for.

use super::{ArqReceiver, Content, Delivery, Feedback, Hard, Outcome, SoftValue};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Passes up what comes in order, and acknowledges how far it is: the receiver of stop-and-wait and of
/// go-back-N, which differ in how far their senders run ahead.
pub struct InOrderReceiver<S = Hard> {
    next: u64,
    soft: Option<S>,
    delivery: VecDeque<Delivery>,
    feedback: VecDeque<Feedback>,
}

impl<S> Default for InOrderReceiver<S> {
    fn default() -> Self {
        Self { next: 0, soft: None, delivery: VecDeque::new(), feedback: VecDeque::new() }
    }
}

impl<S: SoftValue> InOrderReceiver<S> {
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

impl<S: SoftValue> ArqReceiver<S> for InOrderReceiver<S> {
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
