//! Unacknowledged mode: 38.322 sections 5.2.2 and 5.3.

use super::partial::Partial;
use super::{DataPdu, RlcConfig, Source};
use crossfade_core::SimTime;
use std::collections::{BTreeMap, BTreeSet};

/// The transmitting side.
#[derive(Clone, Debug)]
pub struct UmTransmitter {
    config: RlcConfig,
    /// The number of the next SDU that is cut (`TX_Next`).
    next: u64,
    /// An SDU that is being sent: its identity, its bytes, and the next of them.
    open: Option<(u64, u32, u32)>,
}

impl UmTransmitter {
    /// One that has sent nothing.
    pub fn new(config: RlcConfig) -> Self {
        Self { config, next: 0, open: None }
    }

    /// Bytes of an SDU that is half sent.
    pub fn buffered(&self) -> u64 {
        self.open.map_or(0, |(_, length, sent)| u64::from(length - sent))
    }

    /// A PDU that takes at most `room` bytes with its header, and its bytes.
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
            // A header for all of it may be shorter than one for a part.
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

/// The receiving side.
#[derive(Clone, Debug)]
pub struct UmReceiver {
    config: RlcConfig,
    /// SDUs of which something is missing, by their numbers counted on.
    partial: BTreeMap<u64, Partial>,
    /// SDUs that were handed up, from `reassembled` on.
    complete: BTreeSet<u64>,
    /// `RX_Next_Reassembly`.
    reassembled: u64,
    /// `RX_Next_Highest`.
    highest: u64,
    /// `t-Reassembly` and `RX_Timer_Trigger`.
    timer: Option<(SimTime, u64)>,
}

impl UmReceiver {
    /// One that has received nothing.
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

    /// Time at which [`expire`](Self::expire) has something to do.
    pub fn expiry(&self) -> Option<SimTime> {
        self.timer.map(|(expiry, _)| expiry)
    }

    /// The number counted on: in the window, which ends at `RX_Next_Highest`, or among those behind it.
    fn counted_on(&self, sn: u32) -> u64 {
        // The window begins at `base - numbers`, which may be before the first number of all.
        let numbers = self.config.numbers();
        let base = self.highest + numbers - self.config.window();
        let number = base + (u64::from(sn) + numbers - base % numbers) % numbers;
        number.checked_sub(numbers).unwrap_or(number)
    }

    /// A PDU has come; the SDU that is complete with it.
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

    /// The timer has expired by `now`, or not: what is half there is given up.
    pub fn expire(&mut self, now: SimTime) {
        let Some((_, trigger)) = self.timer.filter(|(expiry, _)| *expiry <= now) else { return };
        self.timer = None;
        self.reassembled = self.reassembled.max(trigger);
        self.go_on();
        self.partial = self.partial.split_off(&self.reassembled);
        self.start(now);
    }

    /// `RX_Next_Reassembly` passes what was handed up.
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
