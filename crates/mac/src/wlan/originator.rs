//! Originator: sending end of a block acknowledgement agreement (IEEE 802.11-2016 clause 10.24.7).
//!
//! Sequence numbers here never wrap around; on the air they have 12 bits ([`on_air`]).
//!
//! ```text
//!  waiting --compose--> in flight --acknowledged--> gone
//!     ^                     |
//!     +---not acknowledged--+--retries used up--> given up, and a BAR moves the recipient's window
//! ```
//!
//! If an acknowledgement is missing, the fate of the MPDUs in flight is unknown: a block acknowledgement request (BAR)
//! asks for it. A recipient that answered no BAR still waits for MPDUs that were given up; a BAR tells it after its
//! next acknowledgement.
//!
//! A multi-link device has one agreement for all links, with one window and one numbering. An acknowledgement settles
//! the MPDUs sent on its own link; failed ones are retransmitted on the first free link.

use super::ampdu::Ampdu;
use std::collections::VecDeque;

/// Sequence number of 12 bits as in frames.
pub const fn on_air(number: u64) -> u16 {
    (number % 4096) as u16
}

/// Sequence number without wrap-around nearest to `near` whose 12 bits are `short`.
pub const fn expand(near: u64, short: u16) -> u64 {
    let ahead = (short as u64 + 4096 - near % 4096) % 4096;
    if ahead < 2048 || near + ahead < 4096 { near + ahead } else { near + ahead - 4096 }
}

/// Next frame that the originator wants to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// Block acknowledgement request (BAR) with this starting sequence number.
    Bar(u64),
    /// Aggregate with data.
    Ampdu,
}

/// Fates of MPDUs that an acknowledgement or its absence has settled, in order of sequence numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled<T> {
    /// MPDUs that the recipient has.
    pub delivered: Vec<T>,
    /// MPDUs that are given up at the retry limit, with their sequence numbers.
    pub given_up: Vec<(u64, T)>,
}

impl<T> Default for Settled<T> {
    fn default() -> Self {
        Self { delivered: Vec::new(), given_up: Vec::new() }
    }
}

#[derive(Clone, Debug)]
struct Mpdu<T> {
    item: T,
    bytes: u32,
    attempts: u32,
    /// Link on which the MPDU is in flight; `None` while it waits.
    on: Option<u8>,
}

/// State of informing the recipient of MPDUs that were given up, for which it may still wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tell {
    /// No BAR is due: nothing was given up, or it waits for the recipient's next acknowledgement.
    Nothing,
    /// The next frame, on any link, is a BAR with the start of the window.
    Due,
    /// A BAR with the start of the window is in flight on this link.
    On(u8),
}

/// Originator of one agreement, for one receiver and one traffic identifier.
#[derive(Clone, Debug)]
pub struct Originator<T> {
    window: u32,
    /// Maximum number of transmissions of an MPDU; `None` for no limit.
    attempts: Option<u32>,
    /// Lowest sequence number that is not settled: start of the window.
    start: u64,
    /// MPDUs from `start` on; `None` for a settled one.
    mpdus: VecDeque<Option<Mpdu<T>>>,
    waiting: u32,
    /// Links, as bits, on which the recipient must be asked for its state by a BAR.
    asks: u8,
    /// State of informing the recipient of the start of the window.
    tell: Tell,
    /// Links, as bits, on which the recipient did not answer a BAR: other links inform it, or the next link with an
    /// acknowledgement.
    mute: u8,
    /// Lowest sequence number for which the recipient still waited in its last acknowledgement.
    heard: u64,
}

impl<T: Copy> Originator<T> {
    /// Agreement with a window of `window` MPDUs, in which an MPDU is sent at most `attempts` times.
    pub fn new(window: u32, attempts: Option<u32>) -> Self {
        Self {
            window,
            attempts,
            start: 0,
            mpdus: VecDeque::new(),
            waiting: 0,
            asks: 0,
            tell: Tell::Nothing,
            mute: 0,
            heard: 0,
        }
    }

    /// Lowest sequence number that is not settled.
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// Number of MPDUs that wait for retransmission.
    pub const fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Length in bytes of the first MPDU that waits for retransmission; `None` without one.
    pub fn first_waiting(&self) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        self.mpdus.iter().flatten().find(|mpdu| mpdu.on.is_none()).map(|mpdu| mpdu.bytes)
    }

    /// True if any MPDU is not settled.
    pub(super) fn is_active(&self) -> bool {
        !self.mpdus.is_empty()
    }

    /// True if the window allows a new MPDU.
    pub(super) fn has_room(&self) -> bool {
        self.mpdus.len() < self.window as usize
    }

    /// Number of new MPDUs that the window allows.
    pub(super) fn room(&self) -> u32 {
        self.window.saturating_sub(self.mpdus.len() as u32)
    }

    /// Next frame on a link; `None` without one. `is_backlogged` is true if packets wait that were never sent.
    pub fn poll_transmit(&self, link: u8, is_backlogged: bool) -> Option<Transmit> {
        let tells = match self.tell {
            Tell::Nothing => false,
            Tell::Due => self.mute & (1 << link) == 0,
            Tell::On(other) => other == link,
        };
        if tells || self.asks & (1 << link) != 0 {
            return Some(Transmit::Bar(self.start));
        }
        (self.waiting > 0 || (is_backlogged && self.has_room())).then_some(Transmit::Ampdu)
    }

    /// Records that a BAR is sent on a link, so that other links need not send one.
    pub fn on_bar(&mut self, link: u8) {
        if self.tell == Tell::Due {
            self.tell = Tell::On(link);
        }
    }

    /// Puts MPDUs into an aggregate on a link: first those for retransmission in order of their numbers, then new ones
    /// up to the window. `next` provides a new MPDU (bytes and item) of at most the given bytes; `sent` is called with
    /// number, item and number of earlier transmissions of each.
    pub fn compose(
        &mut self,
        link: u8,
        ampdu: &mut Ampdu,
        mut next: impl FnMut(u32) -> Option<(u32, T)>,
        mut sent: impl FnMut(u64, &T, u32),
    ) {
        if self.waiting > 0 {
            for (number, mpdu) in (self.start..).zip(&mut self.mpdus) {
                let Some(mpdu) = mpdu.as_mut().filter(|mpdu| mpdu.on.is_none()) else { continue };
                if !ampdu.push(mpdu.bytes) {
                    return;
                }
                sent(number, &mpdu.item, mpdu.attempts);
                mpdu.on = Some(link);
                mpdu.attempts += 1;
                self.waiting -= 1;
            }
        }
        while self.has_room() {
            let Some(room) = ampdu.room() else { return };
            let Some((bytes, item)) = next(room) else { return };
            let fits = ampdu.push(bytes);
            assert!(fits, "an MPDU longer than asked for");
            sent(self.start + self.mpdus.len() as u64, &item, 0);
            self.mpdus.push_back(Some(Mpdu { item, bytes, attempts: 1, on: Some(link) }));
        }
    }

    /// Handles a block acknowledgement that arrived on `link`: `has` is true for sequence numbers of MPDUs that the
    /// recipient has, and `waits_for` is the lowest one for which it still waits.
    pub fn on_block_ack(
        &mut self,
        link: u8,
        waits_for: u64,
        has: impl Fn(u64) -> bool,
        settled: &mut Settled<T>,
    ) {
        self.settle(link, has, settled);
        self.heard = self.heard.max(waits_for);
        self.asks &= !(1 << link);
        self.mute = 0;
        self.tell = match self.tell {
            _ if !self.is_untold() => Tell::Nothing,
            Tell::On(other) if other != link => Tell::On(other),
            _ => Tell::Due,
        };
    }

    /// Records that the acknowledgement of an aggregate or a BAR is missing on `link`: the next frame there is a BAR.
    pub fn on_timeout(&mut self, link: u8) {
        self.asks |= 1 << link;
        if self.tell == Tell::On(link) {
            self.tell = Tell::Due;
        }
    }

    /// Counts the MPDUs in flight on `link` as failed, as the recipient answers no BAR there or is not asked by one.
    pub fn on_silence(&mut self, link: u8, settled: &mut Settled<T>) {
        self.settle(link, |_| false, settled);
        let has_asked = self.asks & (1 << link) != 0;
        self.asks &= !(1 << link);
        let has_told = self.tell == Tell::On(link);
        match self.tell {
            Tell::On(other) if other != link => {}
            _ if !self.is_untold() => self.tell = Tell::Nothing,
            _ => {
                self.tell = Tell::Due;
                if has_told || has_asked {
                    self.mute |= 1 << link;
                } else {
                    self.mute &= !(1 << link);
                }
            }
        }
    }

    /// True if the recipient may still wait for MPDUs that were given up. With a window of 1 the next MPDU informs it.
    fn is_untold(&self) -> bool {
        self.heard < self.start && self.window > 1
    }

    /// Counts each MPDU in flight on a link as delivered or failed.
    fn settle(&mut self, link: u8, has: impl Fn(u64) -> bool, settled: &mut Settled<T>) {
        for (number, place) in (self.start..).zip(&mut self.mpdus) {
            let Some(mpdu) = place.as_mut().filter(|mpdu| mpdu.on == Some(link)) else { continue };
            mpdu.on = None;
            if has(number) {
                settled.delivered.push(mpdu.item);
                *place = None;
            } else if self.attempts.is_some_and(|most| mpdu.attempts >= most) {
                settled.given_up.push((number, mpdu.item));
                *place = None;
            } else {
                self.waiting += 1;
            }
        }
        self.advance();
    }

    /// Calls `visit` with the number and item of each MPDU that is not settled.
    pub fn each(&self, mut visit: impl FnMut(u64, &T)) {
        for (number, mpdu) in (self.start..).zip(&self.mpdus) {
            if let Some(mpdu) = mpdu {
                visit(number, &mpdu.item);
            }
        }
    }

    fn advance(&mut self) {
        while let Some(None) = self.mpdus.front() {
            self.mpdus.pop_front();
            self.start += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ampdu::{AmpduLimits, MPDU_OVERHEAD};
    use super::super::modes::{Band, Mode, Standard};
    use super::super::recipient::{Received, Recipient};
    use super::*;
    use crossfade_core::{RunSeed, SimTime};
    use proptest::prelude::*;
    use rand::RngExt;

    fn ampdu(window: u32) -> Ampdu {
        let mode = Mode::new(Standard::Be, Band::Ghz6, 13, 8, 320, 800).unwrap();
        Ampdu::new(mode, &AmpduLimits { window, ..AmpduLimits::of(Standard::Be) }, None)
    }

    /// Sends as many numbered packets as allowed; returns each number with its earlier transmissions.
    fn send(originator: &mut Originator<u64>, window: u32, next: &mut u64) -> Vec<(u64, u32)> {
        let mut sent = Vec::new();
        let source = |_| {
            *next += 1;
            Some((200 + MPDU_OVERHEAD, *next - 1))
        };
        originator.compose(0, &mut ampdu(window), source, |number, _, before| sent.push((number, before)));
        sent
    }

    #[test]
    fn failed_mpdus_go_first_and_the_window_stalls_on_the_oldest() {
        let (mut originator, mut next) = (Originator::new(8, Some(7)), 0);
        assert_eq!(send(&mut originator, 8, &mut next).len(), 8);
        let mut settled = Settled::default();
        originator.on_block_ack(0, 0, |number| number != 0 && number != 5, &mut settled);
        assert_eq!((settled.delivered, settled.given_up), (vec![1, 2, 3, 4, 6, 7], vec![]));
        // The window still begins at 0, so no new MPDU is sent.
        assert_eq!((originator.start(), originator.waiting()), (0, 2));
        assert_eq!(send(&mut originator, 8, &mut next), [(0, 1), (5, 1)]);
        originator.on_block_ack(0, 5, |number| number == 0, &mut Settled::default());
        assert_eq!(originator.start(), 5);
        let sent = send(&mut originator, 8, &mut next);
        assert_eq!(sent, [(5, 2), (8, 0), (9, 0), (10, 0), (11, 0), (12, 0)]);
    }

    #[test]
    fn a_missed_answer_is_asked_for() {
        let (mut originator, mut next) = (Originator::new(4, Some(7)), 0);
        send(&mut originator, 4, &mut next);
        originator.on_timeout(0);
        assert_eq!(originator.poll_transmit(0, true), Some(Transmit::Bar(0)));
        assert_eq!(send(&mut originator.clone(), 4, &mut next), [], "nothing is sent twice unasked");
        originator.on_block_ack(0, 4, |_| true, &mut Settled::default());
        assert_eq!((originator.start(), originator.poll_transmit(0, false)), (4, None));
        assert_eq!(originator.poll_transmit(0, true), Some(Transmit::Ampdu));
    }

    #[test]
    fn giving_up_at_the_head_moves_the_recipient() {
        let (mut originator, mut next) = (Originator::new(4, Some(2)), 0);
        let mut recipient = Recipient::new(4, None);
        let mut out = Vec::new();
        for _ in 0..2 {
            for (number, _) in send(&mut originator, 4, &mut next) {
                if number != 0 {
                    recipient.on_mpdu(SimTime::ZERO, on_air(number), number, &mut out);
                }
            }
            assert_eq!(out, [] as [u64; 0], "the hole holds all back");
            originator.on_block_ack(
                0,
                recipient.start(),
                |number| recipient.has(number),
                &mut Settled::default(),
            );
        }
        let Some(Transmit::Bar(start)) = originator.poll_transmit(0, true) else { panic!("no BAR") };
        recipient.on_bar(on_air(start), &mut out);
        assert_eq!((start, out), (4, vec![1, 2, 3]));
        originator.on_block_ack(
            0,
            recipient.start(),
            |number| recipient.has(number),
            &mut Settled::default(),
        );
        assert_eq!(originator.poll_transmit(0, true), Some(Transmit::Ampdu));
    }

    #[test]
    fn numbers_wrap_after_4096_on_the_air() {
        assert_eq!([on_air(4095), on_air(4096), on_air(9000)], [4095, 0, 808]);
        for near in [0_u64, 1, 2047, 4095, 4096, 10_000] {
            for number in near.saturating_sub(2000)..near + 2000 {
                assert_eq!(expand(near, on_air(number)), number, "near {near}");
            }
        }
    }

    /// Mean numbers of MPDUs sent and delivered per aggregate if each fails with probability `p` and is retransmitted.
    fn stall(window: u32, p: f64, attempts: Option<u32>, exchanges: u32) -> (f64, f64) {
        let mut stream = RunSeed { seed: 7, run: 0 }.stream("stall");
        let (mut originator, mut next) = (Originator::new(window, attempts), 0);
        let (mut sent, mut delivered) = (0, 0);
        for _ in 0..exchanges {
            sent += send(&mut originator, window, &mut next).len();
            let mut settled = Settled::default();
            let lost: Vec<bool> = (0..window).map(|_| stream.random::<f64>() < p).collect();
            let start = originator.start();
            originator.on_block_ack(0, u64::MAX, |number| !lost[(number - start) as usize], &mut settled);
            delivered += settled.delivered.len();
        }
        (sent as f64 / f64::from(exchanges), delivered as f64 / f64::from(exchanges))
    }

    /// Mean lengths of aggregates agree with an independent simulation of the window (125,000 exchanges with a window
    /// of 64, 62,500 with 256).
    #[test]
    fn aggregates_are_as_short_as_the_window_makes_them() {
        for (window, exchanges, expected) in [
            (
                64,
                20_000,
                [
                    (0.01, 51.6, 51.1),
                    (0.05, 39.0, 37.1),
                    (0.1, 34.2, 30.7),
                    (0.2, 28.9, 23.1),
                    (0.3, 25.8, 18.1),
                ],
            ),
            (
                256,
                8_000,
                [
                    (0.01, 163.5, 161.9),
                    (0.05, 127.5, 121.1),
                    (0.1, 109.7, 98.7),
                    (0.2, 91.4, 73.1),
                    (0.3, 81.1, 56.7),
                ],
            ),
        ] {
            for (p, in_one, arrive) in expected {
                let (sent, delivered) = stall(window, p, None, exchanges);
                assert!((sent / in_one - 1.0).abs() < 0.01, "window {window}, p {p}: {sent} sent");
                assert!(
                    (delivered / arrive - 1.0).abs() < 0.01,
                    "window {window}, p {p}: {delivered} delivered"
                );
                assert!((delivered / (sent * (1.0 - p)) - 1.0).abs() < 0.005, "{delivered} of {sent} at {p}");
            }
        }
    }

    #[test]
    fn who_answered_no_bar_is_told_after_its_next_answer() {
        let (mut originator, mut next) = (Originator::new(8, Some(1)), 0);
        let mut recipient = Recipient::new(8, None);
        let mut out = Vec::new();
        // Of two MPDUs the first is given up, and all BARs that would tell the recipient are lost.
        let sent = send(&mut originator, 2, &mut next);
        recipient.on_mpdu(SimTime::ZERO, on_air(sent[1].0), 1, &mut out);
        originator.on_block_ack(
            0,
            recipient.start(),
            |number| recipient.has(number),
            &mut Settled::default(),
        );
        assert_eq!(originator.poll_transmit(0, true), Some(Transmit::Bar(2)));
        originator.on_bar(0);
        originator.on_timeout(0);
        originator.on_bar(0);
        originator.on_silence(0, &mut Settled::default());
        assert_eq!((originator.poll_transmit(0, true), out.len()), (Some(Transmit::Ampdu), 0));
        for (number, _) in send(&mut originator, 1, &mut next) {
            recipient.on_mpdu(SimTime::ZERO, on_air(number), number, &mut out);
        }
        assert!(out.is_empty(), "behind the gap");
        originator.on_block_ack(
            0,
            recipient.start(),
            |number| recipient.has(number),
            &mut Settled::default(),
        );
        let Some(Transmit::Bar(start)) = originator.poll_transmit(0, true) else { panic!("no BAR") };
        recipient.on_bar(on_air(start), &mut out);
        assert_eq!(out, [1, 2]);
        originator.on_block_ack(
            0,
            recipient.start(),
            |number| recipient.has(number),
            &mut Settled::default(),
        );
        assert_eq!(originator.poll_transmit(0, true), Some(Transmit::Ampdu));
    }

    /// With two links an acknowledgement settles only the MPDUs sent on its link, and failed ones are retransmitted on
    /// the other.
    #[test]
    fn links_have_one_window_and_settle_what_is_theirs() {
        let (mut originator, mut next) = (Originator::new(8, Some(7)), 0_u64);
        let mut send = |originator: &mut Originator<u64>, link, most| {
            let mut sent = Vec::new();
            let source = |_| {
                next += 1;
                Some((200, next - 1))
            };
            originator
                .compose(link, &mut ampdu(most), source, |number, _, before| sent.push((number, before)));
            sent
        };
        assert_eq!(send(&mut originator, 0, 5).len(), 5);
        assert_eq!(send(&mut originator, 1, 5), [(5, 0), (6, 0), (7, 0)], "the window ends it");
        assert_eq!(originator.poll_transmit(1, true), None);
        // Link 0 gets no answer: its MPDUs are retransmitted on link 1 once it is free, while 5 to 7 are still in
        // flight.
        originator.on_silence(0, &mut Settled::default());
        assert_eq!((originator.waiting(), originator.poll_transmit(1, false)), (5, Some(Transmit::Ampdu)));
        let mut settled = Settled::default();
        originator.on_block_ack(1, 0, |number| number != 6, &mut settled);
        assert_eq!((settled.delivered, originator.start()), (vec![5, 7], 0));
        assert_eq!(send(&mut originator, 1, 3), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(send(&mut originator, 0, 8), [(3, 1), (4, 1), (6, 1)], "and no number beyond the window");
        originator.on_block_ack(1, 3, |_| true, &mut Settled::default());
        assert_eq!(send(&mut originator, 1, 8), [(8, 0), (9, 0), (10, 0)]);
    }

    /// The recipient is informed of given-up MPDUs once, on the first free link; if that BAR is lost, on another.
    #[test]
    fn one_link_tells_what_was_given_up() {
        let (mut originator, mut next) = (Originator::new(8, Some(1)), 0);
        send(&mut originator, 4, &mut next);
        originator.on_block_ack(0, 0, |number| number > 0, &mut Settled::default());
        let bar = Some(Transmit::Bar(4));
        assert_eq!([0, 1].map(|link| originator.poll_transmit(link, true)), [bar, bar]);
        originator.on_bar(1);
        let ampdu = Some(Transmit::Ampdu);
        assert_eq!([0, 1].map(|link| originator.poll_transmit(link, true)), [ampdu, bar]);
        originator.on_timeout(1);
        assert_eq!([0, 1].map(|link| originator.poll_transmit(link, true)), [bar, bar]);
        originator.on_bar(0);
        originator.on_block_ack(0, 4, |_| true, &mut Settled::default());
        assert_eq!([0, 1].map(|link| originator.poll_transmit(link, true)), [ampdu, bar], "1 still asks");
        originator.on_block_ack(1, 4, |_| true, &mut Settled::default());
        assert_eq!([0, 1].map(|link| originator.poll_transmit(link, false)), [None, None]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// With random losses of MPDUs, acknowledgements and BARs, and recipients with and without a short reorder
        /// timeout: releases are in order and without duplicates, a missing MPDU was given up or came late, and no MPDU
        /// stays at a recipient after its last acknowledgement.
        #[test]
        fn nothing_is_lost_twice_or_out_of_order(
            window in prop::sample::select(vec![4_u32, 64, 256]),
            seed in 0_u64..1000,
            p in 0.0_f64..0.6,
            answers in 0.0_f64..0.5,
            attempts in prop::option::of(2_u32..8),
            patience in prop::option::of(1_u64..50),
        ) {
            let mut stream = RunSeed { seed, run: 0 }.stream("agreement");
            let (mut originator, mut next) = (Originator::new(window, attempts), 0);
            let mut recipient = Recipient::new(window, patience.map(SimTime::from_millis));
            let (mut out, mut settled, mut bars) = (Vec::new(), Settled::default(), 0);
            let (mut late, mut is_answered) = (Vec::new(), false);
            // Past 4096 numbers, so that they wrap around; then until all are settled.
            let total = 6000;
            for step in 0..1_000_000 {
                let now = SimTime::from_millis(step);
                recipient.on_timeout(now, &mut out);
                let Some(transmit) = originator.poll_transmit(0, next < total) else { break };
                let mut is_heard = false;
                if let Transmit::Bar(start) = transmit {
                    if stream.random::<f64>() >= answers {
                        recipient.on_bar(on_air(start), &mut out);
                        is_heard = true;
                    }
                } else {
                    let mut sent = Vec::new();
                    let source = |_| (next < total).then(|| { next += 1; (100, next - 1) });
                    originator.compose(0, &mut ampdu(window), source, |number, &item, _| sent.push((number, item)));
                    prop_assert!(!sent.is_empty());
                    for (number, item) in sent {
                        if stream.random::<f64>() >= p {
                            if recipient.on_mpdu(now, on_air(number), item, &mut out) == Received::Late {
                                late.push(item);
                            }
                            is_heard = true;
                        }
                    }
                }
                is_answered = is_heard && stream.random::<f64>() >= answers;
                if is_answered {
                    bars = 0;
                    originator.on_block_ack(0, recipient.start(), |number| recipient.has(number), &mut settled);
                } else if bars < 20 {
                    bars += 1;
                    originator.on_timeout(0);
                } else {
                    bars = 0;
                    originator.on_silence(0, &mut settled);
                }
            }
            prop_assert_eq!(next, total);
            prop_assert_eq!(settled.delivered.len() + settled.given_up.len(), total as usize);
            prop_assert!(out.windows(2).all(|two| two[0] < two[1]), "in order and once");
            if is_answered {
                recipient.each(|item| panic!("{item} is held back"));
            }
            let mut missing: Vec<u64> = settled.given_up.iter().map(|(_, item)| *item).chain(late).collect();
            missing.sort_unstable();
            let held: Vec<u64> = (0..total).filter(|item| out.binary_search(item).is_err()).collect();
            prop_assert!(held.iter().all(|item| missing.binary_search(item).is_ok()), "only what was given up is missing");
            if attempts.is_none() && answers < 0.3 && patience.is_none() {
                prop_assert_eq!(out.len() as u64, total);
            }
        }
    }
}
