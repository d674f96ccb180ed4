//! Receiving end of a connection: reorders segments and acknowledges them, at once or after a delay.

use crate::config::{Flavour, SenderConfig, TcpConfig, Variant};
use crate::quic::Numbers;
use crate::rfc::{Answers, Options, Place};
use crate::segment::{Ack, AckFrame, SackBlock, SackBlocks, Segment};
use crossfade_core::SimTime;

/// Number of SACK blocks for which an acknowledgement is expected to have room in Linux (`TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS_EXPECTED: usize = 2;

/// Result of processing a received segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Acknowledgement to send now; `None` if it is delayed.
    pub ack: Option<Ack>,
    /// True if the segment arrived for the first time.
    pub is_new: bool,
    /// Number of segments that became readable, in order, for the application.
    pub delivered: u64,
}

/// Receiver of TCP, or of QUIC's one stream, with an unbounded resequencing buffer: the advertised window bounds the
/// segments that can arrive.
#[derive(Clone, Debug)]
pub struct Receiver {
    buffer: Buffer,
    /// Acknowledgement rules of flavour `rfc` and QUIC; `None` for the other flavours, which acknowledge every segment
    /// at once.
    answers: Option<Box<Manners>>,
}

/// Resequencing buffer: the segments received so far.
#[derive(Clone, Debug)]
struct Buffer {
    rcv_nxt: u64,
    /// Blocks of segments beyond `rcv_nxt`: disjoint, not adjacent, most recently changed first (RFC 2018 section 4).
    held: Vec<SackBlock>,
    sends_sack: bool,
}

/// Rules for the time and content of acknowledgements.
#[expect(clippy::large_enum_variant, reason = "boxed as a whole")]
#[derive(Clone, Debug)]
enum Manners {
    /// Rules of TCP in flavour `rfc`.
    Rfc(Answers),
    /// Rules of QUIC, which acknowledges packets instead of segments.
    Quic(Numbers),
}

impl Receiver {
    /// Creates a receiver that has received nothing yet. Only flavour `rfc` and QUIC delay acknowledgements and report
    /// congestion marks; flavour `rfc` also echoes timestamps and reports duplicates.
    pub fn new(config: impl Into<SenderConfig>) -> Self {
        let (sends_sack, answers) = match &config.into() {
            SenderConfig::Quic(quic) => (false, Some(Manners::Quic(Numbers::new(quic)))),
            SenderConfig::Tcp(TcpConfig { flavour, variant, w_max, rfc, .. }) => {
                let sends_sack = *variant == Variant::Sack;
                let answers =
                    (*flavour == Flavour::Rfc).then(|| Manners::Rfc(Answers::new(rfc, *w_max, sends_sack)));
                (sends_sack, answers)
            }
        };
        Self { buffer: Buffer { rcv_nxt: 0, held: Vec::new(), sends_sack }, answers: answers.map(Box::new) }
    }

    /// Number of the next segment in order, the lowest that has not arrived.
    pub fn rcv_nxt(&self) -> u64 {
        self.buffer.rcv_nxt
    }

    /// Processes a segment that arrived at `now`, with a congestion mark if `ce` (RFC 3168 section 5).
    #[expect(
        clippy::inline_always,
        reason = "its answer need not pass through memory; measured: 5 % of a simulation"
    )]
    #[inline(always)]
    pub fn on_segment(&mut self, now: SimTime, segment: &Segment, ce: bool) -> Received {
        let Self { buffer, answers } = self;
        match answers.as_deref_mut() {
            None => {
                let (is_new, delivered) = buffer.place(segment.seq);
                Received { ack: Some(buffer.ack(now, Options::default(), None)), is_new, delivered }
            }
            Some(Manners::Rfc(answers)) => {
                let had_holes = buffer.has_holes();
                let before = if had_holes { buffer.ack_before(now, segment.seq, answers) } else { None };
                let (is_new, delivered) = buffer.place(segment.seq);
                let (in_order, has_holes) = (delivered == 1 && !had_holes, buffer.has_holes());
                let place = Place { is_new, in_order, has_holes, rcv_nxt: buffer.rcv_nxt };
                if answers.on_segment(now, segment, ce, &place) {
                    return Received { ack: before, is_new, delivered };
                }
                let options = answers.take(buffer.rcv_nxt, buffer.held.len());
                Received { ack: Some(buffer.ack(now, options, None)), is_new, delivered }
            }
            Some(Manners::Quic(numbers)) => {
                let Some(at_once) = numbers.on_packet(now, segment.number, ce) else {
                    return Received { ack: None, is_new: false, delivered: 0 };
                };
                let (is_new, delivered) = buffer.place(segment.seq);
                if !at_once {
                    return Received { ack: None, is_new, delivered };
                }
                let frame = Some(Box::new(numbers.take(now)));
                Received { ack: Some(buffer.ack(now, Options::default(), frame)), is_new, delivered }
            }
        }
    }

    /// Time at which [`Self::on_timeout`] must be called, unless a segment arrives earlier; `None` if no
    /// acknowledgement is delayed.
    pub fn next_timeout(&self) -> Option<SimTime> {
        match self.answers.as_deref()? {
            Manners::Rfc(answers) => answers.deadline(),
            Manners::Quic(numbers) => numbers.deadline(),
        }
    }

    /// Shortest time for which this receiver delays an acknowledgement; `None` if it delays none.
    pub fn shortest_delay(&self) -> Option<SimTime> {
        match self.answers.as_deref()? {
            Manners::Rfc(answers) => answers.shortest_delay(),
            Manners::Quic(numbers) => numbers.shortest_delay(),
        }
    }

    /// Returns the delayed acknowledgement if it is due at `now`.
    pub fn on_timeout(&mut self, now: SimTime) -> Option<Ack> {
        self.next_timeout().filter(|deadline| *deadline <= now)?;
        let buffer = &self.buffer;
        Some(match self.answers.as_deref_mut()? {
            Manners::Rfc(answers) => buffer.ack(now, answers.take(buffer.rcv_nxt, buffer.held.len()), None),
            Manners::Quic(numbers) => buffer.ack(now, Options::default(), Some(Box::new(numbers.take(now)))),
        })
    }
}

impl Buffer {
    fn has_holes(&self) -> bool {
        !self.held.is_empty()
    }

    /// Sends compressed SACK reports before a segment beyond a hole that touches neither of the last two blocks: an
    /// acknowledgement has room for few blocks, and unreported segments would be considered lost
    /// (`tcp_sack_new_ofo_skb`).
    #[inline(never)]
    fn ack_before(&self, now: SimTime, seq: u64, answers: &mut Answers) -> Option<Ack> {
        if !answers.compresses() || seq <= self.rcv_nxt {
            return None;
        }
        let touches = |block: &SackBlock| block.start <= seq + 1 && seq <= block.end;
        let at = self.held.iter().position(touches).unwrap_or(self.held.len());
        let is_there = self.held.get(at).is_some_and(|block| (block.start..block.end).contains(&seq));
        let hides = at >= BLOCKS_EXPECTED && !is_there;
        hides.then(|| self.ack(now, answers.take(self.rcv_nxt, self.held.len()), None))
    }

    /// Stores segment `seq`. Returns true if it is new, and the number of segments that became readable.
    #[inline]
    fn place(&mut self, seq: u64) -> (bool, u64) {
        if seq != self.rcv_nxt || !self.held.is_empty() {
            return self.place_among_holes(seq);
        }
        self.rcv_nxt += 1;
        (true, 1)
    }

    #[inline(never)]
    fn place_among_holes(&mut self, seq: u64) -> (bool, u64) {
        if seq != self.rcv_nxt {
            return (seq > self.rcv_nxt && self.hold(seq), 0);
        }
        self.rcv_nxt += 1;
        self.release();
        (true, self.rcv_nxt - seq)
    }

    /// Advances `rcv_nxt` over the block of held segments that it has reached.
    fn release(&mut self) {
        if let Some(at) = self.held.iter().position(|block| block.start == self.rcv_nxt) {
            self.rcv_nxt = self.held.remove(at).end;
        }
    }

    /// Adds `seq` to the held blocks; returns false if it was there already.
    fn hold(&mut self, seq: u64) -> bool {
        let mut block = SackBlock { start: seq, end: seq + 1 };
        let mut is_new = true;
        self.held.retain(|other| {
            if other.end < block.start || block.end < other.start {
                return true;
            }
            is_new &= !(other.start..other.end).contains(&seq);
            block = SackBlock { start: block.start.min(other.start), end: block.end.max(other.end) };
            false
        });
        self.held.insert(0, block);
        is_new
    }

    #[inline]
    fn ack(&self, now: SimTime, options: Options, frame: Option<Box<AckFrame>>) -> Ack {
        let Options { duplicate, timestamp_echo, ece, window, accurate } = options;
        let mut sack = SackBlocks::default();
        // RFC 2883 section 4: report the duplicate first, then the block that contains it, if any.
        if let Some(block) = duplicate {
            sack.push(block);
        }
        if self.sends_sack {
            self.held.iter().take(SackBlocks::MAX).for_each(|&block| sack.push(block));
        }
        Ack {
            next_expected: self.rcv_nxt,
            sack,
            timestamp: now,
            timestamp_echo,
            ece,
            window,
            accurate,
            frame,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RfcConfig;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const NOW: SimTime = SimTime::ZERO;

    fn config(flavour: Flavour) -> TcpConfig {
        TcpConfig {
            rfc: RfcConfig { ecn: true, ..RfcConfig::default() },
            ..TcpConfig::new(flavour, Variant::Sack, 64)
        }
    }

    fn at_once() -> Receiver {
        Receiver::new(config(Flavour::Ns2))
    }

    fn segment(seq: u64) -> Segment {
        Segment { seq, ..Segment::default() }
    }

    fn blocks(ack: &Ack) -> Vec<(u64, u64)> {
        ack.sack.as_slice().iter().map(|block| (block.start, block.end)).collect()
    }

    /// Returns the SACK blocks of the acknowledgement that segment `seq` triggers at once.
    fn blocks_after(receiver: &mut Receiver, seq: u64) -> Vec<(u64, u64)> {
        blocks(&receiver.on_segment(NOW, &segment(seq), false).ack.expect("not held back"))
    }

    #[test]
    fn blocks_are_reported_most_recent_first() {
        let mut receiver = at_once();
        assert_eq!(blocks_after(&mut receiver, 0), []);
        assert_eq!(blocks_after(&mut receiver, 2), [(2, 3)]);
        assert_eq!(blocks_after(&mut receiver, 6), [(6, 7), (2, 3)]);
        assert_eq!(blocks_after(&mut receiver, 4), [(4, 5), (6, 7), (2, 3)]);
        assert_eq!(blocks_after(&mut receiver, 8), [(8, 9), (4, 5), (6, 7)]);
        // Segment 5 joins two blocks, and the result becomes the most recent.
        assert_eq!(blocks_after(&mut receiver, 5), [(4, 7), (8, 9), (2, 3)]);
        let filled = receiver.on_segment(NOW, &segment(1), false);
        assert_eq!((filled.ack.unwrap().next_expected, filled.delivered), (3, 2));
    }

    #[test]
    fn every_second_segment_is_acknowledged_or_after_the_delay() {
        let ms = SimTime::from_millis;
        let mut receiver = Receiver::new(config(Flavour::Rfc));
        let sent = |seq, at| Segment { seq, timestamp: ms(at), ..Segment::default() };
        assert_eq!(receiver.on_segment(ms(10), &sent(0, 1), false).ack, None);
        let ack = receiver.on_segment(ms(20), &sent(1, 2), false).ack.unwrap();
        // RFC 7323 section 4.3: echo the timestamp of the older of the two segments.
        assert_eq!((ack.next_expected, ack.timestamp_echo), (2, Some(ms(1))));
        assert_eq!(receiver.next_timeout(), None);
        assert_eq!(receiver.on_segment(ms(30), &sent(2, 3), false).ack, None);
        assert_eq!(receiver.next_timeout(), Some(ms(230)));
        assert_eq!(receiver.on_timeout(ms(229)), None);
        let ack = receiver.on_timeout(ms(230)).unwrap();
        assert_eq!((ack.next_expected, ack.timestamp_echo), (3, Some(ms(3))));
        assert_eq!(receiver.next_timeout(), None);
    }

    /// In profile `linux` the first 16 acknowledgements leave at once, and six more while the window grows. Later the
    /// ends of bursts are acknowledged at once, and from the fourth segment beyond a hole on reports are compressed.
    #[test]
    fn linux_acknowledges_the_start_and_the_ends_of_bursts_at_once() {
        let ms = SimTime::from_millis;
        let linux = TcpConfig { rfc: RfcConfig::linux(), ..config(Flavour::Rfc) };
        let mut receiver = Receiver::new(linux);
        let mut at_once = |seq, push| {
            receiver.on_segment(ms(10), &Segment { seq, push, ..segment(0) }, false).ack.is_some()
        };
        assert!((0..22).all(|seq| at_once(seq, false)));
        assert!(!at_once(22, false) && at_once(23, false), "every second one");
        assert!(at_once(24, true) && !at_once(25, false), "the end of a burst");
        // 26 is missing: the first report leaves with the delayed ACK, three more show the loss.
        assert!((27..30).all(|seq| at_once(seq, false)) && !at_once(30, false) && !at_once(31, false));
        assert_eq!(receiver.next_timeout(), Some(ms(11)));
        assert_eq!(blocks(&receiver.on_timeout(ms(11)).unwrap()), [(27, 32)]);
    }

    /// Every SACK report is sent in some acknowledgement, although with many holes the next one has no room for it. A
    /// report waits if its segment extends one of the last two blocks, and leaves at once if the segment starts or
    /// extends another.
    #[test]
    fn reports_that_wait_leave_before_one_that_hides_them() {
        let ms = SimTime::from_millis;
        let linux = TcpConfig { rfc: RfcConfig::linux(), ..config(Flavour::Rfc) };
        let mut receiver = Receiver::new(linux);
        (0..26).for_each(|seq| drop(receiver.on_segment(ms(9), &segment(seq), false)));
        (27..30).for_each(|seq| drop(receiver.on_segment(ms(10), &segment(seq), false)));
        let mut told = |seq| receiver.on_segment(ms(10), &segment(seq), false).ack.map(|ack| blocks(&ack));
        assert_eq!([30, 33].map(&mut told), [None, None], "one block, and a second");
        assert_eq!(told(36), Some(vec![(33, 34), (27, 31)]), "as it was before the third");
        assert_eq!([37, 34].map(&mut told), [None, None]);
        assert_eq!(told(31), Some(vec![(33, 35), (36, 38), (27, 31)]));
        assert_eq!(told(40), Some(vec![(27, 32), (33, 35), (36, 38)]));
        assert_eq!(
            told(40),
            Some(vec![(40, 41), (40, 41), (27, 32)]),
            "a duplicate is told at once, and alone"
        );
    }

    #[test]
    fn holes_and_what_fills_them_are_acknowledged_at_once() {
        let mut receiver = Receiver::new(config(Flavour::Rfc));
        let ms = SimTime::from_millis;
        let sent = |seq, at| Segment { seq, timestamp: ms(at), ..Segment::default() };
        assert_eq!(receiver.on_segment(NOW, &sent(0, 1), false).ack, None);
        let beyond = receiver.on_segment(NOW, &sent(2, 3), false).ack.unwrap();
        // RFC 7323 section 4.3: beyond a hole the timestamp of the last in-order segment is echoed.
        assert_eq!((blocks(&beyond), beyond.timestamp_echo), (vec![(2, 3)], Some(ms(1))));
        let filled = receiver.on_segment(NOW, &sent(1, 9), false).ack.unwrap();
        assert_eq!((filled.next_expected, filled.timestamp_echo), (3, Some(ms(9))));
    }

    #[test]
    fn duplicates_are_reported_first() {
        let mut receiver = Receiver::new(config(Flavour::Rfc));
        receiver.on_segment(NOW, &segment(0), false);
        // RFC 2883 section 4.1: a duplicate below the cumulative acknowledgement; section 4.2: inside a block.
        assert_eq!(blocks_after(&mut receiver, 0), [(0, 1)]);
        assert_eq!(blocks_after(&mut receiver, 3), [(3, 4)]);
        assert_eq!(blocks_after(&mut receiver, 4), [(3, 5)]);
        assert_eq!(blocks_after(&mut receiver, 3), [(3, 4), (3, 5)]);
        assert_eq!(blocks_after(&mut receiver, 6), [(6, 7), (3, 5)]);
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_has_answered() {
        let mut receiver = Receiver::new(config(Flavour::Rfc));
        let mut echo = |seq: u64, cwr: bool, ce: bool| {
            receiver
                .on_segment(NOW, &Segment { seq, cwr, ..Segment::default() }, ce)
                .ack
                .is_some_and(|ack| ack.ece)
        };
        assert!(echo(2, false, true) && echo(4, false, false) && echo(6, false, false));
        assert!(!echo(8, true, false));
        assert!(echo(10, true, true), "the answer itself was marked");
    }

    /// AccECN reports the first mark after an unmarked segment at once, and later marks with delayed ACKs; every copy
    /// counts (RFC 9768 section 3.2.2.5.1). The ACE field starts at five.
    #[test]
    fn accurate_feedback_counts_marks() {
        let accurate = RfcConfig { ecn: true, accurate_ecn: true, ..RfcConfig::default() };
        let mut receiver = Receiver::new(TcpConfig { rfc: accurate, ..config(Flavour::Rfc) });
        let mut counts = |seq: u64, ce: bool| {
            let ack = receiver.on_segment(NOW, &segment(seq), ce).ack;
            assert!(ack.as_ref().is_none_or(|ack| !ack.ece && ack.accurate.counters().is_none()));
            ack.map(|ack| ack.accurate.ace())
        };
        assert_eq!([counts(0, false), counts(1, false), counts(2, false)], [None, Some(5), None]);
        assert_eq!([counts(3, true), counts(4, true), counts(5, true)], [Some(6), None, Some(0)]);
        assert_eq!([counts(6, false), counts(7, true), counts(7, true)], [None, Some(1), Some(2)]);
        assert_eq!([counts(8, true), counts(9, false), counts(10, true)], [None, Some(3), Some(4)]);
    }

    /// Two unreported marks end the compression of SACK reports.
    #[test]
    fn two_marks_end_the_compression_of_reports() {
        let rfc = RfcConfig {
            ecn: true,
            accurate_ecn: true,
            quick_acks: 0,
            growth_acks: None,
            ..RfcConfig::linux()
        };
        let mut receiver = Receiver::new(TcpConfig { rfc, ..config(Flavour::Rfc) });
        let mut leaves = |seq: u64, ce: bool| receiver.on_segment(NOW, &segment(seq), ce).ack.is_some();
        assert!([1, 2, 3].into_iter().all(|seq| leaves(seq, false)), "the first three show the hole");
        assert_eq!(
            [leaves(4, false), leaves(5, true), leaves(6, true)],
            [false, true, false],
            "the first mark"
        );
        assert_eq!([leaves(7, true), leaves(8, false), leaves(9, true)], [true, false, true]);
    }

    /// Three SACK blocks and a timestamp leave no room for the AccECN option.
    #[test]
    fn the_option_gives_way_to_reports() {
        let rfc = RfcConfig {
            ecn: true,
            accurate_ecn: true,
            accurate_ecn_option: Some(1000),
            delayed_ack: None,
            ..RfcConfig::default()
        };
        let mut receiver = Receiver::new(TcpConfig { rfc, ..config(Flavour::Rfc) });
        let mut counters = |seq: u64, ce: bool| {
            let sent = Segment { ecn_capable: true, l4s: true, ..segment(seq) };
            let counters = receiver.on_segment(NOW, &sent, ce).ack.unwrap().accurate.counters();
            counters.map(|counters| (counters.ce, counters.ect, counters.is_ect_1))
        };
        assert_eq!(counters(0, false), Some((0, 1001, true)));
        assert_eq!(
            [counters(2, true), counters(4, true)],
            [Some((1000, 1001, true)), Some((2000, 1001, true))]
        );
        assert_eq!(counters(6, true), None);
        assert_eq!(counters(1, false), Some((3000, 2001, true)), "two blocks");
    }

    proptest! {
        /// Every segment is delivered exactly once and in order, for any arrivals.
        #[test]
        fn delivery_is_exactly_once_and_in_order(arrivals in prop::collection::vec(0u64..40, 0..200)) {
            let mut receiver = at_once();
            let mut seen = BTreeSet::new();
            let mut delivered = 0;
            for seq in arrivals {
                let received = receiver.on_segment(NOW, &segment(seq), false);
                let ack = received.ack.unwrap();
                prop_assert_eq!(received.is_new, seen.insert(seq));
                delivered += received.delivered;
                let in_order = (0..40).take_while(|seq| seen.contains(seq)).count() as u64;
                prop_assert_eq!(ack.next_expected, in_order);
                prop_assert_eq!(delivered, in_order);
                for block in ack.sack.as_slice() {
                    prop_assert!(block.start > in_order && (block.start..block.end).all(|seq| seen.contains(&seq)));
                    prop_assert!(!seen.contains(&block.end) && !seen.contains(&(block.start - 1)));
                }
            }
        }
    }
}
