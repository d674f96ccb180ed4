//! Packet numbers at the receiver, and the timing of its acknowledgements (RFC 9000 section 13.2).

use crate::config::QuicConfig;
use crate::segment::{AckFrame, SackBlock};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Unit of the ACK delay in an ACK frame, in ns: 2^3 microseconds (RFC 9000 section 18.2, `ack_delay_exponent`).
const DELAY_UNIT: u64 = 8_000;

#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    max_ack_delay: SimTime,
    ack_eliciting_threshold: u32,
    most_ranges: usize,
    counts_marks: bool,
    /// Ranges of packets that have arrived: disjoint, not adjacent, lowest first.
    ranges: VecDeque<SackBlock>,
    /// Packets below this number are forgotten: the receiver no longer knows whether they have arrived.
    floor: u64,
    /// Arrival time of the packet with the largest number.
    largest_at: SimTime,
    /// Number of packets not yet acknowledged.
    unanswered: u32,
    /// Time at which the delayed acknowledgement is due; `None` if none waits.
    deadline: Option<SimTime>,
    /// Number of packets that arrived with a CE mark.
    ce: u32,
}

impl Numbers {
    pub(crate) fn new(config: &QuicConfig) -> Self {
        Self {
            max_ack_delay: config.max_ack_delay,
            ack_eliciting_threshold: config.ack_eliciting_threshold,
            most_ranges: config.ack_ranges.max(1) as usize,
            counts_marks: config.ecn,
            ranges: VecDeque::new(),
            floor: 0,
            largest_at: SimTime::ZERO,
            unanswered: 0,
            deadline: None,
            ce: 0,
        }
    }

    /// Processes packet `number`, which arrived at `now`, with a CE mark if `ce`. Returns true if it must be
    /// acknowledged at once, and `None` if it has, or may have, arrived before: such packets are discarded (RFC 9000
    /// section 12.3).
    #[inline(never)]
    pub(crate) fn on_packet(&mut self, now: SimTime, number: u64, ce: bool) -> Option<bool> {
        let next = self.ranges.back().map_or(0, |range| range.end);
        if !self.insert(number) {
            return None;
        }
        if number >= next {
            self.largest_at = now;
        }
        self.ce = self.ce.wrapping_add(u32::from(ce && self.counts_marks));
        self.unanswered += 1;
        // Section 13.2.1: acknowledge at once if the packet is out of order or marked; otherwise at the threshold, or
        // after the delay.
        let at_once = number != next || ce || self.unanswered >= self.ack_eliciting_threshold;
        if !at_once && self.max_ack_delay > SimTime::ZERO {
            self.deadline.get_or_insert(now.saturating_add(self.max_ack_delay));
            return Some(false);
        }
        Some(true)
    }

    /// Adds packet `number` to the ranges; returns false if it was known, or is so old that its arrival is no longer
    /// remembered.
    fn insert(&mut self, number: u64) -> bool {
        if number < self.floor {
            return false;
        }
        let above = self.ranges.iter().rev().take_while(|range| range.start > number).count();
        let at = self.ranges.len() - above;
        let below = at.checked_sub(1).map(|below| self.ranges[below]);
        if below.is_some_and(|range| number < range.end) {
            return false;
        }
        let joins_below = below.is_some_and(|range| range.end == number);
        let joins_above = self.ranges.get(at).is_some_and(|range| range.start == number + 1);
        match (joins_below, joins_above) {
            (true, true) => {
                self.ranges[at - 1].end = self.ranges[at].end;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].end += 1,
            (false, true) => self.ranges[at].start = number,
            (false, false) => self.ranges.insert(at, SackBlock { start: number, end: number + 1 }),
        }
        if self.ranges.len() > self.most_ranges {
            self.floor = self.ranges.pop_front().map_or(0, |range| range.end);
        }
        true
    }

    pub(crate) fn shortest_delay(&self) -> Option<SimTime> {
        Some(self.max_ack_delay).filter(|delay| *delay > SimTime::ZERO)
    }

    pub(crate) fn deadline(&self) -> Option<SimTime> {
        self.deadline
    }

    /// Builds the ACK frame that is sent at `now`.
    #[inline(never)]
    pub(crate) fn take(&mut self, now: SimTime) -> AckFrame {
        (self.deadline, self.unanswered) = (None, 0);
        let delay = now.saturating_sub(self.largest_at).as_nanos() / DELAY_UNIT * DELAY_UNIT;
        let ranges = self.ranges.iter().rev().copied().collect();
        AckFrame { delay: SimTime::from_nanos(delay), ranges, ce: self.ce }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SenderConfig;
    use crate::config::QuicConfig;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const MS: SimTime = SimTime::from_millis(1);

    fn numbers(quic: QuicConfig) -> Numbers {
        Numbers::new(&QuicConfig { ecn: true, ..quic })
    }

    fn reported(numbers: &mut Numbers) -> Vec<(u64, u64)> {
        numbers.take(MS).ranges.iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn every_second_packet_is_acknowledged_or_after_the_delay() {
        let mut numbers = numbers(QuicConfig::new(64));
        assert_eq!(
            [0, 1, 2].map(|n| numbers.on_packet(MS * 10, n, false)),
            [Some(false), Some(true), Some(true)]
        );
        numbers.take(MS * 10);
        assert_eq!(numbers.on_packet(MS * 20, 3, false), Some(false));
        assert_eq!(numbers.deadline(), Some(MS * 45));
        let frame = numbers.take(MS * 45);
        assert_eq!((frame.delay, frame.largest()), (MS * 25, Some(3)));
        assert_eq!(numbers.deadline(), None);
        // The ACK delay is of the largest packet, in units of 8 us.
        numbers.on_packet(MS * 50, 5, false);
        numbers.on_packet(MS * 60, 4, false);
        assert_eq!(numbers.take(MS * 60 + SimTime::from_micros(13)).delay, SimTime::from_micros(10_008));
    }

    /// The first acknowledgement of packets in order leaves with the packet that `segments_per_ack` says.
    #[test]
    fn an_acknowledgement_answers_as_many_packets_as_its_configuration_says() {
        for ack_eliciting_threshold in [1, 2, 10] {
            let config = QuicConfig { ack_eliciting_threshold, ..QuicConfig::new(64) };
            let mut numbers = numbers(config);
            let answered = 1
                + (0..1000).take_while(|&number| numbers.on_packet(MS, number, false) == Some(false)).count();
            assert_eq!(answered, SenderConfig::from(config).segments_per_ack() as usize);
        }
    }

    #[test]
    fn a_gap_what_fills_it_and_a_mark_are_acknowledged_at_once() {
        let mut numbers = numbers(QuicConfig { ack_eliciting_threshold: 10, ..QuicConfig::new(64) });
        let mut at_once = |number, ce| {
            let at_once = numbers.on_packet(MS, number, ce);
            if at_once == Some(true) {
                numbers.take(MS);
            }
            at_once
        };
        assert_eq!(
            [at_once(0, false), at_once(2, false), at_once(3, false)],
            [Some(false), Some(true), Some(false)]
        );
        assert_eq!(
            [at_once(1, false), at_once(4, true), at_once(5, false)],
            [Some(true), Some(true), Some(false)]
        );
        assert_eq!([at_once(5, true), at_once(1, false)], [None, None], "twice");
        assert_eq!(numbers.take(MS).ce, 1);
    }

    #[test]
    fn the_latest_ranges_are_kept_and_what_lies_below_is_discarded() {
        let mut numbers = numbers(QuicConfig { ack_ranges: 2, ..QuicConfig::new(64) });
        assert_eq!(
            [0, 2, 4].map(|number| numbers.on_packet(MS, number, false)),
            [Some(false), Some(true), Some(true)]
        );
        assert_eq!(reported(&mut numbers), [(4, 5), (2, 3)]);
        assert_eq!([0, 1].map(|number| numbers.on_packet(MS, number, false)), [None, Some(true)]);
        assert_eq!(reported(&mut numbers), [(4, 5), (1, 3)]);
    }

    proptest! {
        /// The ranges equal a set of the arrived packet numbers, for arrivals in any order.
        #[test]
        fn ranges_hold_what_has_arrived(arrivals in prop::collection::vec(0u64..60, 0..200)) {
            let mut numbers = numbers(QuicConfig { ack_ranges: 1000, ..QuicConfig::new(64) });
            let mut seen = BTreeSet::new();
            for number in arrivals {
                prop_assert_eq!(numbers.on_packet(MS, number, false).is_some(), seen.insert(number));
                let ranges = reported(&mut numbers);
                prop_assert!(ranges.windows(2).all(|two| two[1].1 < two[0].0), "highest first, not adjacent");
                let all: BTreeSet<u64> = ranges.into_iter().flat_map(|(start, end)| start..end).collect();
                prop_assert_eq!(&all, &seen);
            }
        }
    }
}
