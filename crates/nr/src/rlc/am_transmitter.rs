//! Transmitting side of RLC acknowledged mode (3GPP TS 38.322 sections 5.3.1 to 5.3.3).
//!
//! ```text
//!                 ACK_SN                TX_Next
//!   acknowledged  |  sent, some NACKed  |  not numbered
//!                 TX_Next_Ack           (at most TX_Next_Ack + window)
//! ```
//! Retransmissions go before new data. A PDU polls after `pollPDU` PDUs or `pollByte` bytes of new data, when no data
//! are left, and when the window is full. If no report comes before t-PollRetransmit expires, the last SDU is
//! retransmitted with a poll.

use super::{DataPdu, RlcConfig, Source, Status};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// SDU that was sent at least in part and is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Unconfirmed {
    sdu: u64,
    length: u32,
    /// Number of its bytes that were sent at least once.
    sent: u32,
    /// `RETX_COUNT`; `None` before the SDU is first considered for retransmission.
    retransmissions: Option<u32>,
}

/// Segment that must be retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Again {
    /// Number of the SDU; it does not wrap around.
    number: u64,
    start: u32,
    end: u32,
}

/// Transmitter of RLC acknowledged mode.
#[derive(Clone, Debug)]
pub struct AmTransmitter {
    config: RlcConfig,
    /// `TX_Next_Ack`: first number not acknowledged; it does not wrap around here.
    acknowledged: u64,
    /// SDUs from `TX_Next_Ack` on; `None` for an acknowledged one.
    sdus: VecDeque<Option<Unconfirmed>>,
    again: VecDeque<Again>,
    pdus_without_poll: u32,
    bytes_without_poll: u64,
    /// `POLL_SN`, which does not wrap around here, and expiry of `t-PollRetransmit`; `None` while the timer does not
    /// run.
    poll: Option<(u64, SimTime)>,
    /// True if the next PDU must poll because `t-PollRetransmit` has expired.
    must_poll: bool,
    has_failed: bool,
    /// Number of retransmitted segments.
    retransmissions: u64,
}

impl AmTransmitter {
    /// Transmitter before its first PDU.
    pub fn new(config: RlcConfig) -> Self {
        Self {
            config,
            acknowledged: 0,
            sdus: VecDeque::new(),
            again: VecDeque::new(),
            pdus_without_poll: 0,
            bytes_without_poll: 0,
            poll: None,
            must_poll: false,
            has_failed: false,
            retransmissions: 0,
        }
    }

    /// True if an SDU has reached `maxRetxThreshold`, so that the radio link has failed.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Number of retransmitted PDUs.
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// True if any SDU waits for its acknowledgement.
    pub fn waits(&self) -> bool {
        !self.sdus.is_empty()
    }

    /// Identities of the SDUs under way, in order.
    pub fn unconfirmed(&self) -> impl Iterator<Item = u64> + '_ {
        self.sdus.iter().flatten().map(|sdu| sdu.sdu)
    }

    /// Expiry of `t-PollRetransmit`; `None` while it does not run.
    pub fn expiry(&self) -> Option<SimTime> {
        self.poll.map(|(_, expiry)| expiry)
    }

    /// Bytes that wait to be sent, without new SDUs.
    #[inline]
    pub fn buffered(&self) -> u64 {
        let again: u64 = self.again.iter().map(|again| u64::from(again.end - again.start)).sum();
        let last = self.sdus.back().and_then(Option::as_ref);
        let open = last.map_or(0, |sdu| u64::from(sdu.length - sdu.sent));
        again + open
    }

    /// True if the window allows a new SDU.
    pub fn may_begin(&self) -> bool {
        (self.sdus.len() as u64) < self.config.window()
    }

    fn number_of_next(&self) -> u64 {
        self.acknowledged + self.sdus.len() as u64
    }

    fn sn(&self, number: u64) -> u32 {
        (number % self.config.numbers()) as u32
    }

    fn at(&mut self, number: u64) -> Option<&mut Unconfirmed> {
        self.sdus.get_mut(number.checked_sub(self.acknowledged)? as usize)?.as_mut()
    }

    /// True if no byte waits, of SDUs under way or of new ones that the window allows.
    fn is_drained(&self, source: &impl Source) -> bool {
        self.buffered() == 0 && (source.next_bytes().is_none() || !self.may_begin())
    }

    /// Builds the next PDU with at most `room` bytes, header included; returns it with its length in bytes, or `None`
    /// if nothing can be sent.
    pub fn build(&mut self, now: SimTime, room: u32, source: &mut impl Source) -> Option<(DataPdu, u32)> {
        let (number, start, end, is_new) = match self.again.front() {
            Some(again) => (again.number, again.start, again.end, false),
            None => self.next_new(source)?,
        };
        let header = self.config.header_bytes(start, false);
        let end = end.min(start + room.checked_sub(header + 1)? + 1);
        if is_new && number == self.number_of_next() {
            let length = source.next_bytes()?;
            self.sdus.push_back(Some(Unconfirmed {
                sdu: source.take(),
                length,
                sent: 0,
                retransmissions: None,
            }));
        }
        let sdu = self.at(number)?;
        let (identity, length) = (sdu.sdu, sdu.length);
        if is_new {
            sdu.sent = end;
            self.pdus_without_poll += 1;
            self.bytes_without_poll += u64::from(end - start);
        } else {
            self.retransmissions += 1;
            let front = self.again.front_mut()?;
            front.start = end;
            if front.start == front.end {
                self.again.pop_front();
            }
        }
        let poll = std::mem::take(&mut self.must_poll)
            || (is_new
                && (self.config.poll_pdus.is_some_and(|most| self.pdus_without_poll >= most)
                    || self.config.poll_bytes.is_some_and(|most| self.bytes_without_poll >= most)))
            || self.is_drained(source);
        if poll {
            (self.pdus_without_poll, self.bytes_without_poll) = (0, 0);
            self.poll = Some((self.number_of_next() - 1, now + self.config.poll_retransmit));
        }
        let sn = Some(self.sn(number));
        let is_end = end == length;
        let pdu = DataPdu { sdu: identity, sn, start, end, is_end, poll, is_retransmission: !is_new };
        Some((pdu, end - start + header))
    }

    /// Next new bytes: the rest of the last SDU, or a new SDU; `None` without any.
    fn next_new(&self, source: &impl Source) -> Option<(u64, u32, u32, bool)> {
        if let Some(sdu) = self.sdus.back().copied().flatten().filter(|sdu| sdu.sent < sdu.length) {
            return Some((self.number_of_next() - 1, sdu.sent, sdu.length, true));
        }
        let length = source.next_bytes().filter(|_| self.may_begin())?;
        Some((self.number_of_next(), 0, length, true))
    }

    /// Applies a STATUS PDU; the identities of SDUs that it acknowledges are handed to `confirm`.
    pub fn on_status(&mut self, status: &Status, mut confirm: impl FnMut(u64)) {
        let numbers = self.config.numbers();
        let base = self.acknowledged;
        let counted_on = |sn: u32| base + (u64::from(sn) + numbers - base % numbers) % numbers;
        let until = counted_on(status.ack_sn);
        if until > self.number_of_next() {
            return;
        }
        if self.poll.is_some_and(|(number, _)| number < until) {
            self.poll = None;
        }
        let mut missing = Vec::new();
        for nack in &status.nacks {
            let first = counted_on(nack.sn);
            let (start, end) = nack.bytes.unwrap_or((0, u32::MAX));
            missing.extend((first..first + u64::from(nack.count)).map(|number| (number, start, end)));
        }
        let mut place = 0;
        for number in base..until {
            while missing.get(place).is_some_and(|(of, ..)| *of < number) {
                place += 1;
            }
            if missing.get(place).is_some_and(|(of, ..)| *of == number) {
                continue;
            }
            if let Some(Some(sdu)) = self.sdus.get_mut((number - base) as usize).map(Option::take) {
                confirm(sdu.sdu);
                self.again.retain(|again| again.number != number);
            }
        }
        let mut counted = None;
        for (number, start, end) in missing {
            self.consider(number, start, end, counted != Some(number));
            counted = Some(number);
        }
        while matches!(self.sdus.front(), Some(None)) {
            self.sdus.pop_front();
            self.acknowledged += 1;
        }
    }

    /// Puts a segment into the retransmission buffer; `is_counted` unless the STATUS PDU has already named its SDU.
    fn consider(&mut self, number: u64, start: u32, end: u32, is_counted: bool) {
        let Some(sdu) = self.at(number) else { return };
        // Bytes that were never sent cannot be missing.
        let end = end.min(sdu.sent);
        if start >= end {
            return;
        }
        let is_pending = self.again.iter().any(|again| again.number == number);
        if is_counted && !is_pending {
            let most = self.config.max_retransmissions;
            let Some(sdu) = self.at(number) else { return };
            let count = sdu.retransmissions.map_or(0, |count| count + 1);
            sdu.retransmissions = Some(count);
            self.has_failed |= count >= most;
        }
        if self.again.iter().any(|again| again.number == number && again.start <= start && end <= again.end) {
            return;
        }
        self.again.retain(|again| again.number != number || again.end <= start || end <= again.start);
        let place = self.again.partition_point(|again| (again.number, again.start) < (number, start));
        self.again.insert(place, Again { number, start, end });
    }

    /// Applies `t-PollRetransmit` if it has expired by `now`: the next PDU polls, and the last SDU is retransmitted if
    /// no other data wait.
    pub fn expire(&mut self, now: SimTime, source: &impl Source) {
        if self.poll.is_none_or(|(_, expiry)| expiry > now) {
            return;
        }
        self.poll = None;
        self.must_poll = true;
        if self.is_drained(source)
            && let Some(place) = self.sdus.iter().rposition(Option::is_some)
        {
            let number = self.acknowledged + place as u64;
            self.consider(number, 0, u32::MAX, true);
        }
    }
}
