//! Statistics of the packets of a link.

use crossfade_core::{DelayHistogram, SimTime, counters};

/// Statistics of the packets of one link.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LinkStatistics {
    /// Number of packets sent, including lost ones. A link of whole packets counts a packet at the end of its
    /// transmission; a link with frames and a slotted medium count it at the beginning.
    pub transmissions: u64,
    /// Bytes of the packets counted in `transmissions`.
    pub transmitted_bytes: u64,
    /// Number of packets that the channel lost, each counted at the end of its transmission.
    pub losses: u64,
    /// Number of packets that have come out at the far end.
    pub arrivals: u64,
    /// Bytes that have come out at the far end.
    pub arrived_bytes: u64,
    /// Number of packets that the queue dropped, on arrival or later.
    pub queue_drops: u64,
    /// Number of packets that the queue marked "congestion experienced" (RFC 3168).
    pub ecn_marks: u64,
    /// Integral over time of the number of packets in the queue, in packet-seconds; divided by the elapsed time it is
    /// the mean queue length. A link adds the waiting times of dropped packets, and its report adds those of all other
    /// packets ([`add_waits`](Self::add_waits)). It is an `f64` because the sum can exceed [`SimTime`]; with n packets
    /// its relative error is at most n 1.2e-16.
    pub waiting_s: f64,
    /// Histogram of the queueing delay of the packets in [`transmissions`](Self::transmissions).
    pub queueing_delay: DelayHistogram,
    /// Sum of the queueing delays of the packets in `transmissions`, in seconds.
    pub queueing_delay_s: f64,
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
    queueing_delay,
    queueing_delay_s
});

impl LinkStatistics {
    /// Mean number of packets in the queue over `duration`.
    pub fn queue_mean_packets(&self, duration: SimTime) -> f64 {
        self.waiting_s / duration.as_secs_f64()
    }

    /// Counts a packet of `bytes` that has come out at the far end.
    #[inline]
    pub fn on_arrival(&mut self, bytes: u32) {
        self.arrivals += 1;
        self.arrived_bytes += u64::from(bytes);
    }

    /// Removes the count of a transmission without wait that was counted at its beginning and has not ended yet.
    pub(crate) fn take_back(&mut self, bytes: u32) {
        self.transmissions -= 1;
        self.transmitted_bytes -= u64::from(bytes);
        self.queueing_delay.take_back_zero();
    }

    /// Completes [`waiting_s`](Self::waiting_s) for a report: adds the waits of the packets sent, and `waits`, those
    /// until now of packets that are not counted yet.
    pub fn add_waits(&mut self, waits: impl IntoIterator<Item = SimTime>) {
        let waits: u128 = waits.into_iter().map(|wait| u128::from(wait.as_nanos())).sum();
        self.waiting_s += self.queueing_delay_s + waits as f64 / 1e9;
    }

    /// Counts a packet of `bytes` that was sent after a wait of `queueing_delay` in the queue.
    #[inline]
    pub fn on_transmission(&mut self, bytes: u32, queueing_delay: SimTime) {
        self.transmissions += 1;
        self.transmitted_bytes += u64::from(bytes);
        // On a lightly loaded link most packets do not wait: a branch costs less than a division.
        if queueing_delay > SimTime::ZERO {
            self.queueing_delay_s += queueing_delay.as_secs_f64();
        }
        self.queueing_delay.record(queueing_delay);
    }
}
