//! Counters of passed packets, which any thread can read while the emulation runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Packet counts of one direction, from the start of the emulation to the time of reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Number of packets read from the sending host's device.
    pub packets: u64,
    /// Number of packets that came out of the link.
    pub arrived: u64,
    /// Number of bytes of the packets that came out of the link.
    pub arrived_bytes: u64,
    /// Number of packets that the channel of the link lost.
    pub lost: u64,
    /// Number of packets dropped by a queue, or refused because too many were inside the link.
    pub dropped: u64,
}

impl Passed {
    /// Number of packets inside the link: read, and neither arrived, lost nor dropped.
    pub fn inside(&self) -> u64 {
        self.packets.saturating_sub(self.arrived + self.lost + self.dropped)
    }
}

/// Counters that the pump of a direction writes and any thread can read. Clones share the counters.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<[AtomicU64; 5]>);

impl Meter {
    /// Reads the counters. While packets pass, a counter may be slightly older than another one read before it.
    pub fn read(&self) -> Passed {
        let [packets, arrived, arrived_bytes, lost, dropped] =
            self.0.each_ref().map(|figure| figure.load(Relaxed));
        Passed { packets, arrived, arrived_bytes, lost, dropped }
    }

    pub(crate) fn write(&self, passed: &Passed) {
        let Passed { packets, arrived, arrived_bytes, lost, dropped } = *passed;
        for (figure, value) in self.0.iter().zip([packets, arrived, arrived_bytes, lost, dropped]) {
            figure.store(value, Relaxed);
        }
    }
}
