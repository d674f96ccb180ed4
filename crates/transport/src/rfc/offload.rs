//! Segmentation offload as in Linux, even if the device does not offer it: segments that may leave together form one
//! packet down to the device.

use crossfade_core::SimTime;

/// Maximum segments of a packet: 65,536 bytes in segments of 1448 (`GSO_LEGACY_MAX_SIZE`).
pub(super) const LARGEST: u64 = 45;

/// Packet of new segments that leave together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    /// Departure time.
    at: SimTime,
    /// Number of its segments, and number of those that have not left.
    size: u64,
    left: u64,
}

impl Packet {
    /// Whether segments of the packet are still to leave at `now`.
    pub(super) fn is_open(&self, now: SimTime) -> bool {
        self.at == now && self.left > 0
    }

    /// Starts a packet of `size` segments that leaves at `now`.
    pub(super) fn begin(now: SimTime, size: u64) -> Self {
        Self { at: now, size, left: size }
    }

    /// Records that a segment of the packet leaves; returns whether it is the last of two or more.
    pub(super) fn on_sent(&mut self) -> bool {
        self.left -= 1;
        self.size > 1 && self.left == 0
    }
}
