//! What the two ends of a connection send each other.

use crate::accurate_ecn::AccEcn;
use crossfade_core::SimTime;

/// A data segment. Sequence numbers count segments of one MSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the header, each on or off")]
pub struct Segment {
    /// The number of the segment, from 0.
    pub seq: u64,
    /// The number of the packet, from 0 and never used again, in flavour `quic` (RFC 9000 section 12.3); 0 in the others.
    pub number: u64,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// When it was sent: the timestamp option (RFC 7323), at full resolution.
    pub timestamp: SimTime,
    /// When the last acknowledgement left that the sender has read, which it echoes (RFC 7323 section 3.2): 0 before there is one.
    pub echo: SimTime,
    /// Whether routers may mark it instead of dropping it (RFC 3168 section 5).
    pub ecn_capable: bool,
    /// The sender is scalable: its packets say ECT(1), not ECT(0) (RFC 9331 section 4.1).
    pub l4s: bool,
    /// The sender has reduced its window: the receiver stops echoing congestion (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// The segment ends what was sent at once: the PSH flag (RFC 9293 section 3.9.1.2). The receiver may acknowledge it
    /// at once.
    pub push: bool,
}

/// An acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Ack {
    /// The next segment that the receiver expects: everything before it has arrived. QUIC's does not say so, and its sender
    /// does not look; it is there for traces.
    pub next_expected: u64,
    /// Segments beyond it that have arrived (RFC 2018); empty unless the variant uses them. A first block that
    /// lies below `next_expected` or in the second block reports a duplicate (RFC 2883).
    pub sack: SackBlocks,
    /// When it left the receiver: its own timestamp.
    pub timestamp: SimTime,
    /// The timestamp of the segment that it answers (RFC 7323 section 4.3); `None` without timestamps.
    pub timestamp_echo: Option<SimTime>,
    /// Echoes a congestion mark until the sender answers (RFC 3168 section 6.1.3).
    pub ece: bool,
    /// How many segments from `next_expected` on the receiver has room for, where it says so (RFC 9293 section 3.8.6).
    pub window: Option<u32>,
    /// Counts congestion marks instead (AccECN, RFC 9768).
    pub accurate: AccEcn,
    /// What QUIC says instead of the first three.
    pub frame: Option<Box<AckFrame>>,
}

impl Ack {
    /// How many ranges it reports beside what every acknowledgement says: SACK blocks, or the ranges of an ACK frame after
    /// the first.
    #[inline]
    pub fn more_ranges(&self) -> usize {
        match &self.frame {
            None => self.sack.as_slice().len(),
            Some(frame) => frame.ranges.len().saturating_sub(1),
        }
    }
}

/// An ACK frame of QUIC (RFC 9000 section 19.3).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AckFrame {
    /// For how long the acknowledgement of the largest number was held back.
    pub delay: SimTime,
    /// Ranges of packet numbers that have arrived, highest first.
    pub ranges: Vec<SackBlock>,
    /// How many packets have come with a congestion mark (ECN-CE count); 0 from a receiver that does not count.
    pub ce: u32,
}

impl AckFrame {
    /// The largest number acknowledged.
    pub fn largest(&self) -> Option<u64> {
        self.ranges.first()?.end.checked_sub(1)
    }
}

/// Up to three ranges of segments, most recent first (RFC 2018 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks([SackBlock; SackBlocks::MAX]);

/// Segments, or packets, `start..end` have arrived; an empty range says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// The first segment of the block.
    pub start: u64,
    /// One past the last segment of the block.
    pub end: u64,
}

impl SackBlocks {
    /// As many as fit beside a timestamp option, and ns-2's `maxSackBlocks_`.
    pub const MAX: usize = 3;
    /// No report.
    pub(crate) const NONE: Self = Self([SackBlock { start: 0, end: 0 }; Self::MAX]);

    /// Adds a block unless there are [`Self::MAX`] already.
    #[inline]
    pub fn push(&mut self, block: SackBlock) {
        let len = self.as_slice().len();
        if len < Self::MAX {
            self.0[len] = block;
        }
    }

    /// The blocks, most recent first.
    #[inline]
    pub fn as_slice(&self) -> &[SackBlock] {
        let len = self.0.iter().take_while(|block| block.start < block.end).count();
        &self.0[..len]
    }
}
