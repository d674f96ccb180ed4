//! Statistics of the users of a radio cell.

use crate::arq::ArqStatistics;
use crate::statistics::LinkStatistics;
use crossfade_core::counters;

/// Greatest number of bits per symbol for which frames are counted separately.
pub const MOST_BITS: usize = 8;

/// Statistics of a user's radio bearer, for RLC and PDCP above the frames.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct BearerStatistics {
    /// Number of packets whose delay was split into parts.
    pub delays: u64,
    /// Sum of each part of the delay, in seconds, over the packets counted in `delays`, in the order of
    /// [`LinkEvent::DELAY_PARTS`](crate::LinkEvent::DELAY_PARTS).
    pub delay_parts_s: [f64; 6],
    /// Number of segments retransmitted by RLC.
    pub retransmissions: u64,
    /// Number of RLC STATUS PDUs transmitted.
    pub reports: u64,
    /// Number of radio link failures.
    pub failures: u64,
    /// Number of packets discarded because they waited too long for transmission.
    pub discards: u64,
    /// Number of scheduling requests transmitted.
    pub requests: u64,
}

counters!(BearerStatistics { delays, delay_parts_s, retransmissions, reports, failures, discards, requests });

/// Statistics of one user of a slotted radio: its packets, and the frames that carry their bits.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct UserStatistics {
    /// Statistics of the packets of the user.
    pub packets: LinkStatistics,
    /// Statistics of the frames of the user, as for any link with retransmissions. The parts of a split frame count
    /// separately when delivered or given up.
    pub arq: ArqStatistics,
    /// Number of frames whose first transmission the channel lost.
    pub first_errors: u64,
    /// Number of frames that were split in two because the modulation had to be lower.
    pub splits: u64,
    /// Total number of failed transmissions before the delivery, over all delivered frames and parts.
    pub failures_before: u64,
    /// Number of frames whose predicted channel was below the lowest switching level.
    pub below_levels: u64,
    /// Number of frames with 1, 2, ... bits per symbol.
    pub frames_by_bits: [u64; MOST_BITS],
    /// Statistics of the user's bearer above the frames.
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
    /// Number of frames transmitted, including retransmissions: the number of bins of slots that the user had.
    pub fn sent(&self) -> u64 {
        self.arq.frames + self.arq.retransmissions
    }
}
