//! Segmentation offload as Linux has it, also where a device does not offer it: segments that may leave together are one packet
//! up to the device.

use crossfade_core::SimTime;

/// 65,536 bytes in segments of 1448 (`GSO_LEGACY_MAX_SIZE`).
pub(super) const LARGEST: u64 = 45;

/// New segments that are one packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    /// When it leaves.
    at: SimTime,
    /// How many segments it has, and how many of them have not left.
    size: u64,
    left: u64,
}

impl Packet {
    /// Whether some of it is still to leave now.
    pub(super) fn is_open(&self, now: SimTime) -> bool {
        self.at == now && self.left > 0
    }

    /// A packet that leaves now, with `size` segments.
    pub(super) fn begin(now: SimTime, size: u64) -> Self {
        Self { at: now, size, left: size }
    }

    /// Notes that a segment of the packet leaves; returns whether it is the last of two or more.
    pub(super) fn on_sent(&mut self) -> bool {
        self.left -= 1;
        self.size > 1 && self.left == 0
    }
}
