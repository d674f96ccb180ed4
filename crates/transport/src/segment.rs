//! Segments and acknowledgements exchanged by the two ends of a connection.

use crate::accurate_ecn::AccEcn;
use crossfade_core::SimTime;

/// A data segment. Sequence numbers count segments of one MSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the header, each on or off")]
pub struct Segment {
    /// Sequence number of the segment, from 0.
    pub seq: u64,
    /// Packet number in flavour `quic`, from 0 and never reused (RFC 9000 section 12.3); 0 in other flavours.
    pub number: u64,
    /// True if the segment is a retransmission.
    pub retransmission: bool,
    /// Sending time, which the timestamp option (RFC 7323) carries; here in full resolution.
    pub timestamp: SimTime,
    /// Echoed timestamp: departure time of the last acknowledgement that the sender has received (RFC 7323 section
    /// 3.2); 0 before the first one.
    pub echo: SimTime,
    /// True if routers may mark the segment instead of dropping it (RFC 3168 section 5).
    pub ecn_capable: bool,
    /// True if the sender is scalable: its packets carry ECT(1), not ECT(0) (RFC 9331 section 4.1).
    pub l4s: bool,
    /// CWR flag: the sender has reduced its window, so the receiver stops echoing congestion (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// PSH flag: the segment ends a burst, and the receiver may acknowledge it at once (RFC 9293 section 3.9.1.2).
    pub push: bool,
}

/// An acknowledgement of TCP or QUIC.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Ack {
    /// Next segment that the receiver expects: all segments before it have arrived. In QUIC it is for traces only, and
    /// the sender ignores it.
    pub next_expected: u64,
    /// Segments beyond `next_expected` that have arrived (RFC 2018); empty unless the variant uses SACK. A first block
    /// below `next_expected` or inside the second block reports a duplicate (RFC 2883).
    pub sack: SackBlocks,
    /// Departure time at the receiver, which is the acknowledgement's own timestamp.
    pub timestamp: SimTime,
    /// Timestamp of the acknowledged segment, echoed (RFC 7323 section 4.3); `None` without timestamps.
    pub timestamp_echo: Option<SimTime>,
    /// ECE flag: echo of congestion, set after a mark until the sender's CWR (RFC 3168 section 6.1.3).
    pub ece: bool,
    /// Advertised window in segments from `next_expected` on; `None` if it does not limit the sender (RFC 9293 section
    /// 3.8.6).
    pub window: Option<u32>,
    /// Counters of congestion marks, in place of the ECE flag (AccECN, RFC 9768).
    pub accurate: AccEcn,
    /// ACK frame of QUIC, in place of `next_expected`, `sack` and `timestamp`; `None` in TCP.
    pub frame: Option<Box<AckFrame>>,
}

impl Ack {
    /// Number of ranges beyond the basic acknowledgement: SACK blocks, or ranges of an ACK frame after the first.
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
    /// ACK delay: time for which the receiver held back the acknowledgement of the largest packet.
    pub delay: SimTime,
    /// Ranges of arrived packet numbers, highest first.
    pub ranges: Vec<SackBlock>,
    /// Number of packets that arrived with a congestion mark (ECN-CE count); 0 if the receiver does not count marks.
    pub ce: u32,
}

impl AckFrame {
    /// Largest acknowledged packet number.
    pub fn largest(&self) -> Option<u64> {
        self.ranges.first()?.end.checked_sub(1)
    }
}

/// SACK blocks: up to three ranges of segments, most recent first (RFC 2018 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlocks([SackBlock; SackBlocks::MAX]);

/// Range `start..end` of arrived segments, or packets; an empty range reports nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First segment, or packet, of the block.
    pub start: u64,
    /// One past the last segment, or packet, of the block.
    pub end: u64,
}

impl SackBlocks {
    /// Maximum number of SACK blocks: as many as fit beside a timestamp option, and ns-2's `maxSackBlocks_`.
    pub const MAX: usize = 3;
    /// SACK blocks that report nothing.
    pub(crate) const NONE: Self = Self([SackBlock { start: 0, end: 0 }; Self::MAX]);

    /// Adds a block unless there are [`Self::MAX`] already.
    #[inline]
    pub fn push(&mut self, block: SackBlock) {
        let len = self.as_slice().len();
        if len < Self::MAX {
            self.0[len] = block;
        }
    }

    /// Nonempty SACK blocks, most recent first.
    #[inline]
    pub fn as_slice(&self) -> &[SackBlock] {
        let len = self.0.iter().take_while(|block| block.start < block.end).count();
        &self.0[..len]
    }
}
