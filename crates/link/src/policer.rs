//! Token-bucket policer before a link: packets that do not conform are dropped.

use crate::decorated::Decorator;
use crate::link::{Link, Push};
use crate::parcel::Parcel;
use crate::report::LinkReport;
use crossfade_core::SimTime;

/// Parameters of a token-bucket policer, in the terms of RFC 2697.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicerConfig {
    /// Committed information rate in bit/s, at which tokens are added; above zero.
    pub rate_bps: f64,
    /// Committed burst size in bytes: the number of tokens that the bucket holds.
    pub burst: u32,
}

/// Token-bucket policer before a link: a packet passes at once if the bucket holds as many tokens as the packet has
/// bytes, and takes them; otherwise it is dropped and takes none (RFC 2697, colour-blind, with no excess burst, like an
/// operator's `police`). Unlike at a [`TokenBucket`](crate::TokenBucket), which shapes, no packet waits.
///
/// A dropped packet counts as a drop of the queue.
pub struct Policer {
    rate_bps: f64,
    /// Time in which an empty bucket becomes full.
    fills_in: SimTime,
    /// Time at which the bucket is or was full again.
    full_at: SimTime,
    dropped: u64,
}

impl Policer {
    /// Creates a policer with a full bucket.
    pub fn new(config: PolicerConfig) -> Self {
        let PolicerConfig { rate_bps, burst } = config;
        let fills_in = SimTime::to_transmit(burst, rate_bps);
        Self { rate_bps, fills_in, full_at: SimTime::ZERO, dropped: 0 }
    }

    /// True if a packet of `bytes` conforms at `now`; then its tokens are taken. The level of the bucket is stored as
    /// the time at which it is full, by virtual scheduling (ITU-T I.371).
    fn conforms(&mut self, now: SimTime, bytes: u32) -> bool {
        let full_at = self.full_at.max(now) + SimTime::to_transmit(bytes, self.rate_bps);
        let conforms = full_at - now <= self.fills_in;
        if conforms {
            self.full_at = full_at;
        }
        conforms
    }
}

impl Decorator for Policer {
    fn push(&mut self, link: &mut impl Link, now: SimTime, parcel: Parcel) -> Push {
        if self.conforms(now, parcel.bytes()) {
            return link.push(now, parcel);
        }
        self.dropped += 1;
        Push::QueueDrop
    }

    fn report(&mut self, link: &mut impl Link, now: SimTime) -> LinkReport {
        let mut report = link.report(now);
        report.statistics.queue_drops += self.dropped;
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decorated::Decorated;
    use crate::hop::{Hop, HopConfig};
    use crate::link::Departure;
    use crate::testing::plain;
    use crossfade_channel::Lossless;
    use proptest::prelude::*;

    const MS: SimTime = SimTime::from_millis(1);

    /// Policer of 1 Mbit/s and 3000 B before a link of 8 Mbit/s and 5 ms: 1000 B take 8 ms of tokens and 1 ms to send.
    fn policed() -> Decorated<Hop, Policer> {
        let hop =
            HopConfig { rate_bps: Some(8e6), delay: MS * 5, queue_limit: None, loss: Box::new(Lossless) };
        Policer::new(PolicerConfig { rate_bps: 1e6, burst: 3000 }).around(Hop::new(hop))
    }

    /// For packets of 1000 bytes with these arrival times in milliseconds, true for each that passes.
    fn passes(times: &[u64]) -> Vec<bool> {
        let mut link = policed();
        let mut pass = |(id, &at): (u32, &u64)| link.push(MS * at, plain(id, 1000)) == Push::Accepted;
        (0..).zip(times).map(&mut pass).collect()
    }

    #[test]
    fn a_burst_passes_as_far_as_the_bucket_holds_and_what_does_not_pass_takes_nothing() {
        assert_eq!(passes(&[0, 0, 0, 0, 0]), [true, true, true, false, false]);
        // The tokens of a packet are replaced within 8 ms; dropped packets take none.
        assert_eq!(passes(&[0, 0, 0, 3, 7, 8, 15, 16]), [true, true, true, false, false, true, false, true]);
        // Idle time fills the bucket, but not above its size.
        assert_eq!(passes(&[0, 0, 0, 500, 500, 500, 500]), [true, true, true, true, true, true, false]);
    }

    #[test]
    fn what_passes_is_not_delayed_and_the_rest_counts_as_dropped() {
        let mut link = policed();
        let fates: Vec<Push> = (0..5).map(|id| link.push(SimTime::ZERO, plain(id, 1000))).collect();
        assert_eq!(fates.iter().filter(|fate| **fate == Push::QueueDrop).count(), 2);
        let mut arrivals = Vec::new();
        while let Some(now) = link.next_event() {
            while let Some(departure) = link.advance(now) {
                assert!(matches!(departure, Departure::Arrived(_)));
                arrivals.push(now / MS);
            }
        }
        assert_eq!(arrivals, [6, 7, 8]);
        let statistics = link.report(MS * 100).statistics;
        assert_eq!((statistics.transmissions, statistics.queue_drops), (3, 2));
    }

    /// With an offered load above its rate, the policer passes one bucket plus the tokens added since, as the fluid
    /// model does, to within a packet.
    #[test]
    fn in_the_long_run_its_rate_passes() {
        let mut link = policed();
        // 2.5 Mbit/s for 100 s.
        let offered = 31_250_u32;
        let passed = (0..offered)
            .filter(|&id| {
                link.push(SimTime::from_micros(3200) * u64::from(id), plain(id, 1000)) == Push::Accepted
            })
            .count() as f64;
        let seconds = 3.2e-3 * f64::from(offered - 1);
        let fluid = (3000.0 + 125_000.0 * seconds) / 1000.0;
        assert!(passed <= fluid && passed > fluid - 1.0, "{passed} packets, the fluid has {fluid}");
    }

    proptest! {
        /// In no interval do more bytes pass than one bucket plus the tokens added in it (arrival curve), and no
        /// dropped packet would have conformed.
        #[test]
        fn what_passes_conforms_and_what_is_dropped_does_not(
            packets in prop::collection::vec((0_u64..16_000, 40_u32..1500), 1..150),
        ) {
            let mut link = policed();
            let (mut at_us, mut passed) = (0, Vec::<(f64, f64)>::new());
            for (gap, bytes) in packets {
                at_us += gap;
                let now = SimTime::from_micros(at_us);
                // The least over the beginnings of intervals: the level of the bucket without this packet.
                let (mut sum, mut level) = (0.0, 3000.0_f64);
                for &(since, bytes) in passed.iter().rev() {
                    sum += bytes;
                    level = level.min(3000.0 + (now.as_secs_f64() - since) * 125_000.0 - sum);
                }
                let spare = level - f64::from(bytes);
                if link.push(now, plain(0, bytes)) == Push::Accepted {
                    prop_assert!(spare > -0.01, "passed with {spare} tokens to spare");
                    passed.push((now.as_secs_f64(), f64::from(bytes)));
                } else {
                    prop_assert!(spare < 0.01, "dropped with {spare} tokens to spare");
                }
            }
        }
    }
}
