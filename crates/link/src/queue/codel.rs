//! Controlled delay (`CoDel`): drops at the head of the queue while packets wait too long.

use super::{Backlog, QueueDiscipline, Waiting, mark};
use crate::limit::QueueLimit;
use crate::parcel::Parcel;
use crossfade_core::{OutOfRange, SimTime};

/// Parameters of `CoDel` (RFC 8289 section 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDelConfig {
    /// TARGET of RFC 8289: acceptable standing queueing delay.
    pub target: SimTime,
    /// INTERVAL of RFC 8289: time for which delays must exceed the target before the first drop; about the largest RTT
    /// that the queue should serve well.
    pub interval: SimTime,
    /// `maxpacket_` of RFC 8289, in bytes: a queue that holds no more than this drops nothing.
    pub mtu: u32,
    /// True if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for CoDelConfig {
    /// Target 5 ms and interval 100 ms (RFC 8289 section 5.3), packets of 1500 bytes, drops only.
    fn default() -> Self {
        Self { target: SimTime::from_millis(5), interval: SimTime::from_millis(100), mtu: 1500, ecn: false }
    }
}

impl CoDelConfig {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        let (target, interval) = (self.target, self.interval);
        OutOfRange::unless(interval > SimTime::ZERO, "interval", interval, "longer than 0 s")?;
        OutOfRange::unless(target <= interval, "target", target, "at most the interval")
    }
}

/// First-in first-out queue under `CoDel` (RFC 8289).
///
/// ```text
///            waited >= target and more than an MTU queued, for an interval: drop one
///   passing ----------------------------------------------------------------------> dropping
///           <----------------------------------------------------------------------
///            waited < target, or no more than an MTU queued
/// ```
///
/// In the dropping state, drops follow each other at intervals of `interval / sqrt(count)`.
#[derive(Clone, Debug)]
pub struct CoDel {
    config: CoDelConfig,
    limit: QueueLimit,
    backlog: Backlog,
    control: Control,
    ecn_marks: u64,
}

impl CoDel {
    /// Creates an empty queue that holds no more than `limit`.
    ///
    /// # Errors
    /// If the limit is below one packet, the interval is zero, or the target is longer than the interval.
    pub fn new(config: CoDelConfig, limit: QueueLimit) -> Result<Self, OutOfRange> {
        config.check()?;
        limit.check()?;
        Ok(Self { config, limit, backlog: Backlog::default(), control: Control::default(), ecn_marks: 0 })
    }
}

impl QueueDiscipline for CoDel {
    /// Stores the packet with its arrival time (RFC 8289 section 5.4).
    fn enqueue(&mut self, now: SimTime, packet: Parcel, _dropped: &mut Vec<Waiting>) -> Result<(), Parcel> {
        if !self.limit.admits(self.backlog.packets(), self.backlog.bytes, packet.bytes()) {
            return Err(packet);
        }
        self.backlog.push(now, packet);
        Ok(())
    }

    fn dequeue(&mut self, now: SimTime, dropped: &mut Vec<Waiting>) -> Option<Waiting> {
        self.control.dequeue(&self.config, now, &mut self.backlog, dropped, &mut self.ecn_marks)
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

    fn ecn_marks(&self) -> u64 {
        self.ecn_marks
    }
}

/// State of `CoDel` for one queue (RFC 8289 section 5.2).
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// Time at which delays will have exceeded the target for an interval; `None` while delays are below the target.
    first_above_time: Option<SimTime>,
    /// Time of the next drop in the dropping state.
    drop_next: SimTime,
    /// Number of packets dropped since the dropping state began.
    count: u32,
    /// Value of `count` when the dropping state last began.
    last_count: u32,
    dropping: bool,
}

impl Control {
    /// Takes the next packet from the queue (RFC 8289 section 5.5, `deque()`). If the packet to drop can be marked
    /// instead, it is marked and returned, and the call drops no further packet.
    pub(super) fn dequeue(
        &mut self,
        config: &CoDelConfig,
        now: SimTime,
        backlog: &mut Backlog,
        dropped: &mut Vec<Waiting>,
        ecn_marks: &mut u64,
    ) -> Option<Waiting> {
        let (mut head, mut ok_to_drop) = self.pop(config, now, backlog)?;
        if self.dropping {
            // Waiting times are below the target again: leave the dropping state.
            self.dropping = ok_to_drop;
            // A large backlog may have several drops due at once.
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if mark(config.ecn, &mut head.packet, ecn_marks) {
                    self.drop_next = control_law(config, self.drop_next, self.count);
                    break;
                }
                dropped.push(head);
                // A drop leaves more than an MTU in the queue (see `pop`), so there is a next packet.
                (head, ok_to_drop) = self.pop(config, now, backlog)?;
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next = control_law(config, self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            if !mark(config.ecn, &mut head.packet, ecn_marks) {
                dropped.push(head);
                (head, _) = self.pop(config, now, backlog)?;
            }
            self.dropping = true;
            // If the dropping state ended recently, start with the drop rate that controlled the queue then.
            let delta = self.count - self.last_count;
            let is_recent = now.saturating_sub(self.drop_next) < config.interval.saturating_mul(16);
            self.count = if delta > 1 && is_recent { delta } else { 1 };
            self.drop_next = control_law(config, now, self.count);
            self.last_count = self.count;
        }
        Some(head)
    }

    /// RFC 8289 section 5.6, `dodequeue()`: the packet at the head, and true if it may be dropped.
    fn pop(&mut self, config: &CoDelConfig, now: SimTime, backlog: &mut Backlog) -> Option<(Waiting, bool)> {
        let Some(head) = backlog.pop() else {
            // An empty queue is not above the target. It cannot be dropping either.
            self.first_above_time = None;
            self.dropping = false;
            return None;
        };
        let sojourn_time = now - head.since;
        // The second condition keeps a slow link busy, where one packet alone takes longer than the target.
        if sojourn_time < config.target || backlog.bytes <= u64::from(config.mtu) {
            self.first_above_time = None;
            return Some((head, false));
        }
        // The delay has just exceeded the target: wait an interval for it to fall by itself.
        let first_above_time = *self.first_above_time.get_or_insert(now.saturating_add(config.interval));
        Some((head, now >= first_above_time))
    }
}

/// RFC 8289 section 5.6, `control_law()`: time of the drop after that at `t`. The throughput of TCP falls as one over
/// the square root of the drop rate, so this spacing of drops lowers it linearly (section 3.3).
fn control_law(config: &CoDelConfig, t: SimTime, count: u32) -> SimTime {
    let wait = config.interval.as_nanos() as f64 / f64::from(count).sqrt();
    t.saturating_add(SimTime::from_nanos(wait.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{capable, plain};
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const MS: SimTime = SimTime::from_millis(1);

    fn codel(ecn: bool) -> CoDel {
        CoDel::new(CoDelConfig { ecn, ..CoDelConfig::default() }, QueueLimit::Packets(100_000)).unwrap()
    }

    fn fill(queue: &mut CoDel, now: SimTime, packets: u32, ecn_capable: bool) {
        for id in 0..packets {
            let packet = capable(plain(id, 1500), ecn_capable);
            queue.enqueue(now, packet, &mut Vec::new()).unwrap();
        }
    }

    /// Takes one packet out per millisecond; returns the times, in ms, at which packets were dropped or marked.
    fn signals(queue: &mut CoDel, millis: std::ops::RangeInclusive<u64>) -> Vec<u64> {
        let mut at = Vec::new();
        for now in millis {
            let mut dropped = Vec::new();
            let head = queue.dequeue(MS * now, &mut dropped);
            let signals = dropped.len() + usize::from(head.is_some_and(|head| head.packet.is_ce()));
            at.extend(std::iter::repeat_n(now, signals));
        }
        at
    }

    /// Expected times of drops in ms. Packets wait longer than 5 ms from 5 ms on; the first drop is an interval later,
    /// at 105 ms, and the next follow after 100 / sqrt(count) ms each: 205, 275.7, 333.4, 383.4, 428.2, 469.0.
    const DROPS: [u64; 7] = [105, 205, 276, 334, 384, 429, 469];

    #[test]
    fn drops_follow_the_control_law() {
        let mut queue = codel(false);
        fill(&mut queue, SimTime::ZERO, 10_000, true);
        assert_eq!(signals(&mut queue, 1..=480), DROPS);
        assert_eq!((queue.packets(), queue.ecn_marks()), (10_000 - 480 - 7, 0));
    }

    #[test]
    fn marks_take_the_place_of_drops() {
        let mut queue = codel(true);
        fill(&mut queue, SimTime::ZERO, 10_000, true);
        assert_eq!(signals(&mut queue, 1..=480), DROPS);
        assert_eq!((queue.packets(), queue.ecn_marks()), (10_000 - 480, 7));
        let mut queue = codel(true);
        fill(&mut queue, SimTime::ZERO, 10_000, false);
        assert_eq!(signals(&mut queue, 1..=480), DROPS);
        assert_eq!((queue.packets(), queue.ecn_marks()), (10_000 - 480 - 7, 0));
    }

    /// If the dropping state begins again within 16 intervals, it continues at the drop rate that controlled the queue
    /// before.
    #[test]
    fn the_drop_rate_is_remembered_for_16_intervals() {
        // The next drop was due 100 / sqrt(7) = 37.8 ms after 469 ms: 506.8 ms.
        for (pause, expected) in [
            // Stands from 1005 ms on: drop at 1105, then with count 7 - 1 = 6: 40.8 ms and 37.8 ms later.
            (1000, vec![1105, 1146, 1184]),
            // 2106 ms is less than 1600 ms after 506.8 ms, 2107 ms is not.
            (2001, vec![2106, 2147, 2185]),
            (2002, vec![2107]),
        ] {
            let mut queue = codel(false);
            fill(&mut queue, SimTime::ZERO, 480 + 7, false);
            assert_eq!(signals(&mut queue, 1..=481), DROPS);
            fill(&mut queue, MS * pause, 10_000, false);
            assert_eq!(signals(&mut queue, pause + 1..=pause + 190), expected);
        }
    }

    #[test]
    fn a_slow_link_stays_busy() {
        // One packet of an MTU takes a second to send: a single packet is not dropped for any wait.
        let mut queue = codel(false);
        for second in 0..100 {
            queue.enqueue(MS * 1000 * second, plain(0, 1500), &mut Vec::new()).unwrap();
            if second == 0 {
                queue.enqueue(SimTime::ZERO, plain(0, 1500), &mut Vec::new()).unwrap();
            }
            let mut dropped = Vec::new();
            assert!(queue.dequeue(MS * (1000 * second + 999), &mut dropped).is_some());
            assert_eq!((dropped.len(), queue.bytes()), (0, 1500));
        }
    }

    #[test]
    fn constants_that_contradict_each_other_are_refused() {
        let refusal = |target, interval, limit| {
            let config = CoDelConfig { target, interval, ..CoDelConfig::default() };
            CoDel::new(config, limit).unwrap_err().to_string()
        };
        let limit = QueueLimit::Packets(10);
        assert_eq!(refusal(MS, SimTime::ZERO, limit), "interval = 0 s: must be longer than 0 s");
        assert_eq!(refusal(MS * 2, MS, limit), "target = 0.002 s: must be at most the interval");
        let none = QueueLimit::Bytes(0);
        assert_eq!(refusal(MS, MS, none), "limit = 0 B: must be at least one packet");
    }

    /// Reference implementation: the pseudo-code of RFC 8289 section 5 in its own order, with times in milliseconds as
    /// real numbers.
    struct Reference {
        queue: VecDeque<(f64, Parcel)>,
        first_above_time: f64,
        drop_next: f64,
        count: f64,
        lastcount: f64,
        dropping: bool,
        dropped: Vec<u32>,
    }

    impl Reference {
        const TARGET: f64 = 5.0;
        const INTERVAL: f64 = 100.0;

        fn control_law(t: f64, count: f64) -> f64 {
            t + Self::INTERVAL / count.sqrt()
        }

        fn dodequeue(&mut self, now: f64) -> (Option<Parcel>, bool) {
            let mut ok_to_drop = false;
            let head = self.queue.pop_front();
            match head {
                None => self.first_above_time = 0.0,
                Some((tstamp, _)) => {
                    let bytes: u32 = self.queue.iter().map(|(_, packet)| packet.bytes()).sum();
                    if now - tstamp < Self::TARGET || bytes <= 1500 {
                        self.first_above_time = 0.0;
                    } else if self.first_above_time == 0.0 {
                        self.first_above_time = now + Self::INTERVAL;
                    } else if now >= self.first_above_time {
                        ok_to_drop = true;
                    }
                }
            }
            (head.map(|(_, packet)| packet), ok_to_drop)
        }

        fn deque(&mut self, now: f64) -> Option<u32> {
            let mut r = self.dodequeue(now);
            if self.dropping {
                if !r.1 {
                    self.dropping = false;
                }
                while now >= self.drop_next && self.dropping {
                    self.dropped.push(r.0.unwrap().id());
                    self.count += 1.0;
                    r = self.dodequeue(now);
                    if r.1 {
                        self.drop_next = Self::control_law(self.drop_next, self.count);
                    } else {
                        self.dropping = false;
                    }
                }
            } else if r.1 {
                self.dropped.push(r.0.unwrap().id());
                r = self.dodequeue(now);
                self.dropping = true;
                let delta = self.count - self.lastcount;
                self.count = 1.0;
                if delta > 1.0 && now - self.drop_next < 16.0 * Self::INTERVAL {
                    self.count = delta;
                }
                self.drop_next = Self::control_law(now, self.count);
                self.lastcount = self.count;
            }
            r.0.map(Parcel::id)
        }
    }

    proptest! {
        /// The queue drops the packets that the pseudo-code drops, through phases of overload, balance and underload in
        /// which the dropping state is often entered and left.
        #[test]
        fn does_what_the_pseudo_code_does(
            phases in prop::collection::vec((0_u32..4, 40_u32..1500, 1_u32..400), 1..12),
        ) {
            let mut queue = codel(false);
            let mut reference = Reference {
                queue: VecDeque::new(), first_above_time: 0.0, drop_next: 0.0, count: 0.0, lastcount: 0.0,
                dropping: false, dropped: Vec::new(),
            };
            let (mut id, mut millis) = (0, 1);
            for (arrivals_per_ms, bytes, length) in phases {
                for _ in 0..length {
                    let now = MS * millis;
                    for _ in 0..arrivals_per_ms {
                        queue.enqueue(now, plain(id, bytes), &mut Vec::new()).unwrap();
                        reference.queue.push_back((millis as f64, plain(id, bytes)));
                        id += 1;
                    }
                    let mut dropped = Vec::new();
                    let head = queue.dequeue(now, &mut dropped).map(|head| head.packet.id());
                    reference.dropped.clear();
                    prop_assert_eq!(head, reference.deque(millis as f64));
                    let dropped: Vec<u32> = dropped.iter().map(|waiting| waiting.packet.id()).collect();
                    prop_assert_eq!(&dropped, &reference.dropped, "at {} ms", millis);
                    millis += 1;
                }
            }
        }
    }
}
