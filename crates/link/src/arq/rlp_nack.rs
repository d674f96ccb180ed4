//! The radio link protocol of Toledo and Wang: "TCP performance over wireless MIMO channels with ARQ and
//! packet combining" (IEEE Trans. Mobile Computing 5(3), 2006), sections 5.1 and 5.2.
//!
//! The protocol differs from that of IS-99 in its timers (one NACK at a time for each missing frame, repeated after a
//! fixed time) and in periodic acknowledgements, which free the sender's buffer.

use super::resequencer::{HALF, Place, Resequencer};
use super::{
    ArqError, ArqReceiver, ArqSender, Content, Delivery, Feedback, Outcome, Patience, Pdu, Protocol, Sdu,
};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Parameters of the radio link protocol of Toledo and Wang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlpNackConfig {
    /// Limit n: number of timeouts after which a frame is given up. With 0 no frame is retransmitted.
    pub max_retransmissions: u32,
    /// Time for which the receiver waits for the retransmission after a NACK; four frame times in the paper.
    pub timeout: SimTime,
    /// True if a corrupt retransmission causes a NACK at once instead of after the timeout, as in the listing of
    /// section 5.2. This needs a readable header.
    pub nack_corrupt: bool,
    /// True if NACKs of a frame that already waits for retransmission are ignored.
    pub merge_nacks: bool,
    /// Number of received data frames after which the receiver sends an acknowledgement.
    pub ack_period: u32,
    /// Number of frames that each end stores, 1 to 128.
    pub buffer: u32,
}

impl RlpNackConfig {
    /// Values of the paper for frames of duration `frame_time`, and an acknowledgement every 16 frames, which the paper
    /// leaves open.
    pub fn new(max_retransmissions: u32, frame_time: SimTime) -> Self {
        Self {
            max_retransmissions,
            timeout: frame_time * 4,
            nack_corrupt: true,
            merge_nacks: true,
            ack_period: 16,
            buffer: 128,
        }
    }
}

impl Protocol for RlpNackConfig {
    type Sender = RlpNackSender;
    type Receiver = RlpNackReceiver;

    fn check(&self) -> Result<(), ArqError> {
        ArqError::unless((1..=128).contains(&self.buffer), "buffer", self.buffer, "1 to 128 frames")?;
        ArqError::unless(self.ack_period >= 1, "ack_period", self.ack_period, "at least 1 frame")?;
        ArqError::unless(self.timeout > SimTime::ZERO, "timeout", self.timeout, "above 0")
    }

    fn build(&self) -> (RlpNackSender, RlpNackReceiver) {
        (RlpNackSender::new(self), RlpNackReceiver::new(self))
    }

    fn patience(&self, _frame_time: SimTime) -> Option<Patience> {
        Some(Patience { parameter: "timeout", time: self.timeout })
    }

    fn most_repetitions(&self) -> Option<u32> {
        Some(self.max_retransmissions)
    }
}

/// Sender of the radio link protocol of Toledo and Wang: sends retransmissions requested by NACKs first, then new
/// frames while its buffer has room.
pub struct RlpNackSender {
    buffer: u64,
    merge_nacks: bool,
    /// Position of the oldest unacknowledged frame, counted without a modulus.
    oldest: u64,
    /// Position of the next new frame, the paper's `nextseq`, counted without a modulus.
    next_seq: u64,
    /// Payloads of the unacknowledged frames, by position modulo 256, each with its number of retransmissions.
    sent: Box<[(Sdu, u32); 256]>,
    next: Option<Sdu>,
    /// Positions of frames to be retransmitted.
    again: VecDeque<u64>,
}

impl RlpNackSender {
    /// Creates a sender that has not sent a frame.
    pub fn new(config: &RlpNackConfig) -> Self {
        Self {
            buffer: u64::from(config.buffer).clamp(1, HALF),
            merge_nacks: config.merge_nacks,
            oldest: 0,
            next_seq: 0,
            sent: Box::new([(0, 0); 256]),
            next: None,
            again: VecDeque::new(),
        }
    }

    /// Position of the unacknowledged frame with the sequence number `seq`; `None` if there is none.
    fn position(&self, seq: u64) -> Option<u64> {
        let ahead = u64::from((seq as u8).wrapping_sub(self.oldest as u8));
        (ahead < self.next_seq - self.oldest).then(|| self.oldest + ahead)
    }
}

impl ArqSender for RlpNackSender {
    fn wants_sdu(&mut self, _now: SimTime) -> bool {
        self.again.is_empty() && self.next.is_none() && self.next_seq - self.oldest < self.buffer
    }

    fn on_sdu(&mut self, _now: SimTime, sdu: Sdu) {
        self.next = Some(sdu);
    }

    fn on_feedback(&mut self, _now: SimTime, feedback: Feedback) {
        match feedback {
            Feedback::Nak { seq } => {
                let Some(position) = self.position(seq) else { return };
                if !(self.merge_nacks && self.again.contains(&position)) {
                    self.again.push_back(position);
                }
            }
            Feedback::Ack { next, .. } => {
                let acked = u64::from((next as u8).wrapping_sub(self.oldest as u8));
                if acked <= self.next_seq - self.oldest {
                    self.oldest += acked;
                    let oldest = self.oldest;
                    self.again.retain(|&position| position >= oldest);
                }
            }
        }
    }

    fn poll_transmit(&mut self, _now: SimTime) -> Option<Pdu> {
        if let Some(position) = self.again.pop_front() {
            let (sdu, attempt) = &mut self.sent[usize::from(position as u8)];
            *attempt += 1;
            let (content, attempt) = (Content::Data(*sdu), *attempt);
            return Some(Pdu { seq: position & 0xff, oldest: 0, content, attempt });
        }
        let seq = self.next_seq & 0xff;
        if let Some(sdu) = self.next.take() {
            self.sent[usize::from(self.next_seq as u8)] = (sdu, 0);
            self.next_seq += 1;
            return Some(Pdu { seq, oldest: 0, content: Content::Data(sdu), attempt: 0 });
        }
        // While something is unacknowledged the receiver is told how far the sender is: the paper does not
        // say how the loss of a last frame is noticed.
        let waits = self.oldest < self.next_seq;
        waits.then_some(Pdu { seq, oldest: 0, content: Content::Idle, attempt: 0 })
    }
}

/// A missing frame, with its number of NACKs and its timer.
struct Missing {
    position: u64,
    nacks: u32,
    deadline: SimTime,
}

/// Receiver of the radio link protocol of Toledo and Wang: puts frames into order, requests missing ones, and gives up
/// those that do not come.
pub struct RlpNackReceiver {
    config: RlpNackConfig,
    frames: Resequencer,
    /// Missing frames in order of position.
    missing: Vec<Missing>,
    next_deadline: SimTime,
    frames_since_ack: u32,
    feedback: VecDeque<Feedback>,
}

impl RlpNackReceiver {
    /// Creates a receiver that has not received a frame.
    pub fn new(config: &RlpNackConfig) -> Self {
        Self {
            config: *config,
            frames: Resequencer::new(config.buffer),
            missing: Vec::new(),
            next_deadline: SimTime::MAX,
            frames_since_ack: 0,
            feedback: VecDeque::new(),
        }
    }

    /// Marks all frames before `end` that were not received as missing: "a loss is detected when a nonconsecutive RLP
    /// frame is received" (section 5.1).
    fn miss_until(&mut self, end: u64) {
        for position in self.frames.extend(end) {
            self.missing.push(Missing { position, nacks: 0, deadline: SimTime::ZERO });
            self.next_deadline = SimTime::ZERO;
        }
        // The sender never has more on the way than the buffer holds; a stranger may.
        if self.frames.relieve(1) {
            let v_n = self.frames.v_n();
            self.missing.retain(|missing| missing.position >= v_n);
        }
    }

    fn on_data(&mut self, now: SimTime, pdu: Pdu, sdu: Sdu, is_good: bool) {
        let (position, is_new) = match self.frames.place(pdu.seq) {
            Place::Old | Place::Held => return,
            Place::Missing(position) => (position, false),
            Place::New(position) if self.frames.v_n() == position && is_good => {
                return self.frames.pass(now, sdu);
            }
            Place::New(position) => {
                self.miss_until(position + 1);
                (position, true)
            }
        };
        if is_good {
            self.frames.hold(position, now, sdu);
            self.missing.retain(|missing| missing.position != position);
        } else if self.config.nack_corrupt && !is_new {
            // "if receive_buffer(s) is corrupt then send NACK(s)"; a new one is missing and gets its NACK
            // anyway.
            if let Some(missing) = self.missing.iter_mut().find(|missing| missing.position == position) {
                missing.deadline = now;
                self.next_deadline = self.next_deadline.min(now);
            }
        }
    }

    fn check_timers(&mut self, now: SimTime) {
        let Self { config, missing, frames, feedback, .. } = self;
        let mut next_deadline = SimTime::MAX;
        missing.retain_mut(|frame| {
            if frame.deadline <= now {
                // "until [..] a maximum number of timeout expirations n per frame is reached".
                if frame.nacks >= config.max_retransmissions {
                    frames.give_up(frame.position);
                    return false;
                }
                frame.nacks += 1;
                frame.deadline = now + config.timeout;
                feedback.push_back(Feedback::Nak { seq: frame.position & 0xff });
            }
            next_deadline = next_deadline.min(frame.deadline);
            true
        });
        self.next_deadline = next_deadline;
    }

    fn acknowledge(&mut self) {
        self.frames_since_ack = 0;
        let next = self.frames.v_n() & 0xff;
        self.feedback.push_back(Feedback::Ack { next, last: next.wrapping_sub(1) & 0xff });
    }
}

impl ArqReceiver for RlpNackReceiver {
    fn on_pdu(&mut self, now: SimTime, outcome: Outcome) {
        let (pdu, is_good) = match outcome {
            Outcome::Good(pdu) => (pdu, true),
            Outcome::Corrupt(pdu) => (pdu, false),
            Outcome::Erased => return,
        };
        match pdu.content {
            Content::Data(sdu) => {
                self.on_data(now, pdu, sdu, is_good);
                self.frames_since_ack += 1;
            }
            Content::Idle | Content::Skip => {
                // The sender is never behind what is expected.
                self.miss_until(self.frames.ahead(pdu.seq));
                // The sender waits.
                self.frames_since_ack = self.config.ack_period;
            }
        }
        if self.next_deadline <= now {
            self.check_timers(now);
        }
        if self.frames_since_ack >= self.config.ack_period {
            self.acknowledge();
        }
    }

    fn poll_feedback(&mut self, now: SimTime) -> Option<Feedback> {
        if self.next_deadline <= now {
            self.check_timers(now);
        }
        self.feedback.pop_front()
    }

    fn poll_delivery(&mut self) -> Option<Delivery> {
        self.frames.poll()
    }

    fn next_timeout(&self) -> Option<SimTime> {
        (self.next_deadline < SimTime::MAX).then_some(self.next_deadline)
    }

    fn awaits(&self, pdu: &Pdu) -> bool {
        matches!(self.frames.place(pdu.seq), Place::Missing(_) | Place::New(_))
    }

    fn is_in_sequence(&self) -> bool {
        self.frames.is_in_sequence()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arq::testing::{Fate, Ladder, SLOT, data, deliveries, hears, idle, naks};
    use proptest::prelude::*;

    const NOW: SimTime = SimTime::ZERO;

    fn config(n: u32) -> RlpNackConfig {
        RlpNackConfig::new(n, SLOT)
    }

    fn ladder(config: &RlpNackConfig) -> Ladder<RlpNackSender, RlpNackReceiver> {
        Ladder::new(RlpNackSender::new(config), RlpNackReceiver::new(config))
    }

    fn corrupt(seq: u64) -> Outcome {
        let pdu = Pdu { seq, oldest: 0, content: Content::Data(seq), attempt: 0 };
        Outcome::Corrupt(pdu)
    }

    #[test]
    fn a_single_loss_and_a_burst_are_repaired() {
        let mut ladder = ladder(&config(3));
        ladder.run("oxoooo");
        assert_eq!(ladder.sent(), "+0 +1 +2 +3 *1 +4");
        ladder.run("xxxooooo");
        assert_eq!(ladder.sent[6..].join(" "), "+5 +6 +7 +8 +9 *5 *6 *7");
        assert_eq!(ladder.up, (0..10).collect::<Vec<i64>>());
    }

    #[test]
    fn a_lost_retransmission_is_asked_for_again_after_four_frames() {
        let mut ladder = ladder(&config(3));
        ladder.run("xooxoooooo");
        // NACK after slot 1, retransmission in slot 3; the timer expires four frames after the NACK.
        assert_eq!(ladder.sent(), "+0 +1 +2 *0 +3 +4 +5 *0 +6 +7");
        assert_eq!(ladder.up, (0..8).collect::<Vec<i64>>());
    }

    #[test]
    fn a_lost_nack_is_sent_again_after_four_frames() {
        let mut ladder = ladder(&config(3));
        ladder.feedback_fates = [Fate::Lost].into();
        ladder.run("xoooooooo");
        assert_eq!(ladder.sent(), "+0 +1 +2 +3 +4 +5 +6 *0 +7");
        assert_eq!(ladder.up, (0..8).collect::<Vec<i64>>());
    }

    #[test]
    fn after_n_expiries_a_frame_is_given_up() {
        let mut ladder = ladder(&config(2));
        ladder.run("xooxoooxoooo");
        assert_eq!(ladder.sent(), "+0 +1 +2 *0 +3 +4 +5 *0 +6 +7 +8 +9");
        assert_eq!(ladder.up, [-1, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(ladder.receiver.next_timeout(), None);
    }

    #[test]
    fn the_loss_of_the_last_frames_is_noticed() {
        let mut ladder = ladder(&config(3));
        ladder.run("oxOOOOO");
        // The idle frame of slot 2 tells how far the sender is; when all is acknowledged it falls silent.
        assert_eq!(ladder.sent(), "+0 +1 . . *1 . .");
        assert_eq!(ladder.up, [0, 1]);
        ladder.run("OOO");
        assert_eq!(ladder.sent[7..].join(" "), "- - -");
    }

    #[test]
    fn the_loss_of_everything_on_the_way_is_noticed() {
        // The timer of four frames would give up what waits to be retransmitted.
        let mut ladder = ladder(&RlpNackConfig { timeout: SLOT * 200, ..config(3) });
        ladder.run("o");
        // The buffer of 128 frames is full after 127 more.
        ladder.run(&"x".repeat(140));
        assert_eq!(ladder.sent[128..].join(" ").trim_matches(['.', ' ']), "");
        ladder.run(&"o".repeat(300));
        let up = ladder.up.len();
        assert!(up > 128 && ladder.up.iter().copied().eq((0..).take(up)), "{:?}", ladder.up);
    }

    #[test]
    fn numbers_wrap_at_255_and_duplicates_are_discarded() {
        let mut ladder = ladder(&config(3));
        ladder.run(&"o".repeat(254));
        ladder.run("xxxoooooooo");
        let up = ladder.up.len();
        assert!(up > 257 && ladder.up.iter().copied().eq((0..).take(up)), "{:?}", &ladder.up[250..]);
        let last = up as u64 - 1;
        for outcome in [data(last & 0xff, last), data((last - 100) & 0xff, last - 100)] {
            assert_eq!(hears(&mut ladder.receiver, SLOT * 300, outcome), (vec![], vec![]));
        }
    }

    #[test]
    fn acknowledgements_free_the_buffer_of_the_sender() {
        let config = RlpNackConfig { buffer: 8, ack_period: 4, ..config(3) };
        let mut sender = RlpNackSender::new(&config);
        for sdu in 0..8 {
            assert!(sender.wants_sdu(NOW));
            sender.on_sdu(NOW, sdu);
            sender.poll_transmit(NOW);
        }
        assert!(!sender.wants_sdu(NOW));
        assert_eq!(sender.poll_transmit(NOW).map(|pdu| pdu.content), Some(Content::Idle));
        // Acknowledged frames need not be retransmitted, and frames never sent cannot be acknowledged.
        sender.on_feedback(NOW, Feedback::Nak { seq: 2 });
        sender.on_feedback(NOW, Feedback::Ack { next: 9, last: 8 });
        assert_eq!(sender.again, [2]);
        sender.on_feedback(NOW, Feedback::Ack { next: 4, last: 3 });
        assert!(sender.wants_sdu(NOW));
        sender.on_feedback(NOW, Feedback::Nak { seq: 3 });
        assert!(sender.wants_sdu(NOW));
        // The receiver acknowledges every fourth frame, and every idle one.
        let mut ladder = ladder(&config);
        ladder.run(&"o".repeat(40));
        assert!(ladder.sent.iter().all(|sent| sent.starts_with('+')));
        ladder.feedback_fates = [Fate::Lost; 4].into();
        ladder.run(&"o".repeat(20));
        let idle_frames = ladder.sent.iter().filter(|sent| *sent == ".").count();
        assert!(idle_frames > 0 && ladder.up.iter().copied().eq((0..).take(ladder.up.len())));
    }

    #[test]
    fn a_stranger_can_overflow_the_buffer_but_not_the_machine() {
        let mut receiver: RlpNackReceiver = RlpNackReceiver::new(&RlpNackConfig { buffer: 8, ..config(3) });
        let (up, naks) = hears(&mut receiver, NOW, data(20, 20));
        assert_eq!((up.len(), naks.len()), (13, 7));
        assert!(up.iter().all(|&n| n < 0));
    }

    #[test]
    fn a_corrupt_frame_whose_header_is_read_is_asked_for_at_once() {
        let mut receiver = RlpNackReceiver::new(&config(2));
        assert_eq!(hears(&mut receiver, NOW, corrupt(0)), (vec![], vec![0]));
        assert_eq!(hears(&mut receiver, SLOT, corrupt(0)), (vec![], vec![0]));
        // The third copy was the last.
        assert_eq!(hears(&mut receiver, SLOT * 2, corrupt(0)), (vec![-1], vec![]));
        // With the timer alone a corrupt copy changes nothing.
        let patient = RlpNackConfig { nack_corrupt: false, ..config(2) };
        let mut receiver: RlpNackReceiver = RlpNackReceiver::new(&patient);
        assert_eq!(hears(&mut receiver, NOW, corrupt(0)), (vec![], vec![0]));
        assert_eq!(hears(&mut receiver, SLOT, corrupt(0)), (vec![], vec![]));
        assert_eq!(receiver.next_timeout(), Some(SLOT * 4));
        assert_eq!(naks(&mut receiver, SLOT * 4), [0]);
    }

    #[test]
    fn requests_in_the_queue_are_merged_or_not() {
        for merge_nacks in [true, false] {
            let mut sender = RlpNackSender::new(&RlpNackConfig { merge_nacks, ..config(3) });
            sender.on_sdu(NOW, 0);
            sender.poll_transmit(NOW);
            for _ in 0..3 {
                sender.on_feedback(NOW, Feedback::Nak { seq: 0 });
            }
            assert_eq!(sender.again.len(), if merge_nacks { 1 } else { 3 });
        }
    }

    proptest! {
        /// For feedback of any kind and number, the sender keeps at most 128 unacknowledged frames and 128
        /// retransmissions.
        #[test]
        fn any_feedback_is_survived(ops in prop::collection::vec((0_u8..4, any::<u64>()), 0..400)) {
            let mut sender = RlpNackSender::new(&config(3));
            let mut sdu = 0;
            for (op, number) in ops {
                match op {
                    0 => sender.on_feedback(NOW, Feedback::Nak { seq: number }),
                    1 => sender.on_feedback(NOW, Feedback::Ack { next: number, last: number }),
                    2 if sender.wants_sdu(NOW) => {
                        sender.on_sdu(NOW, sdu);
                        sdu += 1;
                    }
                    _ => drop(sender.poll_transmit(NOW)),
                }
                prop_assert!(sender.next_seq - sender.oldest <= 128);
                prop_assert!(sender.again.len() <= 128);
            }
        }
    }

    #[test]
    fn idle_frames_say_nothing_new_when_all_is_there() {
        let mut receiver: RlpNackReceiver = RlpNackReceiver::new(&config(3));
        assert_eq!(hears(&mut receiver, NOW, data(0, 0)).0, [0]);
        assert_eq!(hears(&mut receiver, NOW, idle(1)), (vec![], vec![]));
        assert_eq!(deliveries(&mut receiver), []);
    }
}
