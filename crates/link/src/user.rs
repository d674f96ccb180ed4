//! What is counted of the users of a cell.

use crate::arq::ArqStatistics;
use crate::statistics::LinkStatistics;
use crossfade_core::counters;

/// Modulations are counted up to so many bits a symbol.
pub const MOST_BITS: usize = 8;

/// What happened above the frames of a user whose packets are cut, numbered and retransmitted there.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct BearerStatistics {
    /// Packets whose delay was taken apart.
    pub delays: u64,
    /// Seconds of their delays together: behind other packets, first in the queue until the first byte is sent, until the last byte is
    /// sent, in retransmissions of frames, in retransmissions above frames, and behind missing packets.
    pub delay_parts_s: [f64; 6],
    /// Segments that were retransmitted.
    pub retransmissions: u64,
    /// Reports of what is missing.
    pub reports: u64,
    /// Times that the link failed.
    pub failures: u64,
    /// Packets that waited too long to be sent.
    pub discards: u64,
    /// Scheduling requests.
    pub requests: u64,
}

counters!(BearerStatistics { delays, delay_parts_s, retransmissions, reports, failures, discards, requests });

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
    /// What is counted above frames.
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
    /// Frames sent: bins of slots that the user had.
    pub fn sent(&self) -> u64 {
        self.arq.frames + self.arq.retransmissions
    }
}
