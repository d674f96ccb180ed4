//! Random early detection (RED).

use super::{Backlog, QueueDiscipline, Waiting, mark};
use crate::limit::QueueLimit;
use crate::parcel::Parcel;
use crossfade_core::{OutOfRange, SimTime, Stream};
use rand::RngExt;

/// Parameters of RED. [`RedConfig::new`] gives the usual values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Limit of the queue. RED measures the queue in the unit of this limit, packets or bytes.
    pub limit: QueueLimit,
    /// Average queue below which nothing is marked, in the unit of the limit (packets or bytes).
    pub min_th: f64,
    /// Average queue up to which packets are marked with a probability of at most [`max_p`](Self::max_p), in the unit
    /// of the limit (packets or bytes).
    pub max_th: f64,
    /// Probability of a mark when the average queue reaches [`max_th`](Self::max_th).
    pub max_p: f64,
    /// Weight of the present queue in the moving average.
    pub w_q: f64,
    /// True if the probability rises from `max_p` to 1 between `max_th` and twice `max_th`; otherwise it jumps to 1 at
    /// `max_th`.
    pub gentle: bool,
    /// True if ECN-capable packets are marked instead of dropped, up to `max_th` (twice that if gentle). Beyond it, and
    /// when the queue is full, all packets are dropped.
    pub ecn: bool,
    /// Transmission time of a typical small packet: the average decays during idle time as if such packets had found
    /// the queue empty.
    pub idle_packet_time: SimTime,
    /// Length of the longest packet in bytes: if the limit is in bytes, a packet half as long is marked half as often.
    pub max_packet: u32,
}

impl RedConfig {
    /// Configuration of a gentle RED without ECN, for packets of `mean_packet` bytes on average on a link of `rate_bps`
    /// bit/s.
    ///
    /// Thresholds of 5 and 15 packets, `max_p` 0.1 and `w_q` 0.002 (S. Floyd, "RED: Discussions of Setting Parameters",
    /// 1997); gentle as in "Recommendation on using the gentle variant of RED", 2000.
    pub fn new(limit: QueueLimit, mean_packet: u32, rate_bps: f64) -> Self {
        let unit = match limit {
            QueueLimit::Packets(_) => 1.0,
            QueueLimit::Bytes(_) => f64::from(mean_packet),
        };
        Self {
            limit,
            min_th: 5.0 * unit,
            max_th: 15.0 * unit,
            max_p: 0.1,
            w_q: 0.002,
            gentle: true,
            ecn: false,
            idle_packet_time: SimTime::to_transmit(mean_packet, rate_bps),
            max_packet: mean_packet,
        }
    }

    fn check(&self) -> Result<(), OutOfRange> {
        let Self { limit, min_th, max_th, max_p, w_q, idle_packet_time: time, max_packet, .. } = *self;
        let is_share = |value: f64| value > 0.0 && value <= 1.0;
        limit.check()?;
        OutOfRange::unless(min_th >= 0.0, "min_th", min_th, "0 or more")?;
        OutOfRange::unless(max_th > min_th && max_th.is_finite(), "max_th", max_th, "above min_th")?;
        OutOfRange::unless(is_share(max_p), "max_p", max_p, "above 0 and at most 1")?;
        OutOfRange::unless(is_share(w_q), "w_q", w_q, "above 0 and at most 1")?;
        OutOfRange::unless(time > SimTime::ZERO, "idle_packet_time", time, "longer than 0 s")?;
        OutOfRange::unless(max_packet > 0, "max_packet", format!("{max_packet} B"), "at least 1 B")
    }
}

/// First-in first-out queue that drops or marks arriving packets at random, with a probability that rises with the
/// average queue length.
///
/// S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM
/// Transactions on Networking 1(4), 1993, Figure 2; gentle mode by Floyd, 2000.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    stream: Stream,
    backlog: Backlog,
    /// Average queue length, in the unit of the limit.
    avg: f64,
    /// Number of packets since the last mark or drop; `None` if the average is below `min_th` (-1 in the paper).
    count: Option<u32>,
    /// Start of the link's idle time; `None` while the link is busy.
    q_time: Option<SimTime>,
    ecn_marks: u64,
}

/// Decision on an arriving packet by the average queue length.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Region {
    Pass,
    /// Mark with this probability `p_b`, before marks are spread evenly.
    Mark(f64),
    Drop,
}

impl Red {
    /// Creates an empty queue that draws from `stream`.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    pub fn new(config: RedConfig, stream: Stream) -> Result<Self, OutOfRange> {
        config.check()?;
        let backlog = Backlog::default();
        Ok(Self { config, stream, backlog, avg: 0.0, count: None, q_time: Some(SimTime::ZERO), ecn_marks: 0 })
    }

    /// Updates the average at an arrival at `now` that finds a queue of length `queue` (Floyd and Jacobson 1993,
    /// section IV).
    fn update_average(&mut self, now: SimTime, queue: f64) {
        let w_q = self.config.w_q;
        if let Some(q_time) = self.q_time.take() {
            // As if m small packets had found the queue empty while the link was idle.
            let m = (now - q_time).as_nanos() as f64 / self.config.idle_packet_time.as_nanos() as f64;
            self.avg *= libm::pow(1.0 - w_q, m);
        } else {
            self.avg += w_q * (queue - self.avg);
        }
    }

    fn region(&self, bytes: u32) -> Region {
        let RedConfig { limit, min_th, max_th, max_p, gentle, max_packet, .. } = self.config;
        let avg = self.avg;
        let p_b = if avg < min_th {
            return Region::Pass;
        } else if avg < max_th {
            max_p * (avg - min_th) / (max_th - min_th)
        } else if gentle && avg < 2.0 * max_th {
            max_p + (1.0 - max_p) * (avg - max_th) / max_th
        } else {
            return Region::Drop;
        };
        Region::Mark(match limit {
            QueueLimit::Packets(_) => p_b,
            // Floyd93 section IV: short packets of an interactive connection are marked more rarely.
            QueueLimit::Bytes(_) => p_b * f64::from(bytes) / f64::from(max_packet),
        })
    }

    /// True if the arriving packet is marked, by a random draw.
    fn draws_mark(&mut self, p_b: f64) -> bool {
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        let marks = self.stream.random::<f64>() < p_a(p_b, count);
        self.count = Some(if marks { 0 } else { count });
        marks
    }
}

/// Probability `p_a` of a mark, which spreads marks evenly: the number of packets from one mark to the next is uniform
/// instead of geometric (Floyd and Jacobson 1993, section VII).
fn p_a(p_b: f64, count: u32) -> f64 {
    let counted = f64::from(count) * p_b;
    if counted < 1.0 { p_b / (1.0 - counted) } else { 1.0 }
}

impl QueueDiscipline for Red {
    fn enqueue(
        &mut self,
        now: SimTime,
        mut packet: Parcel,
        _dropped: &mut Vec<Waiting>,
    ) -> Result<(), Parcel> {
        let RedConfig { limit, ecn, .. } = self.config;
        let (packets, bytes) = (self.backlog.packets(), self.backlog.bytes);
        self.update_average(now, limit.measure(packets, bytes));
        // A full queue drops packets that it could have marked, without a draw.
        let admits = limit.admits(packets, bytes, packet.bytes());
        let region = if admits { self.region(packet.bytes()) } else { Region::Drop };
        let drops = match region {
            Region::Pass => {
                self.count = None;
                false
            }
            Region::Mark(p_b) => self.draws_mark(p_b) && !mark(ecn, &mut packet, &mut self.ecn_marks),
            Region::Drop => {
                self.count = Some(0);
                true
            }
        };
        if drops {
            return Err(packet);
        }
        self.backlog.push(now, packet);
        Ok(())
    }

    fn dequeue(&mut self, now: SimTime, _dropped: &mut Vec<Waiting>) -> Option<Waiting> {
        let head = self.backlog.pop();
        if head.is_none() {
            self.q_time.get_or_insert(now);
        }
        head
    }

    fn discard(&mut self, _now: SimTime, until: SimTime, dropped: &mut Vec<Waiting>) {
        self.backlog.discard(until, dropped);
    }

    fn oldest(&self) -> Option<SimTime> {
        self.backlog.oldest()
    }

    fn each(&self, visit: &mut dyn FnMut(&Waiting)) {
        self.backlog.each(visit);
    }

    fn packets(&self) -> usize {
        self.backlog.packets()
    }

    fn bytes(&self) -> u64 {
        self.backlog.bytes
    }

    fn next_bytes(&self) -> Option<u32> {
        self.backlog.next_bytes()
    }

    fn ecn_marks(&self) -> u64 {
        self.ecn_marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{capable, plain};
    use crossfade_core::RunSeed;

    const MS: SimTime = SimTime::from_millis(1);

    fn red(config: RedConfig) -> Red {
        Red::new(config, RunSeed { seed: 1, run: 0 }.stream("queue.dl")).unwrap()
    }

    fn in_packets() -> RedConfig {
        // 1000 bytes last 1 ms.
        RedConfig::new(QueueLimit::Packets(1000), 1000, 8e6)
    }

    /// A queue whose average length stays at `avg`.
    fn at_average(avg: f64, config: RedConfig) -> Red {
        Red { avg, q_time: None, ..red(RedConfig { w_q: f64::MIN_POSITIVE, ..config }) }
    }

    fn arrives(red: &mut Red, packet: Parcel) -> bool {
        red.enqueue(SimTime::ZERO, packet, &mut Vec::new()).is_ok()
    }

    /// The average after a burst of L packets into an empty queue, and the weight that lets 50 packets pass at a
    /// threshold of 5, are those of Floyd and Jacobson 1993, section VI.
    #[test]
    fn bursts_raise_the_average_as_in_the_paper() {
        let average_after = |burst: u32, w_q: f64| {
            let mut red = red(RedConfig { w_q, min_th: 1000.0, max_th: 2000.0, ..in_packets() });
            // The first finds an empty queue and the last one of `burst` packets.
            (0..=burst).for_each(|id| assert!(arrives(&mut red, plain(id, 1000))));
            red.avg
        };
        for (burst, w_q) in [(10_u32, 0.001), (50, 0.0042), (100, 0.1), (20, 1.0)] {
            let (l, got) = (f64::from(burst), average_after(burst, w_q));
            let expected = l + 1.0 + ((1.0 - w_q).powf(l + 1.0) - 1.0) / w_q;
            assert!((got - expected).abs() < 1e-8 * l, "L {burst}, w_q {w_q}: {got} against {expected}");
        }
        assert!(average_after(50, 0.00415) < 5.0 && average_after(50, 0.00425) > 5.0, "w_q = 0.0042");
    }

    #[test]
    fn an_idle_link_lets_the_average_decay() {
        let mut red = Red { avg: 10.0, q_time: None, ..red(in_packets()) };
        assert_eq!(red.dequeue(MS * 5, &mut Vec::new()), None);
        assert_eq!(red.dequeue(MS * 7, &mut Vec::new()), None, "idle since 5 ms all the same");
        red.enqueue(MS * 1005, plain(0, 1000), &mut Vec::new()).unwrap();
        // 1000 packets of 1 ms could have come: 10 * 0.998^1000.
        assert!((red.avg - 1.350_645).abs() < 1e-6, "{}", red.avg);
        // The queue is empty and the link busy: an ordinary arrival.
        red.dequeue(MS * 1005, &mut Vec::new()).unwrap();
        red.enqueue(MS * 1006, plain(1, 1000), &mut Vec::new()).unwrap();
        assert!((red.avg - 1.350_645 * 0.998).abs() < 1e-6);
    }

    #[test]
    fn probabilities_follow_the_average() {
        let of = |avg: f64, config: RedConfig, bytes: u32| at_average(avg, config).region(bytes);
        let near = |region: Region, expected: f64| match region {
            Region::Mark(p_b) => assert!((p_b - expected).abs() < 1e-12, "{p_b} against {expected}"),
            other => panic!("{other:?}"),
        };
        let gentle = in_packets();
        assert_eq!(of(4.999, gentle, 1000), Region::Pass);
        near(of(5.0, gentle, 1000), 0.0);
        near(of(10.0, gentle, 40), 0.05);
        near(of(15.0, gentle, 1000), 0.1);
        near(of(22.5, gentle, 1000), 0.55);
        assert_eq!(of(30.0, gentle, 1000), Region::Drop);
        assert_eq!(of(15.0, RedConfig { gentle: false, ..gentle }, 1000), Region::Drop);
        let in_bytes = RedConfig::new(QueueLimit::Bytes(100_000), 1000, 8e6);
        assert_eq!(of(4_999.0, in_bytes, 1000), Region::Pass);
        near(of(10_000.0, in_bytes, 1000), 0.05);
        near(of(10_000.0, in_bytes, 40), 0.05 * 0.04);
    }

    /// The number of packets from one mark to the next is uniform (Floyd and Jacobson 1993, section VII, method 2).
    #[test]
    fn marks_are_spread_evenly() {
        // P(X = n) = p_a(n) prod (1 - p_a(k)), exactly 1 / 50 for n = 1 .. 50 if p_b = 1 / 50.
        let mut none_yet = 1.0;
        for count in 0..50 {
            let now = none_yet * p_a(0.02, count);
            assert!((now - 0.02).abs() < 1e-12, "{count}: {now}");
            none_yet -= now;
        }
        assert_eq!(p_a(0.02, 50), 1.0);

        // In Figure 2 the arrival after a mark has count 1: gaps are 1 .. 49, their mean 25. The first has count 0:
        // that gap may be 50.
        let mut red = at_average(7.0, in_packets());
        while arrives(&mut red, plain(0, 1000)) {
            red.dequeue(SimTime::ZERO, &mut Vec::new()).unwrap();
        }
        let mut gaps = [0_u32; 49];
        let (mut gap, n) = (0, 20_000);
        while gaps.iter().sum::<u32>() < n {
            gap += 1;
            if arrives(&mut red, plain(0, 1000)) {
                red.dequeue(SimTime::ZERO, &mut Vec::new()).unwrap();
            } else {
                gaps[gap - 1] += 1;
                gap = 0;
            }
        }
        let expected = f64::from(n) / 49.0;
        let chi_square: f64 = gaps.iter().map(|&k| (f64::from(k) - expected).powi(2) / expected).sum();
        // 48 degrees of freedom: once in 10,000.
        assert!(chi_square < 93.2, "{chi_square}: {gaps:?}");
    }

    /// In Figure 2 of Floyd and Jacobson 1993 the count restarts below `min_th`, and a drop beyond `max_th` or by a
    /// full queue counts as a mark.
    #[test]
    fn packets_are_counted_from_the_last_mark() {
        let full = RedConfig { limit: QueueLimit::Packets(1), ..in_packets() };
        for (avg, config, arrivals, expected) in [
            (7.0, RedConfig { max_p: f64::MIN_POSITIVE, ..in_packets() }, 3, Some(13)),
            (4.0, in_packets(), 1, None),
            (31.0, in_packets(), 1, Some(0)),
            (4.0, full, 2, Some(0)),
        ] {
            let mut red = Red { count: Some(10), ..at_average(avg, config) };
            for id in 0..arrivals {
                arrives(&mut red, plain(id, 1000));
            }
            assert_eq!(red.count, expected, "average {avg}");
        }
    }

    /// In Figure 2 of Floyd and Jacobson 1993 the count is -1 while the average is below `min_th`, so the first arrival
    /// above it has count 0.
    #[test]
    fn the_first_arrival_above_the_threshold_counts_zero() {
        let mut red = at_average(7.0, RedConfig { max_p: f64::MIN_POSITIVE, ..in_packets() });
        let counts: Vec<_> = (0..3)
            .map(|id| {
                arrives(&mut red, plain(id, 1000));
                red.count
            })
            .collect();
        assert_eq!(counts, [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn what_can_be_marked_is_not_dropped_until_the_queue_is_out_of_hand() {
        let config = RedConfig { ecn: true, max_p: 1.0, ..in_packets() };
        let ect = capable(plain(1, 1000), true);
        // Just below max_th with max_p = 1, packet after packet is marked.
        let mut marking = at_average(14.999_999_999, config);
        assert!(arrives(&mut marking, ect) && arrives(&mut marking, ect));
        assert!(!arrives(&mut marking, plain(2, 1000)));
        assert_eq!((marking.ecn_marks(), marking.packets()), (2, 2));
        assert!(marking.dequeue(SimTime::ZERO, &mut Vec::new()).unwrap().packet.is_ce());
        let mut overloaded = at_average(30.0, config);
        assert!(!arrives(&mut overloaded, ect));
        let mut full = at_average(14.999_999_999, RedConfig { limit: QueueLimit::Packets(1), ..config });
        assert!(arrives(&mut full, ect) && !arrives(&mut full, ect));
        assert_eq!((overloaded.ecn_marks(), full.ecn_marks()), (0, 1));
        let mut deaf = at_average(14.999_999_999, RedConfig { ecn: false, ..config });
        assert!(!arrives(&mut deaf, ect));
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let good = in_packets();
        let refusal = |config| {
            let stream = RunSeed { seed: 1, run: 0 }.stream("queue.dl");
            Red::new(config, stream).unwrap_err().to_string()
        };
        assert_eq!(refusal(RedConfig { max_th: 5.0, ..good }), "max_th = 5: must be above min_th");
        assert_eq!(refusal(RedConfig { w_q: 0.0, ..good }), "w_q = 0: must be above 0 and at most 1");
        assert_eq!(
            refusal(RedConfig { max_p: f64::NAN, ..good }),
            "max_p = NaN: must be above 0 and at most 1"
        );
        assert_eq!(refusal(RedConfig { min_th: -1.0, ..good }), "min_th = -1: must be 0 or more");
        let none = RedConfig { limit: QueueLimit::Packets(0), ..good };
        assert_eq!(refusal(none), "limit = 0 packets: must be at least one packet");
        let instant = RedConfig { idle_packet_time: SimTime::ZERO, ..good };
        assert_eq!(refusal(instant), "idle_packet_time = 0 s: must be longer than 0 s");
        assert_eq!(refusal(RedConfig { max_packet: 0, ..good }), "max_packet = 0 B: must be at least 1 B");
    }
}
