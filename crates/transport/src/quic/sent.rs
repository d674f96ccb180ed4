//! Sent packets by number: those in flight, and those recently found lost (RFC 9002 appendix A.1).

use crate::rfc::Deliveries;
use crossfade_core::SimTime;
use std::collections::{BTreeMap, VecDeque};

/// A packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// Segment that the packet carries.
    pub(super) seq: u64,
    pub(super) sent_at: SimTime,
    /// Number of the next packet in flight, or a lower bound for it: none from this packet up to `next`, exclusive, is
    /// in flight. It is this packet's own number if this packet is in flight.
    next: u64,
}

/// A packet that was found lost and may still arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub(super) seq: u64,
    found_at: SimTime,
}

/// Packets in flight and recently lost packets. Every operation is amortised O(log n) in the window.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    /// Number of the oldest packet in flight, or of the next packet to be sent if none is.
    first: u64,
    /// Packets from number `first` on, in the order of their numbers.
    packets: VecDeque<Packet>,
    in_flight: u64,
    lost: BTreeMap<u64, Lost>,
    /// Delivery accounting; `None` unless congestion control asks for samples.
    pub(super) deliveries: Option<Box<Deliveries>>,
}

impl Sent {
    pub(super) fn new(samples: bool) -> Self {
        Self { deliveries: samples.then(Box::default), ..Self::default() }
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Number of the next packet to be sent.
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// Oldest packet in flight.
    pub(super) fn oldest(&self) -> Option<(u64, Packet)> {
        Some((self.first, *self.packets.front()?))
    }

    /// Records a packet with segment `seq`, sent at `now`. Returns the packet's number.
    pub(super) fn on_sent(&mut self, seq: u64, now: SimTime) -> u64 {
        let number = self.next_number();
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.on_sent(self.packets.len(), now, self.in_flight + 1);
        }
        self.packets.push_back(Packet { seq, sent_at: now, next: number });
        self.in_flight += 1;
        number
    }

    fn packet(&self, number: u64) -> Option<&Packet> {
        self.packets.get(number.checked_sub(self.first)? as usize)
    }

    /// Number of the first packet in flight from `number` on.
    pub(super) fn next_in_flight(&mut self, number: u64) -> Option<u64> {
        let mut at = number.max(self.first);
        loop {
            let next = self.packet(at)?.next;
            if next == at {
                return Some(at);
            }
            // Path halving keeps later searches short.
            let beyond = self.packet(next).map_or(next, |packet| packet.next);
            self.packets[(at - self.first) as usize].next = beyond;
            at = beyond;
        }
    }

    /// Removes packet `number`, which was in flight and has arrived.
    pub(super) fn on_acked(&mut self, number: u64) -> Packet {
        let place = (number - self.first) as usize;
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.on_arrival(place, number, false);
        }
        self.land(place)
    }

    /// Moves packet `number`, which was in flight, to the lost packets.
    pub(super) fn on_lost(&mut self, number: u64, now: SimTime) -> Packet {
        let place = (number - self.first) as usize;
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.on_lost(place);
        }
        let packet = self.land(place);
        self.lost.insert(number, Lost { seq: packet.seq, found_at: now });
        packet
    }

    fn land(&mut self, place: usize) -> Packet {
        let packet = self.packets[place];
        self.packets[place].next += 1;
        self.in_flight -= 1;
        while self.packets.front().is_some_and(|front| front.next != self.first) {
            self.packets.pop_front();
            self.first += 1;
            if let Some(deliveries) = &mut self.deliveries {
                deliveries.pop();
            }
        }
        packet
    }

    /// Removes and returns the first packet in `from..to` that was found lost, because it has arrived after all.
    pub(super) fn take_lost(&mut self, from: u64, to: u64) -> Option<(u64, Lost)> {
        let (&number, _) = self.lost.range(from..to).next()?;
        let lost = self.lost.remove(&number)?;
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.on_late_arrival();
        }
        Some((number, lost))
    }

    /// True if any lost packet is remembered because it may still arrive.
    pub(super) fn remembers_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Forgets packets found lost before `time`, since their late arrival no longer counts.
    pub(super) fn forget_lost(&mut self, time: SimTime) {
        while let Some(entry) = self.lost.first_entry()
            && entry.get().found_at < time
        {
            entry.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// The packets in flight equal a set of packet numbers, after any operations.
        #[test]
        fn packets_in_flight_are_those_of_a_set(ops in prop::collection::vec((0u8..4, any::<u64>()), 0..200)) {
            let (mut sent, mut set, mut next) = (Sent::new(true), BTreeSet::new(), 0);
            for (op, pick) in ops {
                let chosen = set.iter().nth(pick as usize % set.len().max(1)).copied();
                match (op, chosen) {
                    (0 | 1, _) | (_, None) => {
                        prop_assert_eq!(sent.on_sent(next * 7, SimTime::from_nanos(next)), next);
                        set.insert(next);
                        next += 1;
                    }
                    (2, Some(number)) => {
                        prop_assert_eq!(sent.on_acked(number).seq, number * 7);
                        set.remove(&number);
                    }
                    (_, Some(number)) => {
                        prop_assert_eq!(sent.on_lost(number, SimTime::ZERO).sent_at, SimTime::from_nanos(number));
                        set.remove(&number);
                    }
                }
                prop_assert_eq!(sent.in_flight(), set.len() as u64);
                prop_assert_eq!(sent.oldest().map(|(number, _)| number), set.first().copied());
                let from = pick % (next + 1);
                prop_assert_eq!(sent.next_in_flight(from), set.range(from..).next().copied());
            }
        }
    }

    #[test]
    fn what_was_lost_is_remembered_for_a_while() {
        let ms = SimTime::from_millis;
        let mut sent = Sent::default();
        (0..6).for_each(|seq| assert_eq!(sent.on_sent(seq, ms(seq)), seq));
        for number in 0..4 {
            sent.on_lost(number, ms(100 + number));
        }
        sent.forget_lost(ms(102));
        assert_eq!(sent.take_lost(0, 3).map(|(number, lost)| (number, lost.seq)), Some((2, 2)));
        assert!(sent.take_lost(0, 3).is_none() && sent.remembers_lost());
        assert!(sent.take_lost(3, 9).is_some() && !sent.remembers_lost());
    }
}
