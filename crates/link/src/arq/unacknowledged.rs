//! Unacknowledged mode: each frame is sent once, without retransmission.

use super::{
    ArqError, ArqReceiver, ArqSender, Content, Delivery, Feedback, Outcome, Patience, Pdu, Protocol, Sdu,
};
use crossfade_core::SimTime;

/// Unacknowledged mode without retransmission, which has no parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Unacknowledged;

impl Protocol for Unacknowledged {
    type Sender = UnacknowledgedSender;
    type Receiver = UnacknowledgedReceiver;

    fn check(&self) -> Result<(), ArqError> {
        Ok(())
    }

    fn build(&self) -> (UnacknowledgedSender, UnacknowledgedReceiver) {
        (UnacknowledgedSender::default(), UnacknowledgedReceiver::default())
    }

    fn patience(&self, _frame_time: SimTime) -> Option<Patience> {
        None
    }

    fn most_repetitions(&self) -> Option<u32> {
        Some(0)
    }
}

/// Sender that sends each frame once (the unacknowledged mode of cellular links).
#[derive(Debug, Default)]
pub struct UnacknowledgedSender {
    seq: u64,
    next: Option<Sdu>,
}

impl ArqSender for UnacknowledgedSender {
    fn wants_sdu(&mut self, _now: SimTime) -> bool {
        self.next.is_none()
    }

    fn on_sdu(&mut self, _now: SimTime, sdu: Sdu) {
        self.next = Some(sdu);
    }

    fn on_feedback(&mut self, _now: SimTime, _feedback: Feedback) {}

    fn poll_transmit(&mut self, _now: SimTime) -> Option<Pdu> {
        let content = Content::Data(self.next.take()?);
        let seq = self.seq;
        self.seq += 1;
        Some(Pdu { seq, oldest: seq, content, attempt: 0 })
    }
}

/// Receiver that passes up every frame. Frames come in order and once, so an unreadable transmission is the loss of the
/// next frame.
#[derive(Debug, Default)]
pub struct UnacknowledgedReceiver {
    next: u64,
    delivery: Option<Delivery>,
}

impl ArqReceiver for UnacknowledgedReceiver {
    fn on_pdu(&mut self, now: SimTime, outcome: Outcome) {
        self.delivery = Some(match outcome {
            Outcome::Good(Pdu { content: Content::Data(sdu), .. }) => {
                Delivery::Frame { sdu, received_at: now }
            }
            _ => Delivery::Lost { first: self.next, frames: 1 },
        });
        self.next = self.next.saturating_add(1);
    }

    fn poll_feedback(&mut self, _now: SimTime) -> Option<Feedback> {
        None
    }

    fn poll_delivery(&mut self) -> Option<Delivery> {
        self.delivery.take()
    }

    /// Always false: there is only one copy of a frame.
    fn awaits(&self, _pdu: &Pdu) -> bool {
        false
    }

    fn is_in_sequence(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arq::testing::deliveries;

    #[test]
    fn every_frame_is_sent_once_and_every_erasure_is_a_loss() {
        let (mut sender, mut receiver) = (UnacknowledgedSender::default(), UnacknowledgedReceiver::default());
        let now = SimTime::ZERO;
        assert_eq!(sender.poll_transmit(now), None);
        let outcomes: [fn(Pdu) -> Outcome; 4] =
            [Outcome::Good, |_| Outcome::Erased, Outcome::Corrupt, Outcome::Good];
        let mut up = Vec::new();
        for (sdu, outcome) in (0..).zip(outcomes) {
            assert!(sender.wants_sdu(now));
            sender.on_sdu(now, sdu);
            assert!(!sender.wants_sdu(now));
            let pdu = sender.poll_transmit(now).unwrap();
            receiver.on_pdu(now, outcome(pdu));
            up.extend(deliveries(&mut receiver));
            assert_eq!(sender.poll_transmit(now), None);
        }
        assert_eq!(up, [0, -2, -3, 3]);
        assert_eq!(receiver.poll_feedback(now), None);
    }
}
