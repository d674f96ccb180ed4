//! The radio link protocol of Toledo and Wang: "TCP performance over wireless MIMO channels with ARQ and packet
//! combining" (IEEE Trans. Mobile Computing 5(3), 2006), sections 5.1 and 5.2.
//!
//! That of IS-99 with other timers: one NACK at a time for each missing frame, again after a fixed time; and
//! periodic acknowledgements, which free the sender's buffer.

use super::SoftValue;
use super::resequencer::{HALF, Place, Resequencer};
use super::{
    ArqError, ArqReceiver, ArqSender, Content, Delivery, Feedback, Hard, Outcome, Payload, Pdu, Sdu,
};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// The parameters of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RlpNackConfig {
    /// The limit n: after so many expiries of its timer a frame is given up. With 0 nothing is sent again.
    pub max_retransmissions: u32,
    /// How long to wait for an answer to a NACK: the time of four frames in the paper.
    pub timeout: SimTime,
    /// Whether a copy that comes back corrupt ends the wait at once, as in the listing of section 5.2. Only
    /// where its header can be read.
    pub nack_corrupt: bool,
    /// The sender does not put a frame into its queue of retransmissions while it is there.
    pub merge_nacks: bool,
    /// An acknowledgement after so many received frames.
    pub ack_period: u32,
    /// How many frames each end keeps. 1 to 128.
    pub buffer: u32,
}

impl RlpNackConfig {
    /// The values of the paper for frames of this length, and an acknowledgement every 16 frames, which the
    /// paper leaves open.
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

    pub(super) fn check(&self) -> Result<(), ArqError> {
        ArqError::unless((1..=128).contains(&self.buffer), "buffer", self.buffer, "1 to 128 frames")?;
        ArqError::unless(self.ack_period >= 1, "ack_period", self.ack_period, "at least 1 frame")?;
        ArqError::unless(self.timeout > SimTime::ZERO, "timeout", self.timeout, "above 0")
    }
}

/// Sends new frames while its buffer has room, and again what NACKs ask for, first.
pub struct RlpNackSender {
    buffer: u64,
    merge_nacks: bool,
    /// The oldest frame not acknowledged, without a modulus.
    oldest: u64,
    /// The paper's `nextseq`, without a modulus.
    next_seq: u64,
    /// The frames that are not acknowledged, by their number modulo 256, and how often each was sent again.
    sent: Box<[(Sdu, u32); 256]>,
    next: Option<Sdu>,
    /// What to send again.
    again: VecDeque<u64>,
}

impl RlpNackSender {
    /// A sender of nothing so far.
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

    /// The unacknowledged frame with this number.
    fn position(&self, seq: u64) -> Option<u64> {
        let ahead = u64::from((seq as u8).wrapping_sub(self.oldest as u8));
        (ahead < self.next_seq - self.oldest).then(|| self.oldest + ahead)
    }
}

impl ArqSender for RlpNackSender {
    fn wants_sdu(&self, _now: SimTime) -> bool {
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
        // While something is unacknowledged the receiver is told how far the sender is: the paper does not say
        // how the loss of a last frame is noticed.
        let waits = self.oldest < self.next_seq;
        waits.then_some(Pdu { seq, oldest: 0, content: Content::Idle, attempt: 0 })
    }
}

/// A frame that is waited for.
struct Missing {
    position: u64,
    nacks: u32,
    deadline: SimTime,
}

/// Puts frames into order, asks for those that are missing, and gives up what does not come.
pub struct RlpNackReceiver<S = Hard> {
    config: RlpNackConfig,
    frames: Resequencer<S>,
    /// By position.
    missing: Vec<Missing>,
    next_deadline: SimTime,
    frames_since_ack: u32,
    feedback: VecDeque<Feedback>,
}

impl<S: SoftValue> RlpNackReceiver<S> {
    /// A receiver of nothing so far.
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

    /// All frames before `end` that have not been received are missing: "a loss is detected when a
    /// nonconsecutive RLP frame is received" (section 5.1).
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

    fn on_data(&mut self, now: SimTime, pdu: Pdu, sdu: Sdu, payload: Payload<S>) {
        let (position, is_new) = match self.frames.place(pdu.seq) {
            Place::Old | Place::Held => return,
            Place::Missing(position) => (position, false),
            Place::New(position) if self.frames.v_n() == position && matches!(payload, Payload::Good) => {
                return self.frames.pass(now, sdu);
            }
            Place::New(position) => {
                self.miss_until(position + 1);
                (position, true)
            }
        };
        if payload.check(self.frames.soft(position)) {
            self.frames.hold(position, now, sdu);
            self.missing.retain(|missing| missing.position != position);
        } else if self.config.nack_corrupt && !is_new {
            // "if receive_buffer(s) is corrupt then send NACK(s)"; a new one is missing and gets its NACK anyway.
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

impl<S: SoftValue> ArqReceiver<S> for RlpNackReceiver<S> {
    fn on_pdu(&mut self, now: SimTime, outcome: Outcome<S>) {
        let Outcome::Frame(pdu, payload) = outcome else { return };
        match pdu.content {
            Content::Data(sdu) => {
                self.on_data(now, pdu, sdu, payload);
                self.frames_since_ack += 1;
            }
            Content::Idle | Content::Skip => {
                if let Place::New(end) = self.frames.place(pdu.seq) {
                    self.miss_until(end);
                }
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

    fn is_in_sequence(&self) -> bool {
        self.frames.is_in_sequence()
    }
}
