//! Scoreboard of a sender: the segments that selective acknowledgements have reported (RFC 2018, RFC 6675).

use crate::segment::{Ack, SackBlock};

/// Segments beyond the cumulative acknowledgement that have arrived, and the limit up to which holes were
/// retransmitted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// Reported blocks: disjoint, not adjacent, ascending.
    sacked: Vec<SackBlock>,
    /// Holes below this number were retransmitted in this recovery (RFC 6675's `HighRxt`, plus one).
    repeated_up_to: u64,
}

impl Scoreboard {
    /// Takes the blocks of `ack`; returns whether they reported anything new beyond the cumulative part.
    pub(crate) fn update(&mut self, ack: &Ack) -> bool {
        self.sacked.retain_mut(|block| {
            block.start = block.start.max(ack.next_expected);
            block.start < block.end
        });
        let mut is_news = false;
        for &block in ack.sack.as_slice() {
            if block.end > ack.next_expected {
                is_news |= self.insert(block);
            }
        }
        is_news
    }

    /// Clears the scoreboard: after a timeout the receiver may have discarded reported segments (RFC 2018 section 8).
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Starts a recovery whose first retransmission is segment `first`.
    pub(crate) fn start_recovery(&mut self, first: u64) {
        self.repeated_up_to = first + 1;
    }

    /// Takes the lowest hole in `from..before` that has arrived segments above it and was not yet retransmitted in this
    /// recovery.
    pub(crate) fn next_hole(&mut self, from: u64, before: u64) -> Option<u64> {
        let mut hole = from.max(self.repeated_up_to);
        for block in &self.sacked {
            if hole < block.start {
                break;
            }
            hole = hole.max(block.end);
        }
        let highest = self.sacked.last().map_or(0, |block| block.end);
        if hole < before.min(highest) {
            self.repeated_up_to = hole + 1;
            Some(hole)
        } else {
            None
        }
    }

    /// Adds a reported block; returns false if the block was known.
    fn insert(&mut self, block: SackBlock) -> bool {
        let from = self.sacked.partition_point(|known| known.end < block.start);
        let to = self.sacked.partition_point(|known| known.start <= block.end);
        if from == to {
            self.sacked.insert(from, block);
            return true;
        }
        let merged = SackBlock {
            start: self.sacked[from].start.min(block.start),
            end: self.sacked[to - 1].end.max(block.end),
        };
        let is_news = to - from > 1 || self.sacked[from] != merged;
        self.sacked.splice(from..to, [merged]);
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::SackBlocks;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn ack(next_expected: u64, blocks: &[(u64, u64)]) -> Ack {
        let mut sack = SackBlocks::default();
        for &(start, end) in blocks {
            sack.push(SackBlock { start, end });
        }
        Ack { next_expected, sack, ..Ack::default() }
    }

    #[test]
    fn holes_are_repeated_once_from_the_lowest() {
        let mut scoreboard = Scoreboard::default();
        assert!(scoreboard.update(&ack(10, &[(11, 12)])));
        assert!(!scoreboard.update(&ack(10, &[(11, 12)])));
        assert!(scoreboard.update(&ack(10, &[(15, 16), (13, 14), (11, 12)])));
        scoreboard.start_recovery(10);
        assert_eq!(scoreboard.next_hole(10, 99), Some(12));
        assert_eq!(scoreboard.next_hole(10, 99), Some(14));
        assert_eq!(scoreboard.next_hole(10, 99), None, "16 has nothing above it");
    }

    proptest! {
        #[test]
        fn the_scoreboard_is_a_set(reports in prop::collection::vec(
            (0u64..20, prop::collection::vec((0u64..40, 1u64..6), 0..3)), 0..40)) {
            let mut scoreboard = Scoreboard::default();
            let mut reference = BTreeSet::new();
            for (next_expected, blocks) in reports {
                let blocks: Vec<_> = blocks.into_iter()
                    .map(|(start, len)| (start.max(next_expected), start.max(next_expected) + len)).collect();
                reference.retain(|&seq| seq >= next_expected);
                let before = reference.len();
                reference.extend(blocks.iter().flat_map(|&(start, end)| start..end));
                prop_assert_eq!(scoreboard.update(&ack(next_expected, &blocks)), reference.len() > before);
                let known: BTreeSet<u64> =
                    scoreboard.sacked.iter().flat_map(|block| block.start..block.end).collect();
                prop_assert_eq!(&known, &reference);
            }
        }
    }
}
