//! The receiving end: keeps what arrives out of order, acknowledges every segment at once.

use crate::segment::{Ack, SackBlock, SackBlocks};

/// What the receiver made of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The acknowledgement to send.
    pub ack: Ack,
    /// Whether the segment had not arrived before.
    pub is_new: bool,
    /// How many segments the application can now read, in order.
    pub delivered: u64,
}

/// A TCP receiver with an unbounded resequencing buffer: the window that it advertises bounds what can
/// arrive.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    rcv_nxt: u64,
    /// Blocks beyond `rcv_nxt`, disjoint and not adjacent, most recently touched first (RFC 2018 section 4).
    held: Vec<SackBlock>,
    sends_sack: bool,
}

impl Receiver {
    /// A receiver that has seen nothing; `sends_sack` if it reports the blocks that it holds.
    pub fn new(sends_sack: bool) -> Self {
        Self { sends_sack, ..Self::default() }
    }

    /// The next segment that the application waits for.
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Takes segment `seq`.
    pub fn on_segment(&mut self, seq: u64) -> Received {
        let before = self.rcv_nxt;
        let is_new = if seq == self.rcv_nxt {
            self.rcv_nxt += 1;
            if !self.held.is_empty() {
                self.release();
            }
            true
        } else {
            seq > self.rcv_nxt && self.hold(seq)
        };
        Received { ack: self.ack(), is_new, delivered: self.rcv_nxt - before }
    }

    /// Moves `rcv_nxt` over the block that it has reached.
    fn release(&mut self) {
        if let Some(at) = self.held.iter().position(|block| block.start == self.rcv_nxt) {
            self.rcv_nxt = self.held.remove(at).end;
        }
    }

    /// Puts `seq` into the blocks; false if it was there already.
    fn hold(&mut self, seq: u64) -> bool {
        let mut block = SackBlock { start: seq, end: seq + 1 };
        let mut is_new = true;
        self.held.retain(|other| {
            if other.end < block.start || block.end < other.start {
                return true;
            }
            is_new &= !(other.start..other.end).contains(&seq);
            block = SackBlock { start: block.start.min(other.start), end: block.end.max(other.end) };
            false
        });
        self.held.insert(0, block);
        is_new
    }

    fn ack(&self) -> Ack {
        let mut sack = SackBlocks::default();
        if self.sends_sack {
            self.held.iter().take(SackBlocks::MAX).for_each(|&block| sack.push(block));
        }
        Ack { next_expected: self.rcv_nxt, sack, ..Ack::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn blocks(received: &Received) -> Vec<(u64, u64)> {
        received.ack.sack.as_slice().iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn blocks_are_reported_most_recent_first() {
        let mut receiver = Receiver::new(true);
        assert_eq!(blocks(&receiver.on_segment(0)), []);
        assert_eq!(blocks(&receiver.on_segment(2)), [(2, 3)]);
        assert_eq!(blocks(&receiver.on_segment(6)), [(6, 7), (2, 3)]);
        assert_eq!(blocks(&receiver.on_segment(4)), [(4, 5), (6, 7), (2, 3)]);
        assert_eq!(blocks(&receiver.on_segment(8)), [(8, 9), (4, 5), (6, 7)]);
        // 5 joins two blocks and makes the result the most recent.
        assert_eq!(blocks(&receiver.on_segment(5)), [(4, 7), (8, 9), (2, 3)]);
        let filled = receiver.on_segment(1);
        assert_eq!((filled.ack.next_expected, filled.delivered), (3, 2));
    }

    proptest! {
        /// Every segment is delivered exactly once and in order, whatever arrives.
        #[test]
        fn delivery_is_exactly_once_and_in_order(arrivals in prop::collection::vec(0u64..40, 0..200)) {
            let mut receiver = Receiver::new(true);
            let mut seen = BTreeSet::new();
            let mut delivered = 0;
            for seq in arrivals {
                let received = receiver.on_segment(seq);
                prop_assert_eq!(received.is_new, seen.insert(seq));
                delivered += received.delivered;
                let in_order = (0..40).take_while(|seq| seen.contains(seq)).count() as u64;
                prop_assert_eq!(received.ack.next_expected, in_order);
                prop_assert_eq!(delivered, in_order);
                for block in received.ack.sack.as_slice() {
                    prop_assert!(block.start > in_order && (block.start..block.end).all(|seq| seen.contains(&seq)));
                    prop_assert!(!seen.contains(&block.end) && !seen.contains(&(block.start - 1)));
                }
            }
        }
    }
}
