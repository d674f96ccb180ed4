//! Aggregation before a link: packets wait and are released together, as by a station that waits for its transmission
//! opportunity.

use crate::decorated::Decorator;
use crate::link::{Departure, Link, Push};
use crate::parcel::Parcel;
use crate::report::LinkReport;
use crossfade_core::SimTime;
use std::collections::{BTreeMap, VecDeque};

/// Configuration of the aggregation of packets before a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregationConfig {
    /// Time between releases, above zero; releases fall on multiples of it from time zero.
    pub period: SimTime,
    /// Thinning of ACKs: of a flow's packets that are released together, one in `thinning` goes on, counted back from
    /// the newest; at least 1, which keeps all.
    pub thinning: u32,
}

/// Decorator of a link that holds packets and releases them together, like the ACKs of a Wi-Fi station or a cable modem
/// that has to request each transmission. ACKs may be filtered (RFC 3449 section 5.2.1): the newest ACK of a flow
/// contains the information of earlier ones, except for SACK blocks and the number of duplicates.
///
/// A filtered packet counts as a drop of the queue. The wait for the release precedes the link's queue and is not part
/// of its statistics.
pub struct Aggregator {
    config: AggregationConfig,
    /// Packets that wait for the next release.
    held: Vec<Parcel>,
    /// Time of the next release; [`SimTime::MAX`] if no packet waits.
    release: SimTime,
    /// Packets that a release has filtered, or the link has refused, and that `advance` has not returned yet.
    gone: VecDeque<Departure>,
    filtered: u64,
    /// Number of packets of each flow seen during a release, from the newest on; empty between releases.
    seen: BTreeMap<u32, u32>,
}

impl Aggregator {
    /// Creates an aggregator that holds no packets.
    ///
    /// # Panics
    /// If the period or the thinning is zero.
    pub fn new(config: AggregationConfig) -> Self {
        assert!(config.period > SimTime::ZERO && config.thinning > 0, "{config:?}");
        Self {
            config,
            held: Vec::new(),
            release: SimTime::MAX,
            gone: VecDeque::new(),
            filtered: 0,
            seen: BTreeMap::new(),
        }
    }

    fn let_go(&mut self, link: &mut impl Link) {
        let Self { config, held, release, gone, filtered, seen } = self;
        let now = std::mem::replace(release, SimTime::MAX);
        let mut goes = vec![true; held.len()];
        for (parcel, goes) in held.iter().zip(&mut goes).rev() {
            let newer = seen.entry(parcel.flow()).or_default();
            *goes = parcel.is_spared() || newer.is_multiple_of(config.thinning);
            *newer += 1;
        }
        seen.clear();
        for (parcel, goes) in held.drain(..).zip(goes) {
            if !goes {
                *filtered += 1;
                gone.push_back(Departure::QueueDrop(parcel));
                continue;
            }
            match link.push(now, parcel) {
                Push::Accepted => {}
                Push::Lost => gone.push_back(Departure::Lost(parcel)),
                Push::QueueDrop => gone.push_back(Departure::QueueDrop(parcel)),
            }
        }
    }
}

impl Decorator for Aggregator {
    fn push(&mut self, link: &mut impl Link, now: SimTime, parcel: Parcel) -> Push {
        let period = self.config.period.as_nanos();
        let release = self.config.period * now.as_nanos().div_ceil(period);
        if self.release < release {
            self.let_go(link);
        }
        self.release = release;
        self.held.push(parcel);
        Push::Accepted
    }

    fn next_event(&self, link: &impl Link) -> Option<SimTime> {
        let next = self.release.min(link.next_event().unwrap_or(SimTime::MAX));
        (next < SimTime::MAX).then_some(next)
    }

    fn advance(&mut self, link: &mut impl Link, now: SimTime) -> Option<Departure> {
        loop {
            if let Some(departure) = self.gone.pop_front() {
                return Some(departure);
            }
            // Packets that leave the link at the time of a release leave before it.
            if let Some(departure) = link.advance(now.min(self.release)) {
                return Some(departure);
            }
            if self.release > now {
                return None;
            }
            self.let_go(link);
        }
    }

    fn report(&mut self, link: &mut impl Link, now: SimTime) -> LinkReport {
        let mut report = link.report(now);
        report.statistics.queue_drops += self.filtered;
        report.unsent.extend(&self.held);
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decorated::Decorated;
    use crate::hop::{Hop, HopConfig};
    use crate::limit::QueueLimit;
    use crate::testing::{EveryThird, plain};
    use crossfade_channel::{LossProcess, Lossless};
    use proptest::prelude::*;

    const MS: SimTime = SimTime::from_millis(1);

    /// Link on which 1000 bytes take 1 ms to send, behind an aggregator.
    fn aggregated(
        period: u64,
        thinning: u32,
        queue: Option<usize>,
        loss: Box<dyn LossProcess>,
    ) -> Decorated<Hop, Aggregator> {
        let queue_limit = queue.map(QueueLimit::Packets);
        let hop = Hop::new(HopConfig { rate_bps: Some(8e6), delay: MS * 5, queue_limit, loss });
        Aggregator::new(AggregationConfig { period: MS * period, thinning }).around(hop)
    }

    fn all(link: &mut impl Link) -> Vec<(u64, Departure)> {
        let mut left = Vec::new();
        while let Some(at) = link.next_event() {
            while let Some(departure) = link.advance(at) {
                left.push((at / MS, departure));
            }
        }
        left
    }

    #[test]
    fn packets_wait_for_the_next_multiple_of_the_period() {
        let mut link = aggregated(20, 1, None, Box::new(Lossless));
        let mut left = Vec::new();
        for (id, at) in [(0, 3), (1, 19), (2, 20), (3, 21)] {
            while let Some(departure) = link.advance(MS * at) {
                left.push((at, departure));
            }
            assert_eq!(link.push(MS * at, plain(id, 1000)), Push::Accepted);
        }
        left.extend(all(&mut link));
        let arrived = |at, id| (at, Departure::Arrived(plain(id, 1000)));
        assert_eq!(left, [arrived(26, 0), arrived(27, 1), arrived(28, 2), arrived(46, 3)]);
        let counts = link.report(MS * 100).statistics;
        assert_eq!((counts.transmissions, counts.arrivals, counts.queue_drops), (4, 4, 0));
    }

    #[test]
    fn of_each_flow_the_newest_goes_on_and_every_so_many_before_it() {
        let mut link = aggregated(20, 3, None, Box::new(Lossless));
        for id in 0..9 {
            // Flow 1 has ids 2 and 6 alone.
            let flow = u32::from(id % 4 == 2);
            link.push(MS, Parcel::new(id, flow, 1000));
        }
        let (arrived, filtered): (Vec<_>, Vec<_>) =
            all(&mut link).into_iter().partition(|(_, departure)| matches!(departure, Departure::Arrived(_)));
        let ids = |of: Vec<(u64, Departure)>| of.iter().map(|(_, it)| it.parcel().id()).collect::<Vec<_>>();
        // Flow 0: 0 1 3 4 5 7 8, of which 8, 4 and 0.
        assert_eq!((ids(arrived), ids(filtered)), (vec![0, 4, 6, 8], vec![1, 2, 3, 5, 7]));
        assert_eq!(link.report(MS * 100).statistics.queue_drops, 5);
    }

    #[test]
    fn a_release_meets_the_queue_and_the_losses_of_the_link() {
        let mut link = aggregated(10, 1, Some(2), Box::new(EveryThird(Vec::new())));
        for id in 0..5 {
            link.push(MS, plain(id, 1000));
        }
        let parcel = |id| plain(id, 1000);
        let expected = [
            (10, Departure::QueueDrop(parcel(3))),
            (10, Departure::QueueDrop(parcel(4))),
            (11, Departure::Lost(parcel(0))),
            (17, Departure::Arrived(parcel(1))),
            (18, Departure::Arrived(parcel(2))),
        ];
        assert_eq!(all(&mut link), expected);
    }

    proptest! {
        /// Every packet leaves exactly once, arrived or filtered, even if the aggregator is polled late.
        #[test]
        fn nothing_is_lost_or_invented(
            gaps in prop::collection::vec(0_u64..30, 1..60), period in 1_u64..40, thinning in 1_u32..5, late in 0_u64..50,
        ) {
            let mut link = aggregated(period, thinning, None, Box::new(Lossless));
            let (mut now, mut left) = (SimTime::ZERO, 0);
            for (id, gap) in gaps.iter().enumerate() {
                now += MS * *gap;
                while link.advance(now).is_some() {
                    left += 1;
                }
                prop_assert_eq!(link.push(now, plain(id as u32, 1000)), Push::Accepted);
                prop_assert!(link.next_event().unwrap() >= now);
            }
            while let Some(at) = link.next_event() {
                while link.advance(at + MS * late).is_some() {
                    left += 1;
                }
            }
            prop_assert_eq!(left, gaps.len());
            let counts = link.report(now).statistics;
            prop_assert_eq!(counts.arrivals + counts.queue_drops, gaps.len() as u64);
            prop_assert!(counts.arrivals * u64::from(thinning) >= gaps.len() as u64);
        }
    }
}
