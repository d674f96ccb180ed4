//! Receiving side of RLC acknowledged mode (3GPP TS 38.322 sections 5.2.3 and 5.3.4).
//!
//! ```text
//!                 RX_Next            RX_Highest_Status     RX_Next_Highest
//!   all received  |  gaps reported   |  gaps that HARQ may |  nothing yet
//!                                    |  still fill         |
//! ```

use super::partial::Partial;
use super::{DataPdu, Nack, RlcConfig, Status};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// SDU of which at least one segment has been received.
#[derive(Clone, Debug)]
enum Sdu {
    Partial(Partial),
    Complete,
}

/// Receiver of RLC acknowledged mode. Its numbers never wrap around: sequence numbers of PDUs are mapped to the window
/// from `RX_Next` on.
#[derive(Clone, Debug)]
pub struct AmReceiver {
    config: RlcConfig,
    /// SDUs from `RX_Next` on; `None` if no segment has been received.
    sdus: VecDeque<Option<Sdu>>,
    /// `RX_Next`: first number whose SDU is not complete.
    next: u64,
    /// `RX_Highest_Status`: first number that reports do not cover yet.
    highest_status: u64,
    /// `RX_Next_Highest`: one past the highest number received.
    next_highest: u64,
    /// Expiry of `t-Reassembly`, and `RX_Next_Status_Trigger`; `None` while the timer does not run.
    timer: Option<(SimTime, u64)>,
    /// Numbers with polls whose report waits until they are below `RX_Highest_Status`.
    delayed_polls: Vec<u64>,
    is_triggered: bool,
    /// End of `t-StatusProhibit`.
    prohibited: SimTime,
}

impl AmReceiver {
    /// Receiver before its first PDU.
    pub fn new(config: RlcConfig) -> Self {
        Self {
            config,
            sdus: VecDeque::new(),
            next: 0,
            highest_status: 0,
            next_highest: 0,
            timer: None,
            delayed_polls: Vec::new(),
            is_triggered: false,
            prohibited: SimTime::ZERO,
        }
    }

    /// Expiry of t-Reassembly; `None` while it does not run.
    pub fn expiry(&self) -> Option<SimTime> {
        self.timer.map(|(expiry, _)| expiry)
    }

    /// Time from which a STATUS PDU can be sent; `None` if none is triggered.
    pub fn status_from(&self) -> Option<SimTime> {
        self.is_triggered.then_some(self.prohibited)
    }

    /// Receives a PDU; returns the identity of the SDU that it completes.
    pub fn receive(&mut self, now: SimTime, pdu: &DataPdu) -> Option<u64> {
        // Offset from `RX_Next`, modulo the number space, a power of 2.
        let offset = u64::from(pdu.sn?).wrapping_sub(self.next) & (self.config.numbers() - 1);
        let x = self.next + offset;
        if offset >= self.config.window() {
            // Outside the window: the SDU was received before.
            self.is_triggered |= pdu.poll;
            return None;
        }
        let mut done = None;
        let place = offset as usize;
        if place >= self.sdus.len() {
            self.sdus.resize_with(place + 1, || None);
        }
        let sdu = &mut self.sdus[place];
        let is_new = match sdu {
            Some(Sdu::Complete) => false,
            None if pdu.start == 0 && pdu.is_end => {
                *sdu = Some(Sdu::Complete);
                done = Some(pdu.sdu);
                true
            }
            _ => {
                let Sdu::Partial(partial) = sdu.get_or_insert_with(|| Sdu::Partial(Partial::default()))
                else {
                    return None;
                };
                let is_new = partial.add(pdu.start, pdu.end, pdu.is_end);
                if partial.is_complete() {
                    *sdu = Some(Sdu::Complete);
                    done = Some(pdu.sdu);
                }
                is_new
            }
        };
        if is_new {
            self.next_highest = self.next_highest.max(x + 1);
            if done.is_some() {
                if x == self.highest_status {
                    self.highest_status = self.first_incomplete(x);
                }
                if x == self.next {
                    while let Some(Some(Sdu::Complete)) = self.sdus.front() {
                        self.sdus.pop_front();
                        self.next += 1;
                    }
                }
            }
            let has_ended = self.timer.is_some_and(|(_, trigger)| {
                trigger <= self.next || (trigger == self.next + 1 && !self.has_gap(self.next))
            });
            if has_ended {
                self.timer = None;
            }
            if self.timer.is_none() && self.is_missing(self.next) {
                self.timer = Some((now + self.config.reassembly, self.next_highest));
            }
        }
        if pdu.poll {
            if is_new {
                self.delayed_polls.push(x);
            } else {
                self.is_triggered = true;
            }
        }
        self.answer_polls();
        done
    }

    /// Triggers reports for polls whose PDU is below `RX_Highest_Status` or outside the window.
    fn answer_polls(&mut self) {
        let (from, until) = (self.highest_status, self.next + self.config.window());
        let before = self.delayed_polls.len();
        self.delayed_polls.retain(|x| (from..until).contains(x));
        self.is_triggered |= self.delayed_polls.len() < before;
    }

    /// Applies t-Reassembly if it has expired by `now`: gaps before `RX_Next_Status_Trigger` will be reported.
    pub fn expire(&mut self, now: SimTime) {
        let Some((_, trigger)) = self.timer.filter(|(expiry, _)| *expiry <= now) else { return };
        self.timer = None;
        self.highest_status = self.first_incomplete(trigger.max(self.next));
        self.is_triggered = true;
        if self.is_missing(self.highest_status) {
            self.timer = Some((now + self.config.reassembly, self.next_highest));
        }
        self.answer_polls();
    }

    /// Received parts of an SDU; `None` if no segment of it has been received.
    fn sdu(&self, number: u64) -> Option<&Sdu> {
        self.sdus.get(number.checked_sub(self.next)? as usize)?.as_ref()
    }

    /// First number from `from` on whose SDU is not complete.
    fn first_incomplete(&self, from: u64) -> u64 {
        let mut number = from;
        while matches!(self.sdu(number), Some(Sdu::Complete)) {
            number += 1;
        }
        number
    }

    fn has_gap(&self, number: u64) -> bool {
        matches!(self.sdu(number), Some(Sdu::Partial(partial)) if partial.has_gap())
    }

    /// True if any segment from `number` on is missing before the last one received.
    fn is_missing(&self, number: u64) -> bool {
        self.next_highest > number + 1 || (self.next_highest == number + 1 && self.has_gap(number))
    }

    /// Builds the STATUS PDU that is due, with at most `room` bytes; returns it with its length in bytes, or `None`.
    pub fn build_status(&mut self, now: SimTime, room: u32) -> Option<(Status, u32)> {
        if !self.is_triggered || now < self.prohibited || room < 3 {
            return None;
        }
        let mut status = Status::default();
        let mut bytes = 3;
        let mut until = self.highest_status;
        'numbers: for number in self.next..self.highest_status {
            let sn = (number % self.config.numbers()) as u32;
            let nacks = match self.sdu(number) {
                Some(Sdu::Complete) => continue,
                None => vec![Nack { sn, count: 1, bytes: None }],
                Some(Sdu::Partial(partial)) => {
                    let missing = partial.missing().into_iter();
                    missing.map(|part| Nack { sn, count: 1, bytes: Some(part) }).collect()
                }
            };
            let before = (status.nacks.len(), bytes);
            for nack in nacks {
                let last = status.nacks.last_mut().filter(|last| {
                    let follows = (last.sn + last.count) % self.config.numbers() as u32 == nack.sn;
                    follows && last.bytes.is_none() && nack.bytes.is_none() && last.count < 255
                });
                let longer = last
                    .as_ref()
                    .map_or_else(|| nack.bytes(self.config.sn_bits), |last| u32::from(last.count == 1));
                if bytes + longer > room {
                    status.nacks.truncate(before.0);
                    bytes = before.1;
                    until = number;
                    break 'numbers;
                }
                bytes += longer;
                match last {
                    Some(last) => last.count += 1,
                    None => status.nacks.push(nack),
                }
            }
        }
        status.ack_sn = (until % self.config.numbers()) as u32;
        self.is_triggered = false;
        self.prohibited = now + self.config.status_prohibit;
        Some((status, bytes))
    }
}
