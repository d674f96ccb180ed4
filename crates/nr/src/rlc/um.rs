//! RLC unacknowledged mode (3GPP TS 38.322 sections 5.2.2 and 5.3).

use super::partial::Partial;
use super::{DataPdu, RlcConfig, Source};
use crossfade_core::SimTime;
use std::collections::{BTreeMap, BTreeSet};

/// Transmitter of RLC unacknowledged mode.
#[derive(Clone, Debug)]
pub struct UmTransmitter {
    config: RlcConfig,
    /// `TX_Next`: number of the next segmented SDU.
    next: u64,
    /// SDU that was sent in part: its identity, its length in bytes, and the offset of the next byte; `None` without
    /// one.
    open: Option<(u64, u32, u32)>,
}

impl UmTransmitter {
    /// Transmitter before its first PDU.
    pub fn new(config: RlcConfig) -> Self {
        Self { config, next: 0, open: None }
    }

    /// Unsent bytes of an SDU that was sent in part.
    pub fn buffered(&self) -> u64 {
        self.open.map_or(0, |(_, length, sent)| u64::from(length - sent))
    }

    /// Builds the next PDU with at most `room` bytes, header included; returns it with its length in bytes, or `None`
    /// if nothing can be sent.
    pub fn build(&mut self, room: u32, source: &mut impl Source) -> Option<(DataPdu, u32)> {
        let (length, start) = match self.open {
            Some((_, length, sent)) => (length, sent),
            None => (source.next_bytes()?, 0),
        };
        let whole = length - start + self.config.header_bytes(start, true);
        let (end, is_end) = if whole <= room {
            (length, true)
        } else {
            let header = self.config.header_bytes(start, false);
            let end = start + room.checked_sub(header + 1)? + 1;
            // The header of a last segment may be shorter than that of another one.
            (end.min(length - 1), false)
        };
        if end <= start {
            return None;
        }
        let sdu = self.open.map_or_else(|| source.take(), |(sdu, ..)| sdu);
        let is_whole = start == 0 && is_end;
        let sn = (!is_whole).then_some((self.next % self.config.numbers()) as u32);
        self.open = (!is_end).then_some((sdu, length, end));
        if is_end && !is_whole {
            self.next += 1;
        }
        let bytes = end - start + self.config.header_bytes(start, is_end);
        Some((DataPdu { sdu, sn, start, end, is_end, poll: false, is_retransmission: false }, bytes))
    }
}

/// Receiver of RLC unacknowledged mode.
#[derive(Clone, Debug)]
pub struct UmReceiver {
    config: RlcConfig,
    /// Incomplete SDUs by number, which does not wrap around.
    partial: BTreeMap<u64, Partial>,
    /// Numbers of complete SDUs from `reassembled` on.
    complete: BTreeSet<u64>,
    /// `RX_Next_Reassembly`: first number whose SDU is still awaited.
    reassembled: u64,
    /// `RX_Next_Highest`: one past the highest number received.
    highest: u64,
    /// Expiry of `t-Reassembly`, and `RX_Timer_Trigger`; `None` while the timer does not run.
    timer: Option<(SimTime, u64)>,
}

impl UmReceiver {
    /// Receiver before its first PDU.
    pub fn new(config: RlcConfig) -> Self {
        Self {
            config,
            partial: BTreeMap::new(),
            complete: BTreeSet::new(),
            reassembled: 0,
            highest: 0,
            timer: None,
        }
    }

    /// Expiry of t-Reassembly; `None` while it does not run.
    pub fn expiry(&self) -> Option<SimTime> {
        self.timer.map(|(expiry, _)| expiry)
    }

    /// Number without wrap-around of a sequence number: inside the window that ends at `RX_Next_Highest`, or above it.
    fn counted_on(&self, sn: u32) -> u64 {
        // The window begins at `base - numbers`, which may be before the first number of all.
        let numbers = self.config.numbers();
        let base = self.highest + numbers - self.config.window();
        let number = base + (u64::from(sn) + numbers - base % numbers) % numbers;
        number.checked_sub(numbers).unwrap_or(number)
    }

    /// Receives a PDU; returns the identity of the SDU that it completes.
    pub fn receive(&mut self, now: SimTime, pdu: &DataPdu) -> Option<u64> {
        let Some(sn) = pdu.sn else { return Some(pdu.sdu) };
        let window = self.config.window();
        let x = self.counted_on(sn);
        if x < self.reassembled || self.complete.contains(&x) {
            return None;
        }
        let sdu = self.partial.entry(x).or_default();
        sdu.add(pdu.start, pdu.end, pdu.is_end);
        let mut done = None;
        if sdu.is_complete() {
            self.partial.remove(&x);
            self.complete.insert(x);
            done = Some(pdu.sdu);
            self.go_on();
        }
        if x >= self.highest {
            self.highest = x + 1;
            let lowest = self.highest.saturating_sub(window);
            self.partial = self.partial.split_off(&lowest);
            if self.reassembled < lowest {
                self.reassembled = lowest;
                self.go_on();
            }
        }
        let has_ended = self.timer.is_some_and(|(_, trigger)| {
            trigger <= self.reassembled
                || trigger + window < self.highest
                || (self.highest == self.reassembled + 1 && !self.has_gap())
        });
        if has_ended {
            self.timer = None;
        }
        self.start(now);
        done
    }

    /// Applies t-Reassembly if it has expired by `now`: incomplete SDUs before `RX_Timer_Trigger` are given up.
    pub fn expire(&mut self, now: SimTime) {
        let Some((_, trigger)) = self.timer.filter(|(expiry, _)| *expiry <= now) else { return };
        self.timer = None;
        self.reassembled = self.reassembled.max(trigger);
        self.go_on();
        self.partial = self.partial.split_off(&self.reassembled);
        self.start(now);
    }

    /// Advances `RX_Next_Reassembly` past complete SDUs.
    fn go_on(&mut self) {
        self.complete = self.complete.split_off(&self.reassembled);
        while self.complete.remove(&self.reassembled) {
            self.reassembled += 1;
        }
    }

    fn has_gap(&self) -> bool {
        self.partial.get(&self.reassembled).is_some_and(Partial::has_gap)
    }

    fn start(&mut self, now: SimTime) {
        let next = self.reassembled + 1;
        let is_missing = self.highest > next || (self.highest == next && self.has_gap());
        if self.timer.is_none() && is_missing {
            self.timer = Some((now + self.config.reassembly, self.highest));
        }
    }
}
