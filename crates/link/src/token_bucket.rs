//! Token-bucket shaper: packets wait until they conform.

use crate::link::Link;
use crate::occupancy::{Occupancy, UnderWay};
use crate::queue::QueueConfig;
use crate::transmitter::{Service, Transmitter};
use crossfade_channel::LossProcess;
use crossfade_core::{OutOfRange, SimTime, Stream};

/// Token-bucket shaper, which sends a packet once the bucket holds as many tokens as the packet has bytes. Bursts leave
/// at the transmitter's rate, and the mean rate is at most that of the tokens. The terms are those of RFC 2697.
///
/// The packet that waits for tokens has left the queue and counts as being sent. A packet longer than the bucket waits
/// until the bucket is full and borrows the missing tokens from later packets.
pub struct TokenBucket {
    transmitter: Transmitter,
    has_rate: bool,
    /// Committed information rate in bit/s.
    cir_bps: f64,
    /// Time in which an empty bucket becomes full: the committed burst size over the rate.
    fills_in: SimTime,
    /// Time at which the bucket is or was full again.
    full_at: SimTime,
    /// Total transmission time of all packets taken so far, and transmission time of the last one.
    busy: SimTime,
    last: SimTime,
}

impl TokenBucket {
    /// Creates a full bucket of `cbs` bytes that fills at `cir_bps` bit/s, before a transmitter of `rate_bps` bit/s;
    /// `None`: transmission takes no time.
    pub fn new(cir_bps: f64, cbs: u32, rate_bps: Option<f64>) -> Self {
        Self {
            transmitter: Transmitter::new(rate_bps),
            has_rate: rate_bps.is_some(),
            cir_bps,
            fills_in: SimTime::to_transmit(cbs, cir_bps),
            full_at: SimTime::ZERO,
            busy: SimTime::ZERO,
            last: SimTime::ZERO,
        }
    }

    /// Builds a link whose bucket takes packets from `queue`; `draws` is the queue's random stream, `delay` is added to
    /// the bucket's.
    ///
    /// # Errors
    /// If a parameter of the queue is outside its range.
    pub fn link(
        self,
        queue: QueueConfig,
        draws: Stream,
        delay: SimTime,
        loss: Box<dyn LossProcess>,
    ) -> Result<Box<dyn Link + Send>, OutOfRange> {
        queue.before(draws, self, delay, loss)
    }
}

impl Service for TokenBucket {
    fn next_start(&mut self, ready: SimTime, _was_idle: bool) -> SimTime {
        ready
    }

    fn serve(&mut self, start: SimTime, bytes: u32) -> SimTime {
        // Virtual scheduling (ITU-T I.371): the tokens missing from the bucket are stored as the time until it is full.
        let cost = SimTime::to_transmit(bytes, self.cir_bps);
        // A packet longer than the bucket waits for a full bucket.
        let needed = cost.min(self.fills_in);
        let sends_at = (self.full_at + needed).saturating_sub(self.fills_in).max(start);
        self.full_at = self.full_at.max(sends_at) + cost;
        let time = self.transmitter.time_for(bytes);
        self.busy += time;
        self.last = time;
        sends_at + time
    }

    fn occupancy(&self, now: SimTime, under_way: Option<UnderWay>) -> Occupancy {
        // The last packet may still wait for its tokens, or be in transmission.
        let to_send = under_way.map_or(SimTime::ZERO, |packet| packet.end.saturating_sub(now).min(self.last));
        if self.has_rate { Occupancy::Time(self.busy - to_send) } else { Occupancy::None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Departure, Link, Push};
    use crate::queue::DropTail;
    use crate::queued_link::QueuedLink;
    use crate::testing::plain;
    use crate::{Occupancy, QueueLimit};
    use crossfade_channel::Lossless;

    /// Departure times in microseconds of packets given by arrival time in microseconds and length in bytes.
    fn departures(mut bucket: TokenBucket, packets: &[(u64, u32)]) -> Vec<u64> {
        let mut idle_at = SimTime::ZERO;
        let mut leaves = |&(at, bytes): &(u64, u32)| {
            idle_at = bucket.serve(idle_at.max(SimTime::from_micros(at)), bytes);
            idle_at.as_nanos() / 1000
        };
        packets.iter().map(&mut leaves).collect()
    }

    /// Shaper of 1 Mbit/s and 3000 B before a transmitter of 8 Mbit/s: 1000 B take 8 ms of tokens and 1 ms to send.
    fn bucket() -> TokenBucket {
        TokenBucket::new(1e6, 3000, Some(8e6))
    }

    #[test]
    fn a_burst_goes_at_the_peak_rate_and_the_rest_at_the_committed_one() {
        // After three packets at 0, 1 and 2 ms the bucket holds 2 ms of tokens: the fourth needs 6 more.
        let packets = [(0, 1000); 6];
        assert_eq!(departures(bucket(), &packets), [1000, 2000, 3000, 9000, 17_000, 25_000]);
    }

    #[test]
    fn idle_time_fills_the_bucket_but_never_above_its_size() {
        let packets = [(0, 1000), (0, 1000), (0, 1000), (16_000, 1000), (16_000, 1000), (16_000, 1000)];
        // At 16 ms the bucket has 16 ms of its 24: two packets.
        assert_eq!(departures(bucket(), &packets), [1000, 2000, 3000, 17_000, 18_000, 25_000]);
        let late = packets.map(|(at, bytes)| if at > 0 { (10_000_000, bytes) } else { (at, bytes) });
        assert_eq!(departures(bucket(), &late)[3..], [10_001_000, 10_002_000, 10_003_000]);
    }

    #[test]
    fn a_packet_longer_than_the_bucket_waits_for_a_full_one() {
        let packets = [(0, 1000), (0, 4000), (0, 1000)];
        // Full again at 8 ms; then 32 ms of tokens are owed, of which 24 are a bucket: at 40 - 16 ms the third
        // conforms.
        assert_eq!(departures(bucket(), &packets), [1000, 12_000, 25_000]);
    }

    /// In no interval do more bytes leave than one bucket plus the tokens added in it (arrival curve), and no packet
    /// waits longer than that requires.
    #[test]
    fn what_leaves_conforms_in_every_interval_and_nothing_waits_for_more() {
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let (mut bucket, mut at, mut idle_at) = (TokenBucket::new(1e6, 3000, None), 0, SimTime::ZERO);
        let mut sent: Vec<(f64, f64)> = Vec::new();
        for _ in 0..400 {
            at += random(16_000);
            let (start, bytes) = (idle_at.max(SimTime::from_micros(at)), 40 + random(1460) as u32);
            idle_at = bucket.serve(start, bytes);
            sent.push((idle_at.as_secs_f64(), f64::from(bytes)));
            // The fluid that is left from any earlier packet on; the least of these is the level of the bucket.
            let (mut sum, mut level) = (0.0, 3000.0 - f64::from(bytes));
            for (since, bytes) in sent.iter().rev() {
                sum += bytes;
                level = f64::min(level, 3000.0 + (idle_at.as_secs_f64() - since) * 125_000.0 - sum);
            }
            assert!(level > -0.01, "{level} tokens at {idle_at}");
            assert!(idle_at == start || level < 0.01, "waited for {level} tokens at {idle_at}");
        }
        assert!(matches!(bucket.occupancy(SimTime::ZERO, None), Occupancy::None));
    }

    #[test]
    fn a_link_behind_a_queue_sends_what_the_fluid_does() {
        let queue = DropTail::new(QueueLimit::Packets(100)).unwrap();
        let mut link = QueuedLink::new(queue, bucket(), SimTime::from_millis(5), Box::new(Lossless));
        for id in 0..50 {
            assert_eq!(link.push(SimTime::ZERO, plain(id, 1000)), Push::Accepted);
        }
        let mut arrivals = Vec::new();
        while let Some(now) = link.next_event() {
            while let Some(Departure::Arrived(_)) = link.advance(now) {
                arrivals.push(now);
            }
        }
        // The n-th (from 3) starts when the tokens of all of them have come: 8 (n + 1) - 24 ms.
        let starts = |n: u64| if n < 3 { n } else { 8 * (n + 1) - 24 };
        let expected: Vec<SimTime> = (0..50).map(|n| SimTime::from_millis(starts(n) + 1 + 5)).collect();
        assert_eq!(arrivals, expected);
        let report = link.report(SimTime::from_millis(1000));
        assert!(matches!(report.occupancy, Occupancy::Time(busy) if busy == SimTime::from_millis(50)));
    }
}
