//! Fates of packets that are numbered and never sent twice under one number, by acknowledgements of ranges: QUIC (RFC
//! 9000 section 13).
//!
//! Unlike in TCP nothing is ambiguous: an acknowledgement names packet numbers and the time for which it was held back.
//! Lower numbers that it leaves out count as lost.

use super::observed::{Fate, Observed};
use std::collections::BTreeMap;

/// Packets of a QUIC sender and their fates so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbered {
    packets: Vec<Observed>,
    /// Index in `packets` of each packet number that is not acknowledged.
    open: BTreeMap<u64, u32>,
    largest: Option<u64>,
}

impl Numbered {
    /// Number of packets sent so far.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Records a packet sent at `now`, in ns; a number that is already under way is ignored.
    pub(super) fn sent(&mut self, now: i64, number: u64, bytes: u32) {
        if self.open.contains_key(&number) {
            return;
        }
        self.open.insert(number, self.packets.len() as u32);
        self.packets.push(Observed { sent_ns: now, bytes, fate: Fate::Unknown, seen_ns: None });
    }

    /// Marks a packet that the sender declared lost; a later acknowledgement overrides it.
    pub(super) fn lost(&mut self, number: u64) {
        if let Some(index) = self.open.get(&number) {
            self.packets[*index as usize].fate = Fate::Lost;
        }
    }

    /// Records an acknowledgement received at `now`: `ranges` with first and last packet number, held back for
    /// `delay_ns`. Returns the number of packets that it is the first to acknowledge.
    pub(super) fn acknowledged(
        &mut self,
        now: i64,
        ranges: impl IntoIterator<Item = (u64, u64)>,
        delay_ns: i64,
    ) -> usize {
        let (mut newest, mut news) = (None, 0);
        for (first, last) in ranges {
            if first > last {
                continue;
            }
            let here: Vec<u64> = self.open.range(first..=last).map(|(number, _)| *number).collect();
            for number in here {
                let Some(index) = self.open.remove(&number) else { continue };
                self.packets[index as usize].fate = Fate::Arrived;
                newest = newest.max(Some((number, index)));
                news += 1;
            }
        }
        // The delay belongs to the largest acknowledged number (RFC 9000 section 13.2.5).
        if let Some((number, index)) = newest
            && self.largest.is_none_or(|largest| number > largest)
        {
            self.largest = Some(number);
            let packet = &mut self.packets[index as usize];
            let seen = now - delay_ns.clamp(0, (now - packet.sent_ns).max(0) / 2);
            packet.seen_ns = Some(seen);
        }
        news
    }

    /// All packets in order of sending; those with a number below the largest acknowledged one count as lost.
    pub(super) fn finish(mut self) -> Vec<Observed> {
        for (number, index) in &self.open {
            if self.largest.is_some_and(|largest| *number < largest) {
                self.packets[*index as usize].fate = Fate::Lost;
            }
        }
        self.packets.sort_by_key(|packet| packet.sent_ns);
        self.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_later_acknowledgement_leaves_out_was_lost() {
        use Fate::{Arrived, Lost, Unknown};
        let mut of = Numbered::default();
        for number in 0..6 {
            of.sent(number * 1000, number as u64, 1200);
        }
        assert_eq!(of.acknowledged(50_000, [(0, 1)], 500), 2);
        assert_eq!(of.acknowledged(60_000, [(3, 4), (0, 1)], 0), 2);
        let found = of.finish();
        let fates: Vec<Fate> = found.iter().map(|packet| packet.fate).collect();
        assert_eq!(fates, [Arrived, Arrived, Lost, Arrived, Arrived, Unknown]);
        let seen: Vec<Option<i64>> = found.iter().map(|packet| packet.seen_ns).collect();
        assert_eq!(seen, [None, Some(49_500), None, None, Some(60_000), None]);
    }

    #[test]
    fn a_packet_that_was_taken_for_lost_may_still_arrive() {
        let mut of = Numbered::default();
        (0..3).for_each(|number| of.sent(0, number, 1200));
        of.lost(0);
        of.lost(1);
        of.acknowledged(9, [(0, 0), (2, 2)], 0);
        assert_eq!(
            of.finish().iter().map(|packet| packet.fate).collect::<Vec<_>>(),
            [Fate::Arrived, Fate::Lost, Fate::Arrived]
        );
    }
}
