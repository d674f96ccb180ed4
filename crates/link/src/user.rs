//! What is counted of the users of a cell.

use crate::arq::ArqStatistics;
use crate::statistics::LinkStatistics;
use crossfade_core::counters;

/// Modulations are counted up to so many bits a symbol.
pub const MOST_BITS: usize = 8;

/// What happened to one user of a slotted radio: packets, and the frames that carry their bits.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct UserStatistics {
    /// What is counted of its packets.
    pub packets: LinkStatistics,
    /// What is counted of its frames, as of those of any link with retransmissions. A frame that is split is delivered, or given
    /// up, in parts.
    pub arq: ArqStatistics,
    /// Frames that the channel spoiled when they were sent for the first time.
    pub first_errors: u64,
    /// Frames that were sent in two, because the modulation had to go down.
    pub splits: u64,
    /// How often the bits of delivered frames, and parts of such, had failed before, together.
    pub failures_before: u64,
    /// Frames for which a channel below the lowest switch level was predicted.
    pub below_levels: u64,
    /// Frames by the bits of a symbol, from 1 on.
    pub frames_by_bits: [u64; MOST_BITS],
}

counters!(UserStatistics {
    packets,
    arq,
    first_errors,
    splits,
    failures_before,
    below_levels,
    frames_by_bits
});

impl UserStatistics {
    /// Frames sent: bins of slots that the user had.
    pub fn sent(&self) -> u64 {
        self.arq.frames + self.arq.retransmissions
    }
}
