//! Sender of the RLP of IS-99.

use super::config::RlpIs99Config;
use crate::arq::{ArqSender, Content, Feedback, Pdu, Sdu};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Sender of the RLP of IS-99: sends retransmissions requested by NAKs first, then new frames in order.
pub struct RlpIs99Sender {
    idle_frames_carry_v_s: bool,
    /// V(S): position of the next new frame, counted without a modulus.
    v_s: u64,
    buffer: u64,
    /// Payloads of the last frames sent, by position modulo 256, each with its number of retransmissions.
    sent: Box<[(Sdu, u32); 256]>,
    next: Option<Sdu>,
    /// Positions of frames to be retransmitted, one entry for each NAK.
    again: VecDeque<u64>,
}

impl RlpIs99Sender {
    /// Creates a sender that has not sent a frame.
    pub fn new(config: &RlpIs99Config) -> Self {
        Self {
            idle_frames_carry_v_s: config.idle_frames_carry_v_s,
            v_s: 0,
            buffer: u64::from(config.buffer),
            sent: Box::new([(0, 0); 256]),
            next: None,
            again: VecDeque::new(),
        }
    }

    fn slot(&mut self, position: u64) -> &mut (Sdu, u32) {
        &mut self.sent[usize::from(position as u8)]
    }
}

impl ArqSender for RlpIs99Sender {
    #[inline]
    fn wants_sdu(&mut self, _now: SimTime) -> bool {
        self.again.is_empty() && self.next.is_none()
    }

    #[inline]
    fn on_sdu(&mut self, _now: SimTime, sdu: Sdu) {
        self.next = Some(sdu);
    }

    /// Takes a NAK, which triggers one retransmission (section II) if the frame is still in the buffer.
    fn on_feedback(&mut self, _now: SimTime, feedback: Feedback) {
        let Feedback::Nak { seq } = feedback else { return };
        let behind = match u64::from((self.v_s as u8).wrapping_sub(seq as u8)) {
            0 => 256,
            behind => behind,
        };
        if behind <= self.buffer.min(self.v_s) {
            self.again.push_back(self.v_s - behind);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, _now: SimTime) -> Option<Pdu> {
        if let Some(position) = self.again.pop_front() {
            let (sdu, attempt) = self.slot(position);
            *attempt += 1;
            let (content, attempt) = (Content::Data(*sdu), *attempt);
            return Some(Pdu { seq: position & 0xff, oldest: 0, content, attempt });
        }
        let seq = self.v_s & 0xff;
        if let Some(sdu) = self.next.take() {
            *self.slot(self.v_s) = (sdu, 0);
            // "V(S) is incremented whenever a new RLP data frame of nonzero bytes is sent out."
            self.v_s += 1;
            return Some(Pdu { seq, oldest: 0, content: Content::Data(sdu), attempt: 0 });
        }
        let seq = if self.idle_frames_carry_v_s { seq } else { Pdu::NO_SEQ };
        Some(Pdu { seq, oldest: 0, content: Content::Idle, attempt: 0 })
    }
}
