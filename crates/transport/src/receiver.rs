//! The receiving end: keeps what arrives out of order and acknowledges, at once or a little later.

use crate::config::{Flavour, TcpConfig, Variant};
use crate::segment::{Ack, SackBlock, SackBlocks, Segment};
use crossfade_core::SimTime;

/// What the receiver made of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The acknowledgement to send now, if it is not held back.
    pub ack: Option<Ack>,
    /// Whether the segment had not arrived before.
    pub is_new: bool,
    /// How many segments the application can now read, in order.
    pub delivered: u64,
}

/// A TCP receiver with an unbounded resequencing buffer: the window that it advertises bounds what can
/// arrive.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "options of the protocol, each on or off")]
pub struct Receiver {
    rcv_nxt: u64,
    /// Blocks beyond `rcv_nxt`, disjoint and not adjacent, most recently touched first (RFC 2018 section 4).
    held: Vec<SackBlock>,
    sends_sack: bool,
    sends_d_sack: bool,
    /// The last segment, if it had arrived before and the next acknowledgement is to say so.
    duplicate: Option<SackBlock>,
    /// How long an acknowledgement may be held back.
    delayed_ack: Option<SimTime>,
    /// When the acknowledgement held back is due.
    ack_deadline: Option<SimTime>,
    /// The timestamp to echo (RFC 7323 section 4.3, `TS.Recent`), with timestamps.
    ts_recent: Option<SimTime>,
    timestamps: bool,
    /// What the last acknowledgement said (RFC 7323 section 4.3, `Last.ACK.sent`).
    last_ack_sent: u64,
    /// Echo congestion until the sender has answered (RFC 3168 section 6.1.3).
    ece: bool,
    ecn: bool,
}

impl Receiver {
    /// A receiver that has seen nothing. Only flavour `rfc` delays acknowledgements and answers timestamps,
    /// duplicates and congestion marks.
    pub fn new(config: &TcpConfig) -> Self {
        let sends_sack = config.variant == Variant::Sack;
        let is_rfc = config.flavour == Flavour::Rfc;
        Self {
            rcv_nxt: 0,
            held: Vec::new(),
            sends_sack,
            sends_d_sack: is_rfc && sends_sack && config.rfc.d_sack,
            duplicate: None,
            delayed_ack: config.rfc.delayed_ack.filter(|_| is_rfc),
            ack_deadline: None,
            ts_recent: None,
            timestamps: is_rfc && config.rfc.timestamps,
            last_ack_sent: 0,
            ece: false,
            ecn: is_rfc && config.rfc.ecn,
        }
    }

    /// The next segment that the application waits for.
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Takes a segment that arrived at `now`; `ce` if a router has marked it (RFC 3168 section 5).
    #[expect(
        clippy::inline_always,
        reason = "its answer need not pass through memory; measured: 5 % of a simulation"
    )]
    #[inline(always)]
    pub fn on_segment(&mut self, now: SimTime, segment: &Segment, ce: bool) -> Received {
        let before = self.rcv_nxt;
        let seq = segment.seq;
        if self.timestamps && seq <= self.last_ack_sent {
            // RFC 7323 section 4.3 (2): with acknowledgements held back or holes, the oldest segment counts.
            self.ts_recent = self.ts_recent.max(Some(segment.timestamp));
        }
        if self.ecn {
            // RFC 3168 section 6.1.3: the sender has answered; a mark on this very segment is a new one.
            self.ece = (self.ece && !segment.cwr) || ce;
        }
        let had_holes = !self.held.is_empty();
        let is_new = if seq == self.rcv_nxt {
            self.rcv_nxt += 1;
            if had_holes {
                self.release();
            }
            true
        } else {
            seq > self.rcv_nxt && self.hold(seq)
        };
        if self.sends_d_sack && !is_new {
            self.duplicate = Some(SackBlock { start: seq, end: seq + 1 });
        }
        let in_order = self.rcv_nxt == before + 1 && !had_holes;
        let ack = if in_order && self.may_delay(now) { None } else { Some(self.ack()) };
        Received { ack, is_new, delivered: self.rcv_nxt - before }
    }

    /// Whether the acknowledgement of a segment in order may wait (RFC 5681 section 4.2: for the second one, or
    /// for the delay; RFC 1122 section 4.2.3.2).
    fn may_delay(&mut self, now: SimTime) -> bool {
        match (self.delayed_ack, self.ack_deadline) {
            (Some(delay), None) => {
                self.ack_deadline = Some(now.saturating_add(delay));
                true
            }
            _ => false,
        }
    }

    /// When [`Self::on_timeout`] is to be called unless a segment arrives before.
    pub fn next_timeout(&self) -> Option<SimTime> {
        self.ack_deadline
    }

    /// The acknowledgement that was held back, if it is due.
    pub fn on_timeout(&mut self, now: SimTime) -> Option<Ack> {
        self.ack_deadline.filter(|deadline| *deadline <= now)?;
        Some(self.ack())
    }

    /// Moves `rcv_nxt` over the block that it has reached.
    fn release(&mut self) {
        if let Some(at) = self.held.iter().position(|block| block.start == self.rcv_nxt) {
            self.rcv_nxt = self.held.remove(at).end;
        }
    }

    /// Puts `seq` into the blocks; false if it was there already.
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
    fn ack(&mut self) -> Ack {
        self.ack_deadline = None;
        self.last_ack_sent = self.rcv_nxt;
        let mut sack = SackBlocks::default();
        if let Some(duplicate) = self.duplicate.take() {
            // RFC 2883 section 4: first the duplicate, then the block that it lies in, if it lies in one.
            sack.push(duplicate);
        }
        if self.sends_sack {
            self.held.iter().take(SackBlocks::MAX).for_each(|&block| sack.push(block));
        }
        let timestamp_echo = self.ts_recent.filter(|_| self.timestamps);
        Ack { next_expected: self.rcv_nxt, sack, timestamp_echo, ece: self.ece }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RtoConfig, RtoRule};
    use crate::rfc::RfcConfig;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const NOW: SimTime = SimTime::ZERO;

    fn config(flavour: Flavour) -> TcpConfig {
        let ms = SimTime::from_millis;
        let rule = RtoRule::Estimated { min: ms(1000), initial: ms(1000), granularity: ms(1) };
        TcpConfig {
            flavour,
            variant: Variant::Sack,
            w_max: 64,
            initial_window: 10.0,
            initial_ssthresh: 64.0,
            dupthresh: 3,
            limited_transmit: true,
            rto: RtoConfig { rule, backoff: true, max: ms(60_000) },
            segments: None,
            rfc: RfcConfig { ecn: true, ..RfcConfig::default() },
        }
    }

    fn at_once() -> Receiver {
        Receiver::new(&config(Flavour::Ns2))
    }

    fn segment(seq: u64) -> Segment {
        Segment { seq, ..Segment::default() }
    }

    fn blocks(ack: &Ack) -> Vec<(u64, u64)> {
        ack.sack.as_slice().iter().map(|block| (block.start, block.end)).collect()
    }

    /// The blocks of the acknowledgement that `seq` causes at once.
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
        // 5 joins two blocks and makes the result the most recent.
        assert_eq!(blocks_after(&mut receiver, 5), [(4, 7), (8, 9), (2, 3)]);
        let filled = receiver.on_segment(NOW, &segment(1), false);
        assert_eq!((filled.ack.unwrap().next_expected, filled.delivered), (3, 2));
    }

    #[test]
    fn every_second_segment_is_acknowledged_or_after_the_delay() {
        let ms = SimTime::from_millis;
        let mut receiver = Receiver::new(&config(Flavour::Rfc));
        let sent = |seq, at| Segment { seq, timestamp: ms(at), ..Segment::default() };
        assert_eq!(receiver.on_segment(ms(10), &sent(0, 1), false).ack, None);
        let ack = receiver.on_segment(ms(20), &sent(1, 2), false).ack.unwrap();
        // RFC 7323 section 4.3: the timestamp of the older of the two.
        assert_eq!((ack.next_expected, ack.timestamp_echo), (2, Some(ms(1))));
        assert_eq!(receiver.next_timeout(), None);
        assert_eq!(receiver.on_segment(ms(30), &sent(2, 3), false).ack, None);
        assert_eq!(receiver.next_timeout(), Some(ms(230)));
        assert_eq!(receiver.on_timeout(ms(229)), None);
        let ack = receiver.on_timeout(ms(230)).unwrap();
        assert_eq!((ack.next_expected, ack.timestamp_echo), (3, Some(ms(3))));
        assert_eq!(receiver.next_timeout(), None);
    }

    #[test]
    fn holes_and_what_fills_them_are_acknowledged_at_once() {
        let mut receiver = Receiver::new(&config(Flavour::Rfc));
        let ms = SimTime::from_millis;
        let sent = |seq, at| Segment { seq, timestamp: ms(at), ..Segment::default() };
        assert_eq!(receiver.on_segment(NOW, &sent(0, 1), false).ack, None);
        let beyond = receiver.on_segment(NOW, &sent(2, 3), false).ack.unwrap();
        // RFC 7323 section 4.3: beyond a hole the timestamp of the last segment in order is echoed.
        assert_eq!((blocks(&beyond), beyond.timestamp_echo), (vec![(2, 3)], Some(ms(1))));
        let filled = receiver.on_segment(NOW, &sent(1, 9), false).ack.unwrap();
        assert_eq!((filled.next_expected, filled.timestamp_echo), (3, Some(ms(9))));
    }

    #[test]
    fn duplicates_are_reported_first() {
        let mut receiver = Receiver::new(&config(Flavour::Rfc));
        receiver.on_segment(NOW, &segment(0), false);
        // RFC 2883 section 4.1: below the cumulative acknowledgement, and 4.2: inside a block.
        assert_eq!(blocks_after(&mut receiver, 0), [(0, 1)]);
        assert_eq!(blocks_after(&mut receiver, 3), [(3, 4)]);
        assert_eq!(blocks_after(&mut receiver, 4), [(3, 5)]);
        assert_eq!(blocks_after(&mut receiver, 3), [(3, 4), (3, 5)]);
        assert_eq!(blocks_after(&mut receiver, 6), [(6, 7), (3, 5)]);
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_has_answered() {
        let mut receiver = Receiver::new(&config(Flavour::Rfc));
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

    proptest! {
        /// Every segment is delivered exactly once and in order, whatever arrives.
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
