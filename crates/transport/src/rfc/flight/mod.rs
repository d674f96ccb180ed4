//! Unacknowledged segments of a connection: the scoreboard of RFC 6675 and the transmission times of RFC 8985.
//!
//! Every operation is amortised O(1) or O(log n) in the window. Blocks reported earlier are skipped by pointers to the
//! next unreported segment (union-find); losses to be retransmitted wait in a heap.

mod loss_detection;

use super::delivery::Deliveries;
use super::news::{Arrival, Evidence, News, duplicate};
use crate::segment::{SackBlock, SackBlocks};
use crossfade_core::SimTime;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// State of a segment as the sender believes it; brackets give the number of its copies in the pipe (RFC 6675 section
/// 4, `SetPipe`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The segment is in flight \[1\].
    InFlight,
    /// The segment is lost and not yet retransmitted \[0\].
    Lost,
    /// The segment is lost, and its retransmission is in flight \[1\].
    Repeated,
    /// The segment was retransmitted although perhaps not lost: both copies are in flight \[2\].
    Doubled,
    /// The segment has arrived beyond a hole \[0\].
    Sacked,
}

impl Fate {
    fn in_pipe(self) -> u64 {
        match self {
            Self::Lost | Self::Sacked => 0,
            Self::InFlight | Self::Repeated => 1,
            Self::Doubled => 2,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Record {
    fate: Fate,
    ever_repeated: bool,
    /// Time of the segment's last transmission.
    sent_at: SimTime,
    /// Number of the segment's last transmission among all transmissions of the connection.
    turn: u64,
    /// Next unreported segment, or a lower bound for it: all segments from this one up to it, exclusive, are `Sacked`.
    /// Equals this segment unless this segment is `Sacked`.
    next_unsacked: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    snd_una: u64,
    records: VecDeque<Record>,
    pipe: u64,
    sacked: u64,
    /// One past the highest segment reported by SACK.
    highest_sacked: u64,
    /// Every segment below this number was reported, or has `dupthresh` reported segments above it.
    lost_below: u64,
    /// Number of segments at or above `lost_below` that SACK has reported.
    sacked_above: u64,
    /// Lost segments to retransmit, lowest first; outdated entries are skipped.
    lost: BinaryHeap<Reverse<u64>>,
    lost_count: u64,
    /// Number of retransmissions among the `lost_count` lost transmissions.
    lost_repetitions: u64,
    /// Number of transmissions of the connection so far.
    turns: u64,
    /// Transmissions in the order of time, for RACK; outdated entries are skipped. `None` without RACK.
    by_time: Option<VecDeque<(SimTime, u64)>>,
    /// Buffer for transmissions that are examined again; empty between calls.
    pending: Vec<(SimTime, u64)>,
    /// Delivery accounting; `None` unless congestion control asks for samples.
    pub(super) deliveries: Option<Box<Deliveries>>,
}

impl Flight {
    /// Creates an empty flight; `keeps_times` keeps transmission times for RACK, `samples` keeps delivery accounting.
    pub(super) fn new(keeps_times: bool, samples: bool) -> Self {
        let deliveries = samples.then(Box::default);
        Self { by_time: keeps_times.then(VecDeque::new), deliveries, ..Self::default() }
    }

    pub(super) fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// One past the highest segment ever sent.
    pub(super) fn snd_max(&self) -> u64 {
        self.snd_una + self.records.len() as u64
    }

    /// RFC 5681's `FlightSize`: number of segments sent and not cumulatively acknowledged.
    pub(super) fn size(&self) -> u64 {
        self.records.len() as u64
    }

    /// RFC 6675's pipe: number of segments estimated to be in the network.
    pub(super) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Number of transmissions found lost since the start.
    pub(super) fn lost(&self) -> u64 {
        self.lost_count
    }

    /// Number of retransmissions found lost since the start.
    pub(super) fn lost_repetitions(&self) -> u64 {
        self.lost_repetitions
    }

    /// Time of the last transmission of the oldest unacknowledged segment.
    pub(super) fn oldest_sent_at(&self) -> Option<SimTime> {
        self.records.front().map(|record| record.sent_at)
    }

    /// Number of segments beyond `snd_una` that SACK has reported.
    pub(super) fn sacked(&self) -> u64 {
        self.sacked
    }

    fn record(&self, seq: u64) -> Option<&Record> {
        self.records.get(seq.checked_sub(self.snd_una)? as usize)
    }

    pub(super) fn fate(&self, seq: u64) -> Option<Fate> {
        self.record(seq).map(|record| record.fate)
    }

    /// True if segment `seq`, which is in flight, was sent more than once.
    pub(super) fn was_repeated(&self, seq: u64) -> bool {
        self.record(seq).is_some_and(|record| record.ever_repeated)
    }

    fn set_fate(&mut self, seq: u64, fate: Fate) {
        let record = &mut self.records[(seq - self.snd_una) as usize];
        self.pipe = self.pipe + fate.in_pipe() - record.fate.in_pipe();
        record.fate = fate;
    }

    /// Records a transmission of segment `seq` at `now`: the next one in order, or a retransmission.
    pub(super) fn on_sent(&mut self, seq: u64, now: SimTime) {
        self.turns += 1;
        let turn = self.turns;
        if seq == self.snd_max() {
            self.records.push_back(Record {
                fate: Fate::InFlight,
                ever_repeated: false,
                sent_at: now,
                turn,
                next_unsacked: seq,
            });
            self.pipe += 1;
        } else {
            let record = &mut self.records[(seq - self.snd_una) as usize];
            record.ever_repeated = true;
            (record.sent_at, record.turn) = (now, turn);
            match record.fate {
                Fate::InFlight => self.set_fate(seq, Fate::Doubled),
                Fate::Lost => self.set_fate(seq, Fate::Repeated),
                // The pipe counts no third copy, and arrived segments are not retransmitted.
                Fate::Repeated | Fate::Doubled | Fate::Sacked => {}
            }
        }
        if let Some(by_time) = &mut self.by_time {
            by_time.push_back((now, seq));
        }
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.on_sent((seq - self.snd_una) as usize, now, self.pipe);
        }
    }

    /// Applies an acknowledgement, which may not exceed `snd_max`; returns the information that is new in it.
    pub(super) fn on_ack(&mut self, next_expected: u64, sack: &SackBlocks, evidence: &Evidence) -> News {
        let mut news = News { duplicate: duplicate(next_expected, sack), ..News::default() };
        while self.snd_una < next_expected {
            let Some(record) = self.records.pop_front() else { break };
            let seq = self.snd_una;
            self.snd_una += 1;
            news.acked += 1;
            self.pipe -= record.fate.in_pipe();
            news.repetition_acked |= record.ever_repeated;
            if record.fate == Fate::Sacked {
                self.sacked -= 1;
                self.sacked_above -= u64::from(seq >= self.lost_below);
            } else {
                news.add(
                    Arrival { seq, sent_at: record.sent_at, turn: record.turn },
                    record.ever_repeated,
                    evidence,
                );
            }
            if let Some(deliveries) = &mut self.deliveries {
                if record.fate != Fate::Sacked {
                    deliveries.on_arrival(0, seq, record.ever_repeated);
                }
                deliveries.pop();
            }
        }
        self.lost_below = self.lost_below.max(self.snd_una);
        for block in sack.as_slice().iter().skip(usize::from(news.duplicate.is_some())) {
            self.on_block(*block, &mut news, evidence);
        }
        self.forget_old_times();
        news
    }

    fn on_block(&mut self, block: SackBlock, news: &mut News, evidence: &Evidence) {
        let end = block.end.min(self.snd_max());
        let mut seq = self.next_unsacked(block.start.max(self.snd_una));
        while seq < end {
            news.sacked += 1;
            let record = self.records[(seq - self.snd_una) as usize];
            news.add(
                Arrival { seq, sent_at: record.sent_at, turn: record.turn },
                record.ever_repeated,
                evidence,
            );
            if let Some(deliveries) = &mut self.deliveries {
                deliveries.on_arrival((seq - self.snd_una) as usize, seq, record.ever_repeated);
            }
            self.set_fate(seq, Fate::Sacked);
            self.records[(seq - self.snd_una) as usize].next_unsacked = seq + 1;
            self.sacked += 1;
            self.sacked_above += u64::from(seq >= self.lost_below);
            seq = self.next_unsacked(seq + 1);
        }
        self.highest_sacked = self.highest_sacked.max(end);
    }

    /// Lowest segment from `seq` on that SACK has not reported.
    fn next_unsacked(&mut self, seq: u64) -> u64 {
        let mut at = seq;
        while let Some(next) = self.record(at).map(|record| record.next_unsacked).filter(|next| *next != at) {
            // Path halving keeps later searches short.
            let beyond = self.record(next).map_or(next, |record| record.next_unsacked);
            self.records[(at - self.snd_una) as usize].next_unsacked = beyond;
            at = beyond;
        }
        at
    }

    /// Sorts all transmissions in flight by time, since some were left out of the order.
    fn sort_times(&mut self) {
        let Some(by_time) = &mut self.by_time else { return };
        by_time.clear();
        let (snd_una, records) = (self.snd_una, &self.records);
        by_time.extend(records.iter().zip(snd_una..).map(|(record, seq)| (record.sent_at, seq)));
        by_time.make_contiguous().sort_unstable_by_key(|(_, seq)| records[(seq - snd_una) as usize].turn);
    }

    /// Clears all SACK reports after a timeout (RFC 2018 section 8).
    pub(super) fn forget_sacked(&mut self) {
        for (record, seq) in self.records.iter_mut().zip(self.snd_una..) {
            record.next_unsacked = seq;
            if record.fate == Fate::Sacked {
                record.fate = Fate::InFlight;
                self.pipe += 1;
            }
        }
        (self.sacked, self.sacked_above) = (0, 0);
        (self.highest_sacked, self.lost_below) = (self.snd_una, self.snd_una);
        self.sort_times();
    }

    /// Lowest unreported segment from `from` on that has reported segments above it (RFC 6675 section 4, `NextSeg` rule
    /// 3).
    pub(super) fn next_hole(&mut self, from: u64) -> Option<u64> {
        let seq = self.next_unsacked(from.max(self.snd_una));
        (seq < self.highest_sacked).then_some(seq)
    }

    /// Highest segment that SACK has not reported.
    pub(super) fn highest_unsacked(&self) -> Option<u64> {
        let at = self.records.iter().rposition(|record| record.fate != Fate::Sacked)?;
        Some(self.snd_una + at as u64)
    }

    /// Removes outdated transmissions from the front of the order by time.
    fn forget_old_times(&mut self) {
        let Some(by_time) = &mut self.by_time else { return };
        while let Some(&(sent_at, seq)) = by_time.front() {
            let record = seq.checked_sub(self.snd_una).and_then(|at| self.records.get(at as usize));
            let matters = record.is_some_and(|record| {
                record.sent_at == sent_at && !matches!(record.fate, Fate::Sacked | Fate::Lost)
            });
            if matters {
                break;
            }
            by_time.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fate::{InFlight, Lost, Repeated, Sacked};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const NOW: SimTime = SimTime::ZERO;

    fn blocks(ranges: &[(u64, u64)]) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        for &(start, end) in ranges {
            blocks.push(SackBlock { start, end });
        }
        blocks
    }

    pub(super) fn sent(segments: u64) -> Flight {
        let mut flight = Flight::new(true, false);
        (0..segments).for_each(|seq| flight.on_sent(seq, SimTime::from_nanos(seq)));
        flight
    }

    pub(super) fn ack(flight: &mut Flight, next_expected: u64, ranges: &[(u64, u64)]) -> News {
        flight.on_ack(next_expected, &blocks(ranges), &Evidence { wants_times: true, ..Evidence::default() })
    }

    #[test]
    fn the_pipe_is_that_of_rfc_6675() {
        let mut flight = sent(10);
        ack(&mut flight, 1, &[(3, 4), (5, 7)]);
        assert_eq!((flight.size(), flight.sacked(), flight.pipe()), (9, 3, 6));
        flight.mark_lost_by_dupthresh(3);
        // Three segments above 1 and 2 are reported, two above 4.
        assert_eq!((flight.fate(2), flight.fate(4)), (Some(Lost), Some(InFlight)));
        assert_eq!(flight.pipe(), 4);
        assert_eq!(flight.next_lost(), Some(1));
        flight.on_sent(1, NOW);
        assert_eq!((flight.next_lost(), flight.pipe()), (Some(2), 5));
        // A retransmission of a segment not known to be lost counts beside the original, until that is lost.
        flight.on_sent(4, NOW);
        assert_eq!(flight.pipe(), 6);
        ack(&mut flight, 1, &[(7, 8)]);
        flight.mark_lost_by_dupthresh(3);
        assert_eq!((flight.fate(4), flight.pipe()), (Some(Repeated), 4));
    }

    #[test]
    fn duplicates_are_told_from_blocks() {
        let mut flight = sent(10);
        assert_eq!(ack(&mut flight, 3, &[(5, 6)]).duplicate, None);
        // RFC 2883 section 4: below the acknowledgement; inside the second block.
        assert_eq!(ack(&mut flight, 3, &[(1, 2), (5, 6)]).duplicate, Some(SackBlock { start: 1, end: 2 }));
        assert_eq!(ack(&mut flight, 3, &[(5, 6), (5, 7)]).duplicate, Some(SackBlock { start: 5, end: 6 }));
    }

    #[derive(Clone, Debug)]
    enum Op {
        Send(u64),
        Repeat,
        Ack(u64, Vec<(u64, u64)>),
        Timeout,
        Forget,
        Unmark,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            2 => (1u64..8).prop_map(Op::Send),
            2 => Just(Op::Repeat),
            4 => (0u64..5, prop::collection::vec((0u64..40, 1u64..5), 0..3)).prop_map(|(ack, sack)| Op::Ack(ack, sack)),
            1 => Just(Op::Timeout),
            1 => Just(Op::Forget),
            1 => Just(Op::Unmark),
        ]
    }

    proptest! {
        /// After any operations, counters and pointers agree with a set of reported segments and a scan of all
        /// segments.
        #[test]
        fn the_scoreboard_is_a_set(ops in prop::collection::vec(op(), 0..60), dupthresh in 1u64..5) {
            let mut flight = Flight::new(true, false);
            let mut sacked = BTreeSet::new();
            let mut clock = 0;
            for op in ops {
                clock += 1;
                let now = SimTime::from_nanos(clock);
                match op {
                    Op::Send(segments) => (0..segments).for_each(|_| flight.on_sent(flight.snd_max(), now)),
                    Op::Repeat => {
                        if let Some(seq) = flight.next_lost() {
                            flight.on_sent(seq, now);
                        }
                    }
                    Op::Ack(acked, ranges) => {
                        let next = (flight.snd_una() + acked).min(flight.snd_max());
                        let ranges: Vec<_> = ranges.iter().map(|(start, len)| (next + 1 + start, next + 1 + start + len))
                            .filter(|(_, end)| *end <= flight.snd_max()).collect();
                        let news = ack(&mut flight, next, &ranges);
                        let is_duplicate = |i: usize| i == 0 && news.duplicate.is_some();
                        sacked.retain(|seq| *seq >= next);
                        let kept = sacked.len() as u64;
                        for (i, (start, end)) in ranges.iter().enumerate() {
                            if !is_duplicate(i) {
                                sacked.extend(*start..*end);
                            }
                        }
                        prop_assert_eq!(news.sacked, sacked.len() as u64 - kept);
                        flight.mark_lost_by_dupthresh(dupthresh);
                        for seq in flight.snd_una()..flight.snd_max() {
                            let above = sacked.range(seq + 1..).count() as u64;
                            if above >= dupthresh && !sacked.contains(&seq) {
                                prop_assert!(matches!(flight.fate(seq), Some(Lost | Repeated)));
                            }
                        }
                    }
                    Op::Timeout => flight.mark_all_lost(),
                    Op::Forget => {
                        flight.forget_sacked();
                        sacked.clear();
                    }
                    Op::Unmark => flight.unmark_lost(),
                }
                let fates: Vec<_> = (flight.snd_una()..flight.snd_max()).map(|seq| flight.fate(seq).unwrap()).collect();
                prop_assert_eq!(flight.pipe(), fates.iter().map(|fate| fate.in_pipe()).sum::<u64>());
                prop_assert_eq!(flight.sacked(), sacked.len() as u64);
                let reported: BTreeSet<u64> = (flight.snd_una()..).zip(&fates)
                    .filter(|(_, fate)| **fate == Sacked).map(|(seq, _)| seq).collect();
                prop_assert_eq!(&reported, &sacked);
                let lowest_lost = fates.iter().position(|fate| *fate == Lost);
                prop_assert_eq!(flight.next_lost(), lowest_lost.map(|at| flight.snd_una() + at as u64));
                let hole = (flight.snd_una()..sacked.last().copied().unwrap_or(0)).find(|seq| !sacked.contains(seq));
                prop_assert_eq!(flight.next_hole(0), hole);
            }
        }
    }
}
