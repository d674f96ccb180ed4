//! What is counted of the users of a cell.

use crate::statistics::LinkStatistics;
use crossfade_core::{DelayHistogram, counters};

/// Modulations are counted up to so many bits a symbol.
pub const MOST_BITS: usize = 8;

/// What happened to one user of a slotted radio: packets, and the frames that carry their bits.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct UserStatistics {
    /// What is counted of its packets.
    pub packets: LinkStatistics,
    /// Frames of bits that were not sent before.
    pub frames: u64,
    /// Frames of bits that were sent before.
    pub retransmissions: u64,
    /// Frames that the channel spoiled.
    pub frame_errors: u64,
    /// Those of them that were sent for the first time.
    pub first_errors: u64,
    /// Frames that were sent in two, because the modulation had to go down.
    pub splits: u64,
    /// Frames and parts of such that got through.
    pub frames_delivered: u64,
    /// How often the bits of these had failed before, together.
    pub failures_before: u64,
    /// Frames and parts of such that were given up.
    pub frames_lost: u64,
    /// Frames for which a channel below the lowest switch level was predicted.
    pub below_levels: u64,
    /// How long bits that had arrived waited for earlier ones (head-of-line blocking), a value a frame.
    pub head_of_line_delay: DelayHistogram,
    /// The sum of it, in seconds.
    pub head_of_line_delay_s: f64,
    /// Frames by the bits of a symbol, from 1 on.
    pub frames_by_bits: [u64; MOST_BITS],
}

counters!(UserStatistics {
    packets,
    frames,
    retransmissions,
    frame_errors,
    first_errors,
    splits,
    frames_delivered,
    failures_before,
    frames_lost,
    below_levels,
    head_of_line_delay,
    head_of_line_delay_s,
    frames_by_bits
});

impl UserStatistics {
    /// Frames sent: bins of slots that the user had.
    pub fn sent(&self) -> u64 {
        self.frames + self.retransmissions
    }
}
