//! Counters of passed packets, readable while the emulation runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Packet counts of one direction up to some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Packets read from the device.
    pub packets: u64,
    /// Packets that came out of the link.
    pub arrived: u64,
    /// Bytes of the packets that came out of the link.
    pub arrived_bytes: u64,
    /// Packets that the channel lost.
    pub lost: u64,
    /// Packets dropped by a queue, or refused because too many were inside.
    pub dropped: u64,
}

impl Passed {
    /// Number of packets between the hosts.
    pub fn inside(&self) -> u64 {
        self.packets.saturating_sub(self.arrived + self.lost + self.dropped)
    }
}

/// Counters written by the pump of a direction and readable by any thread. Clones are the same meter.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<[AtomicU64; 5]>);

impl Meter {
    /// Reads the counters. While packets pass, a counter may be slightly older than one read before it.
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
