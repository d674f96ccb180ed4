//! What is counted of a link.

use crossfade_core::{Counter, DelayHistogram, SimTime, counters};

/// What happened on one link.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LinkStatistics {
    /// Packets put on the link, lost ones included.
    pub transmissions: u64,
    /// Bytes put on the link, lost ones included.
    pub transmitted_bytes: u64,
    /// Transmissions that the channel lost.
    pub losses: u64,
    /// Packets that have come out at the far end.
    pub arrivals: u64,
    /// Bytes that have come out at the far end.
    pub arrived_bytes: u64,
    /// Packets that the queue turned away or dropped later.
    pub queue_drops: u64,
    /// Packets that the queue marked "congestion experienced" (RFC 3168).
    pub ecn_marks: u64,
    /// The sum, in seconds, of the times that packets waited in the queue. Divided by the time passed it is
    /// the mean number of packets in the queue (Little's law). A real number: the sum can exceed [`SimTime`], and of
    /// n packets it is off by n 1.2e-16 of it at the most.
    pub waiting_s: f64,
    /// How long packets waited in the queue before they were put on the link.
    pub queueing_delay: DelayHistogram,
}

counters!(LinkStatistics {
    transmissions,
    transmitted_bytes,
    losses,
    arrivals,
    arrived_bytes,
    queue_drops,
    ecn_marks,
    waiting_s,
    queueing_delay
});

impl Counter for LinkStatistics {
    fn since(&self, earlier: &Self) -> Self {
        Self::since(self, earlier)
    }

    fn add(&mut self, other: &Self) {
        Self::add(self, other);
    }
}

impl LinkStatistics {
    /// The mean number of packets in the queue over `duration`.
    pub fn queue_mean_packets(&self, duration: SimTime) -> f64 {
        self.waiting_s / duration.as_secs_f64()
    }

    /// A packet has come out at the far end.
    #[inline]
    pub fn on_arrival(&mut self, bytes: u32) {
        self.arrivals += 1;
        self.arrived_bytes += u64::from(bytes);
    }

    /// A packet is put on the link after it has waited for `queueing_delay`.
    #[inline]
    pub fn on_transmission(&mut self, bytes: u32, queueing_delay: SimTime) {
        self.transmissions += 1;
        self.transmitted_bytes += u64::from(bytes);
        // Most packets of an unloaded link do not wait: a branch costs less than a division.
        if queueing_delay > SimTime::ZERO {
            self.waiting_s += queueing_delay.as_secs_f64();
        }
        self.queueing_delay.record(queueing_delay);
    }
}
