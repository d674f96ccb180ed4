//! Statistics of the users of a cell.

use crate::arq::ArqStatistics;
use crate::statistics::LinkStatistics;
use crossfade_core::counters;

/// Greatest number of bits a symbol that is counted on its own.
pub const MOST_BITS: usize = 8;

/// Statistics of a user's bearer: RLC and PDCP above the frames.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct BearerStatistics {
    /// Number of packets whose delay was split into parts.
    pub delays: u64,
    /// Sums of the parts of their delays in seconds, in the order of
    /// [`LinkEvent::DELAY_PARTS`](crate::LinkEvent::DELAY_PARTS).
    pub delay_parts_s: [f64; 6],
    /// Segments retransmitted by RLC.
    pub retransmissions: u64,
    /// STATUS PDUs sent.
    pub reports: u64,
    /// Radio link failures.
    pub failures: u64,
    /// Packets discarded because they waited too long to be sent.
    pub discards: u64,
    /// Scheduling requests sent.
    pub requests: u64,
}

counters!(BearerStatistics { delays, delay_parts_s, retransmissions, reports, failures, discards, requests });

/// Statistics of one user of a slotted radio: its packets, and the frames that carry their bits.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct UserStatistics {
    /// Statistics of packets.
    pub packets: LinkStatistics,
    /// Statistics of frames, as of any link with retransmissions. The parts of a split frame count separately when
    /// delivered or given up.
    pub arq: ArqStatistics,
    /// First transmissions of frames that the channel lost.
    pub first_errors: u64,
    /// Frames that were split in two because the modulation had to be lower.
    pub splits: u64,
    /// Total number of failed transmissions before the delivery, over all delivered frames and parts.
    pub failures_before: u64,
    /// Frames whose predicted channel was below the lowest switching level.
    pub below_levels: u64,
    /// Number of frames by bits a symbol, from 1 on.
    pub frames_by_bits: [u64; MOST_BITS],
    /// Statistics of the bearer above the frames.
    pub bearer: BearerStatistics,
}

counters!(UserStatistics {
    packets,
    arq,
    first_errors,
    splits,
    failures_before,
    below_levels,
    frames_by_bits,
    bearer
});

impl UserStatistics {
    /// Number of frames sent, which is the number of bins of slots that the user had.
    pub fn sent(&self) -> u64 {
        self.arq.frames + self.arq.retransmissions
    }
}
