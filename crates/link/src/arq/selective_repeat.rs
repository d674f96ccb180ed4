//! Selective repeat: only lost frames are retransmitted.

use super::{
    ArqError, ArqReceiver, ArqSender, Content, Delivery, Feedback, Outcome, Patience, Pdu, Protocol, Sdu,
};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Time at which the receiver of selective repeat passes up a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// A frame is passed up once all earlier frames have been passed up or given up.
    InOrder,
    /// A frame is passed up as soon as it is received.
    Immediate,
}

/// Parameters of selective repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectiveRepeatConfig {
    /// Window in frames from the oldest unacknowledged one on, and size of the receiver's buffer.
    pub window: u32,
    /// Time from the start of a frame's transmission to its retransmission.
    pub timeout: SimTime,
    /// Number of retransmissions after which a frame is given up; `None`: never.
    pub max_retransmissions: Option<u32>,
    /// Time at which the receiver passes up a frame.
    pub release: Release,
}

impl SelectiveRepeatConfig {
    /// Greatest window, 2^20 frames, since a receiver has memory for each frame of the window.
    const MAX_WINDOW: u32 = 1 << 20;
}

impl Protocol for SelectiveRepeatConfig {
    type Sender = SelectiveRepeatSender;
    type Receiver = SelectiveRepeatReceiver;

    fn check(&self) -> Result<(), ArqError> {
        let (window, windows) = (self.window, 1..=Self::MAX_WINDOW);
        ArqError::unless(windows.contains(&window), "window", window, "1 to 1048576 frames")?;
        ArqError::unless(self.timeout > SimTime::ZERO, "timeout", self.timeout, "above 0")
    }

    fn build(&self) -> (SelectiveRepeatSender, SelectiveRepeatReceiver) {
        (SelectiveRepeatSender::new(self), SelectiveRepeatReceiver::new(self))
    }

    fn patience(&self, _frame_time: SimTime) -> Option<Patience> {
        Some(Patience { parameter: "timeout", time: self.timeout })
    }

    fn most_repetitions(&self) -> Option<u32> {
        self.max_retransmissions
    }
}

/// A frame in the sender's window.
struct Outstanding {
    sdu: Sdu,
    transmissions: u32,
    /// True if the frame is acknowledged or given up.
    is_done: bool,
}

/// Sender of selective repeat: sends a window of frames and retransmits each until it is acknowledged or given up.
pub struct SelectiveRepeatSender {
    config: SelectiveRepeatConfig,
    /// Number of the oldest frame that is neither acknowledged nor given up.
    base: u64,
    window: VecDeque<Outstanding>,
    /// True if the last frame of the window is still to be sent for the first time.
    has_new: bool,
    /// Timers, each with its expiry, frame and transmission number. All have equal lengths, so they expire in order.
    timers: VecDeque<(SimTime, u64, u32)>,
    /// Numbers of the frames to be retransmitted.
    again: VecDeque<u64>,
    /// Number of the frame that the receiver is known to expect; less than `base` after frames were given up.
    told: u64,
    /// Time at which the receiver is told again that frames were given up, unless a frame tells it before.
    skip_at: SimTime,
}

impl SelectiveRepeatSender {
    /// Creates a sender that has not sent a frame.
    pub fn new(config: &SelectiveRepeatConfig) -> Self {
        Self {
            config: *config,
            base: 0,
            window: VecDeque::new(),
            has_new: false,
            timers: VecDeque::new(),
            again: VecDeque::new(),
            told: 0,
            skip_at: SimTime::ZERO,
        }
    }

    fn frame(&mut self, seq: u64) -> Option<&mut Outstanding> {
        self.window.get_mut(usize::try_from(seq.checked_sub(self.base)?).ok()?)
    }

    /// Marks a frame as acknowledged or given up, and moves the window.
    fn end(&mut self, seq: u64) {
        let Some(frame) = self.frame(seq) else { return };
        frame.is_done = true;
        while self.window.front().is_some_and(|frame| frame.is_done) {
            self.window.pop_front();
            self.base += 1;
        }
        self.drop_stale_timers();
    }

    /// Removes timers of frames that are done or were retransmitted, so that they cause no event.
    fn drop_stale_timers(&mut self) {
        while let Some(&(_, seq, transmissions)) = self.timers.front() {
            if self.frame(seq).is_some_and(|frame| !frame.is_done && frame.transmissions == transmissions) {
                break;
            }
            self.timers.pop_front();
        }
    }

    /// Removes frames from the retransmission queue that were acknowledged in the meantime.
    fn drop_stale_requests(&mut self) {
        while let Some(&seq) = self.again.front() {
            if self.frame(seq).is_some_and(|frame| !frame.is_done) {
                break;
            }
            self.again.pop_front();
        }
    }

    fn expire(&mut self, now: SimTime) {
        while let Some(&(_, seq, transmissions)) = self.timers.front().filter(|timer| timer.0 <= now) {
            self.timers.pop_front();
            if self.config.max_retransmissions.is_some_and(|n| u64::from(transmissions) > u64::from(n)) {
                self.end(seq);
                self.skip_at = SimTime::ZERO;
            } else {
                self.again.push_back(seq);
                self.drop_stale_timers();
            }
        }
    }

    fn must_skip(&self) -> bool {
        self.window.is_empty() && self.told < self.base
    }
}

impl ArqSender for SelectiveRepeatSender {
    fn wants_sdu(&mut self, now: SimTime) -> bool {
        self.expire(now);
        self.drop_stale_requests();
        self.window.len() < self.config.window as usize && !self.has_new && self.again.is_empty()
    }

    fn on_sdu(&mut self, _now: SimTime, sdu: Sdu) {
        self.window.push_back(Outstanding { sdu, transmissions: 0, is_done: false });
        self.has_new = true;
    }

    fn on_feedback(&mut self, _now: SimTime, feedback: Feedback) {
        let Feedback::Ack { next, last } = feedback else { return };
        let sent = self.base + self.window.len() as u64 - u64::from(self.has_new);
        if next > sent {
            return;
        }
        self.told = self.told.max(next);
        if last < sent
            && let Some(frame) = self.frame(last)
        {
            frame.is_done = true;
        }
        while self.base < next || self.window.front().is_some_and(|frame| frame.is_done) {
            self.window.pop_front();
            self.base += 1;
        }
        self.drop_stale_timers();
    }

    fn poll_transmit(&mut self, now: SimTime) -> Option<Pdu> {
        self.expire(now);
        self.drop_stale_requests();
        let again = self.again.pop_front();
        let newest = (self.base + self.window.len() as u64).wrapping_sub(1);
        let new = again.is_none() && std::mem::take(&mut self.has_new);
        let oldest = self.base;
        if let Some(seq) = again.or(new.then_some(newest)) {
            let timeout = self.config.timeout;
            let frame = self.frame(seq)?;
            let pdu = Pdu { seq, oldest, content: Content::Data(frame.sdu), attempt: frame.transmissions };
            frame.transmissions += 1;
            let transmissions = frame.transmissions;
            self.timers.push_back((now + timeout, seq, transmissions));
            return Some(pdu);
        }
        (self.must_skip() && self.skip_at <= now).then(|| {
            self.skip_at = now + self.config.timeout;
            Pdu { seq: oldest, oldest, content: Content::Skip, attempt: 0 }
        })
    }

    fn next_timeout(&self) -> Option<SimTime> {
        let skip = || self.must_skip().then_some(self.skip_at);
        self.timers.front().map(|timer| timer.0).or_else(skip)
    }
}

/// State of a frame in the window of the receiver.
#[derive(Clone, Copy)]
enum Slot {
    /// The frame was not received.
    Missing,
    /// The frame was received at this time, and its payload waits for earlier ones.
    Held(Sdu, SimTime),
    /// The frame was received and passed up.
    Passed,
}

/// Receiver of selective repeat: stores a window of frames and acknowledges each.
pub struct SelectiveRepeatReceiver {
    window: u64,
    release: Release,
    /// Number of the first missing frame.
    next: u64,
    /// States of the frames from `next` to the last received one.
    slots: VecDeque<Slot>,
    delivery: VecDeque<Delivery>,
    feedback: VecDeque<Feedback>,
}

impl SelectiveRepeatReceiver {
    /// Creates a receiver that has not received a frame.
    pub fn new(config: &SelectiveRepeatConfig) -> Self {
        Self {
            window: u64::from(config.window),
            release: config.release,
            next: 0,
            slots: VecDeque::new(),
            delivery: VecDeque::new(),
            feedback: VecDeque::new(),
        }
    }

    /// Counts frames before `oldest` as lost if they are missing, since the sender has given them up.
    fn skip_to(&mut self, oldest: u64) {
        while self.next < oldest {
            let Some(slot) = self.slots.pop_front() else {
                // No later frame was received.
                self.lose(self.next, oldest - self.next);
                self.next = oldest;
                return;
            };
            self.release(slot);
        }
        self.release_head();
    }

    fn release_head(&mut self) {
        while self.slots.front().is_some_and(|slot| !matches!(slot, Slot::Missing)) {
            let slot = self.slots.pop_front().expect("it was just looked at");
            self.release(slot);
        }
    }

    /// Moves the window past its first frame, whose state is `slot`.
    fn release(&mut self, slot: Slot) {
        match slot {
            Slot::Held(sdu, received_at) => self.delivery.push_back(Delivery::Frame { sdu, received_at }),
            Slot::Passed => {}
            Slot::Missing => self.lose(self.next, 1),
        }
        self.next = self.next.saturating_add(1);
    }

    fn lose(&mut self, first: u64, count: u64) {
        match self.delivery.back_mut() {
            Some(Delivery::Lost { first: begin, frames }) if *begin + *frames == first => *frames += count,
            _ => self.delivery.push_back(Delivery::Lost { first, frames: count }),
        }
    }

    /// Takes a frame at index `place` of the window; returns true if the frame is now received.
    fn receive(&mut self, now: SimTime, place: usize, sdu: Sdu, is_good: bool) -> bool {
        if self.slots.len() <= place {
            self.slots.resize(place + 1, Slot::Missing);
        }
        if !matches!(self.slots[place], Slot::Missing) {
            return true;
        }
        if !is_good {
            return false;
        }
        match self.release {
            Release::InOrder => self.slots[place] = Slot::Held(sdu, now),
            Release::Immediate => {
                self.slots[place] = Slot::Passed;
                self.delivery.push_back(Delivery::Frame { sdu, received_at: now });
            }
        }
        self.release_head();
        true
    }
}

impl ArqReceiver for SelectiveRepeatReceiver {
    fn on_pdu(&mut self, now: SimTime, outcome: Outcome) {
        let (pdu, is_good) = match outcome {
            Outcome::Good(pdu) => (pdu, true),
            Outcome::Corrupt(pdu) => (pdu, false),
            Outcome::Erased => return,
        };
        self.skip_to(pdu.oldest.min(pdu.seq));
        if let Content::Data(sdu) = pdu.content
            && pdu.seq >= self.next
        {
            let place = pdu.seq - self.next;
            if place == 0 && self.slots.is_empty() && is_good {
                // Fast path of frames in order: no state is kept.
                self.next = self.next.saturating_add(1);
                self.delivery.push_back(Delivery::Frame { sdu, received_at: now });
            } else if place >= self.window || !self.receive(now, place as usize, sdu, is_good) {
                return;
            }
        }
        self.feedback.push_back(Feedback::Ack { next: self.next, last: pdu.seq });
    }

    fn poll_feedback(&mut self, _now: SimTime) -> Option<Feedback> {
        self.feedback.pop_front()
    }

    fn poll_delivery(&mut self) -> Option<Delivery> {
        self.delivery.pop_front()
    }

    fn awaits(&self, pdu: &Pdu) -> bool {
        let next = self.next.max(pdu.oldest.min(pdu.seq));
        let is_missing = |place: u64| matches!(self.slots.get(place as usize), None | Some(Slot::Missing));
        pdu.seq >= next && pdu.seq - next < self.window && is_missing(pdu.seq - self.next)
    }

    fn is_in_sequence(&self) -> bool {
        self.slots.is_empty()
    }

    fn releases_in_order(&self) -> bool {
        self.release == Release::InOrder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arq::testing::{Fate, Ladder, SLOT};

    type Both = Ladder<SelectiveRepeatSender, SelectiveRepeatReceiver>;

    fn ladder(window: u32, max_retransmissions: Option<u32>, release: Release) -> Both {
        let config = SelectiveRepeatConfig { window, timeout: SLOT * 3, max_retransmissions, release };
        Ladder::new(SelectiveRepeatSender::new(&config), SelectiveRepeatReceiver::new(&config))
    }

    #[test]
    fn only_what_was_lost_is_sent_again() {
        let mut in_order = ladder(8, None, Release::InOrder);
        in_order.run("oxoooooo");
        assert_eq!(in_order.sent(), "+0 +1 +2 +3 *1 +4 +5 +6");
        assert_eq!(in_order.up, [0, 1, 2, 3, 4, 5, 6]);
        let mut immediate = ladder(8, None, Release::Immediate);
        immediate.run("oxoooooo");
        assert_eq!(immediate.sent(), in_order.sent());
        assert_eq!(immediate.up, [0, 2, 3, 1, 4, 5, 6]);
    }

    /// If several frames wait for retransmission, the oldest goes first, and all of them before new frames.
    #[test]
    fn the_oldest_is_repeated_first() {
        let mut ladder = ladder(8, None, Release::InOrder);
        let mut sent = |at: u64| {
            if ladder.sender.wants_sdu(SLOT * at) {
                ladder.sender.on_sdu(SLOT * at, at);
            }
            ladder.sender.poll_transmit(SLOT * at).map(|pdu| pdu.seq)
        };
        assert_eq!([0, 1, 2].map(&mut sent), [0, 1, 2].map(Some));
        // All three have waited long enough by now.
        assert_eq!([20, 21, 22].map(&mut sent), [0, 1, 2].map(Some));
    }

    #[test]
    fn the_window_stalls_on_its_oldest_frame() {
        let mut ladder = ladder(3, None, Release::InOrder);
        ladder.run("xooxoooo");
        assert_eq!(ladder.sent(), "+0 +1 +2 *0 - - *0 -");
        ladder.run("oooo");
        assert_eq!(ladder.sent[8..].join(" "), "+3 +4 +5 +6");
    }

    #[test]
    fn lost_acknowledgements_are_made_good_by_later_ones() {
        let mut ladder = ladder(8, None, Release::InOrder);
        ladder.feedback_fates = [Fate::Lost, Fate::Good, Fate::Lost, Fate::Lost].into();
        ladder.run("oooooo");
        assert_eq!(ladder.sent(), "+0 +1 +2 +3 +4 *2");
        // The next acknowledgement comes in time for 3, and 2 is a duplicate.
        ladder.run("ooo");
        assert_eq!(ladder.up, (0..8).collect::<Vec<i64>>());
    }

    #[test]
    fn given_up_frames_are_skipped() {
        for (release, up) in
            [(Release::InOrder, [0, -2, 2, 3, 4, 5, 6]), (Release::Immediate, [0, 2, 3, -2, 4, 5, 6])]
        {
            let mut ladder = ladder(8, Some(0), release);
            ladder.run("oxooooo");
            assert_eq!(ladder.sent(), "+0 +1 +2 +3 +4 +5 +6", "{release:?}");
            assert_eq!(ladder.up, up, "{release:?}");
        }
    }

    #[test]
    fn the_receiver_hears_that_the_last_frames_were_given_up() {
        let mut ladder = ladder(8, Some(0), Release::InOrder);
        ladder.run("oxxOOXOOOOOO");
        assert_eq!(ladder.sent(), "+0 +1 +2 - - . - - . - - -");
        assert_eq!(ladder.up, [0, -2, -3]);
        assert_eq!(ladder.sender.next_timeout(), None);
    }

    #[test]
    fn what_lies_beyond_the_window_is_not_kept() {
        let config = SelectiveRepeatConfig {
            window: 4,
            timeout: SLOT,
            max_retransmissions: None,
            release: Release::InOrder,
        };
        let mut receiver = SelectiveRepeatReceiver::new(&config);
        let pdu = |seq, oldest| Pdu { seq, oldest, content: Content::Data(seq), attempt: 0 };
        receiver.on_pdu(SLOT, Outcome::Good(pdu(4, 0)));
        assert_eq!((receiver.poll_feedback(SLOT), receiver.slots.len()), (None, 0));
        // A lower edge far ahead: all before is lost, at once.
        receiver.on_pdu(SLOT, Outcome::Good(pdu(u64::MAX, u64::MAX)));
        assert_eq!(receiver.poll_delivery(), Some(Delivery::Lost { first: 0, frames: u64::MAX }));
    }
}
