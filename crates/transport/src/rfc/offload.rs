//! Segmentation offload as in Linux, where it applies even if the device does not offer it: segments that may leave
//! together form one packet down to the device.

use crossfade_core::SimTime;

/// Maximum number of segments in an offloaded packet: 65,536 bytes in segments of 1448 (`GSO_LEGACY_MAX_SIZE`).
pub(super) const LARGEST: u64 = 45;

/// Offloaded packet of new segments that leave together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    /// Departure time of the packet.
    at: SimTime,
    /// Number of the packet's segments.
    size: u64,
    /// Number of the packet's segments that have not left yet.
    left: u64,
}

impl Packet {
    /// True if segments of the packet are still to leave at `now`.
    pub(super) fn is_open(&self, now: SimTime) -> bool {
        self.at == now && self.left > 0
    }

    /// Starts a packet of `size` segments that leaves at `now`.
    pub(super) fn begin(now: SimTime, size: u64) -> Self {
        Self { at: now, size, left: size }
    }

    /// Records that a segment of the packet leaves; returns true if it is the last of two or more.
    pub(super) fn on_sent(&mut self) -> bool {
        self.left -= 1;
        self.size > 1 && self.left == 0
    }
}
