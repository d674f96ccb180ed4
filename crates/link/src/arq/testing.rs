//! Ladder tests: sender and receiver of a protocol step by step, with readable records.

use super::{ArqReceiver, ArqSender, Content, Delivery, Feedback, Outcome, Pdu};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Duration of a frame in the tests.
pub(super) const SLOT: SimTime = SimTime::from_millis(20);

/// Fate of one frame or one feedback message on the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Good,
    Lost,
}

/// Reception of a data frame without error.
pub(super) fn data(seq: u64, sdu: u64) -> Outcome {
    Outcome::Good(Pdu { seq, oldest: 0, content: Content::Data(sdu), attempt: 0 })
}

/// Reception of an idle frame without error.
pub(super) fn idle(seq: u64) -> Outcome {
    Outcome::Good(Pdu { seq, oldest: 0, content: Content::Idle, attempt: 0 })
}

/// Output of a receiver for one frame: its deliveries (a negative number for each loss), and the frames that it
/// requests.
pub(super) fn hears(receiver: &mut impl ArqReceiver, now: SimTime, outcome: Outcome) -> (Vec<i64>, Vec<u64>) {
    receiver.on_pdu(now, outcome);
    let naks = naks(receiver, now);
    (deliveries(receiver), naks)
}

/// Deliveries of a receiver: numbers of payloads, and -1 - n for a lost payload n.
pub(super) fn deliveries(receiver: &mut impl ArqReceiver) -> Vec<i64> {
    let mut up = Vec::new();
    while let Some(delivery) = receiver.poll_delivery() {
        match delivery {
            Delivery::Frame { sdu, .. } => up.push(sdu.cast_signed()),
            Delivery::Lost { first, frames } => {
                up.extend((first..first + frames).map(|n| -1 - n.cast_signed()));
            }
        }
    }
    up
}

/// Sequence numbers of the frames that a receiver requests by NAKs.
pub(super) fn naks(receiver: &mut impl ArqReceiver, now: SimTime) -> Vec<u64> {
    let feedback = std::iter::from_fn(|| receiver.poll_feedback(now));
    feedback
        .filter_map(|feedback| match feedback {
            Feedback::Nak { seq } => Some(seq),
            Feedback::Ack { .. } => None,
        })
        .collect()
}

/// Sender and receiver that exchange one frame per slot; feedback arrives one slot after it was sent.
pub(super) struct Ladder<S, R> {
    pub(super) sender: S,
    pub(super) receiver: R,
    pub(super) slot: u64,
    /// Frame sent in each slot: `+n` a new frame, `*n` one retransmitted, `.` an idle frame, `-` nothing.
    pub(super) sent: Vec<String>,
    /// Deliveries of the receiver: numbers of payloads, and -1 - n for a lost payload n.
    pub(super) up: Vec<i64>,
    next_sdu: u64,
    feedback: VecDeque<(u64, Feedback)>,
    /// Fates of feedback messages, in the order of sending; those beyond the list are delivered.
    pub(super) feedback_fates: VecDeque<Fate>,
}

impl<S: ArqSender, R: ArqReceiver> Ladder<S, R> {
    pub(super) fn new(sender: S, receiver: R) -> Self {
        Self {
            sender,
            receiver,
            slot: 0,
            sent: Vec::new(),
            up: Vec::new(),
            next_sdu: 0,
            feedback: VecDeque::new(),
            feedback_fates: VecDeque::new(),
        }
    }

    /// Runs one slot, in which the frame has this `fate`; `has_data`: a new payload waits to be sent.
    pub(super) fn step(&mut self, fate: Fate, has_data: bool) {
        let now = SLOT * self.slot;
        while let Some(&(at, feedback)) = self.feedback.front().filter(|(at, _)| *at <= self.slot) {
            assert_eq!(at, self.slot);
            self.feedback.pop_front();
            self.sender.on_feedback(now, feedback);
        }
        if has_data && self.sender.wants_sdu(now) {
            self.sender.on_sdu(now, self.next_sdu);
            self.next_sdu += 1;
        }
        let pdu = self.sender.poll_transmit(now);
        self.sent.push(pdu.map_or("-".into(), |pdu| match pdu.content {
            Content::Data(_) if pdu.attempt == 0 => format!("+{}", pdu.seq),
            Content::Data(_) => format!("*{}", pdu.seq),
            Content::Idle | Content::Skip => ".".into(),
        }));
        self.slot += 1;
        let end = SLOT * self.slot;
        match (pdu, fate) {
            (Some(pdu), Fate::Good) => self.receiver.on_pdu(end, Outcome::Good(pdu)),
            (Some(_), Fate::Lost) => self.receiver.on_pdu(end, Outcome::Erased),
            (None, _) => {}
        }
        while let Some(feedback) = self.receiver.poll_feedback(end) {
            if self.feedback_fates.pop_front() != Some(Fate::Lost) {
                self.feedback.push_back((self.slot + 1, feedback));
            }
        }
        self.up.extend(deliveries(&mut self.receiver));
    }

    /// Runs a slot for each character: `o` good, `x` lost, with new payloads; `O` and `X` without.
    pub(super) fn run(&mut self, fates: &str) {
        for fate in fates.chars() {
            let lost = if fate.eq_ignore_ascii_case(&'x') { Fate::Lost } else { Fate::Good };
            self.step(lost, fate.is_lowercase());
        }
    }

    pub(super) fn sent(&self) -> String {
        self.sent.join(" ")
    }
}
