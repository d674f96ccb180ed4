//! Recipient: receiving end of a block acknowledgement agreement with its reorder buffer (IEEE 802.11-2016 clause
//! 10.24.7.6).

use super::originator::expand;
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Recipient of one agreement with its reorder buffer.
///
/// An MPDU within the window is held until all before it have arrived; one up to 2047 beyond the start of the window
/// moves the window, and MPDUs that leave it are released with gaps; one before the window is a duplicate or late. A
/// BAR moves the window too.
#[derive(Clone, Debug)]
pub struct Recipient<T> {
    window: u32,
    /// Reorder timeout: time after which MPDUs behind a gap are released; `None` for no limit.
    patience: Option<SimTime>,
    /// First sequence number that has not arrived and is still awaited.
    start: u64,
    /// Received MPDUs from `start` on, with their arrival times.
    held: VecDeque<Option<(SimTime, T)>>,
    /// For the last numbers before `start`, as many as the window: true if the MPDU had arrived.
    past: VecDeque<bool>,
}

/// Fate of a received MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The MPDU arrived for the first time, within the window or beyond.
    New,
    /// The MPDU arrived for the first time after its place was passed: it is acknowledged and dropped.
    Late,
    /// The MPDU had arrived before.
    Duplicate,
}

impl<T: Copy> Recipient<T> {
    /// Recipient with a window of `window` MPDUs; `patience` is the reorder timeout, `None` for no limit.
    pub fn new(window: u32, patience: Option<SimTime>) -> Self {
        Self { window, patience, start: 0, held: VecDeque::new(), past: VecDeque::new() }
    }

    /// First sequence number that is still awaited.
    pub const fn start(&self) -> u64 {
        self.start
    }

    /// Handles an MPDU with the 12-bit number `short` received at `now`; appends the items that it releases to `out`.
    pub fn on_mpdu(&mut self, now: SimTime, short: u16, item: T, out: &mut Vec<T>) -> Received {
        let number = expand(self.start, short);
        if let Some(back) = self.start.checked_sub(number).filter(|back| *back > 0) {
            let place = self.past.len().checked_sub(back as usize);
            return match place.map(|place| std::mem::replace(&mut self.past[place], true)) {
                Some(false) => Received::Late,
                _ => Received::Duplicate,
            };
        }
        let end = self.start + u64::from(self.window);
        if number >= end {
            self.move_to(number + 1 - u64::from(self.window), out);
        }
        let place = (number - self.start) as usize;
        if self.held.len() <= place {
            self.held.resize(place + 1, None);
        }
        let is_new = self.held[place].is_none();
        if is_new {
            self.held[place] = Some((now, item));
            self.release(out);
        }
        if is_new { Received::New } else { Received::Duplicate }
    }

    /// Handles a BAR with the 12-bit starting number `short`; appends the items that it releases to `out`.
    pub fn on_bar(&mut self, short: u16, out: &mut Vec<T>) {
        let number = expand(self.start, short);
        self.move_to(number, out);
        self.release(out);
    }

    /// Restarts the agreement at `number` if that is ahead; appends the items that it releases to `out`.
    pub(super) fn renew(&mut self, number: u64, out: &mut Vec<T>) {
        self.move_to(number, out);
        self.release(out);
    }

    /// True if a block acknowledgement reports the MPDU with this number as received.
    pub fn has(&self, number: u64) -> bool {
        if let Some(place) = number.checked_sub(self.start) {
            return self.held.get(place as usize).is_some_and(Option::is_some);
        }
        let back = (self.start - number) as usize;
        back <= self.past.len() && self.past[self.past.len() - back]
    }

    /// Calls `visit` with each item held behind a gap.
    pub fn each(&self, visit: impl FnMut(&T)) {
        self.held.iter().flatten().map(|(_, item)| item).for_each(visit);
    }

    /// Time at which the reorder timeout expires; `None` if no MPDU is held or there is no timeout.
    pub fn next_timeout(&self) -> Option<SimTime> {
        let since = self.held.iter().flatten().map(|(since, _)| *since).min()?;
        Some(since.saturating_add(self.patience?))
    }

    /// Releases the items that have been held for the reorder timeout at `now`, and those before them, into `out`.
    pub fn on_timeout(&mut self, now: SimTime, out: &mut Vec<T>) {
        let Some(patience) = self.patience else { return };
        let is_late = |held: &Option<(SimTime, T)>| {
            held.is_some_and(|(since, _)| since.saturating_add(patience) <= now)
        };
        if let Some(last) = self.held.iter().rposition(is_late) {
            self.move_to(self.start + last as u64, out);
            self.release(out);
        }
    }

    /// Moves the start of the window to `number` if that is ahead.
    fn move_to(&mut self, number: u64, out: &mut Vec<T>) {
        while self.start < number {
            if self.held.is_empty() && number - self.start > u64::from(self.window) {
                // No number in the skipped range has arrived.
                self.past.clear();
                self.start = number - u64::from(self.window);
            }
            let first = self.held.pop_front().flatten();
            self.pass(first.is_some());
            out.extend(first.map(|(_, item)| item));
        }
    }

    fn release(&mut self, out: &mut Vec<T>) {
        while let Some(&Some((_, item))) = self.held.front() {
            self.held.pop_front();
            self.pass(true);
            out.push(item);
        }
    }

    fn pass(&mut self, has_come: bool) {
        self.start += 1;
        self.past.push_back(has_come);
        if self.past.len() > self.window as usize {
            self.past.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    fn receive(recipient: &mut Recipient<u64>, now: SimTime, numbers: &[u64]) -> Vec<u64> {
        let mut out = Vec::new();
        for &number in numbers {
            recipient.on_mpdu(now, super::super::originator::on_air(number), number, &mut out);
        }
        out
    }

    #[test]
    fn a_hole_holds_back_until_it_is_filled() {
        let mut recipient = Recipient::new(8, None);
        assert_eq!(receive(&mut recipient, MS, &[0, 1, 3, 4]), [0, 1]);
        assert!(recipient.has(0) && recipient.has(3) && !recipient.has(2) && !recipient.has(5));
        assert_eq!(receive(&mut recipient, MS, &[2]), [2, 3, 4]);
        let mut out = Vec::new();
        assert_eq!(recipient.on_mpdu(MS, 3, 3, &mut out), Received::Duplicate);
        assert!(out.is_empty());
    }

    #[test]
    fn a_number_beyond_the_window_moves_it() {
        let mut recipient = Recipient::new(4, None);
        assert_eq!(
            receive(&mut recipient, MS, &[1, 2, 5]),
            [1, 2],
            "0 has fallen out, 3 and 4 are waited for"
        );
        assert_eq!(recipient.start(), 3);
        assert!(!recipient.has(0) && recipient.has(1));
        // Largest distance at which a new number is distinguished from an old one.
        assert_eq!(receive(&mut recipient, MS, &[3 + 2047]), [5]);
        assert_eq!(recipient.start(), 3 + 2047 + 1 - 4);
        assert!(receive(&mut recipient, MS, &[100]).is_empty(), "far behind");
    }

    #[test]
    fn a_request_ahead_releases_what_waits() {
        let mut recipient = Recipient::new(8, None);
        receive(&mut recipient, MS, &[1, 2, 4]);
        let mut out = Vec::new();
        recipient.on_bar(3, &mut out);
        assert_eq!((out.as_slice(), recipient.start()), (&[1, 2][..], 3));
        recipient.on_bar(0, &mut out);
        assert_eq!(recipient.start(), 3, "one behind asks and moves nothing");
        recipient.on_bar(4, &mut out);
        assert_eq!((out, recipient.start()), (vec![1, 2, 4], 5));
    }

    #[test]
    fn what_comes_after_its_place_was_passed_is_late_once() {
        let mut recipient = Recipient::new(8, Some(MS * 100));
        assert!(receive(&mut recipient, SimTime::ZERO, &[1]).is_empty());
        let mut out = Vec::new();
        recipient.on_timeout(MS * 100, &mut out);
        assert_eq!((out, recipient.has(0)), (vec![1], false));
        let mut out = Vec::new();
        assert_eq!(recipient.on_mpdu(MS * 101, 0, 0, &mut out), Received::Late);
        assert!(recipient.has(0), "it is acknowledged");
        assert_eq!(recipient.on_mpdu(MS * 102, 0, 0, &mut out), Received::Duplicate);
        assert!(out.is_empty());
    }

    #[test]
    fn patience_ends() {
        let mut recipient = Recipient::new(8, Some(MS * 100));
        receive(&mut recipient, MS, &[1]);
        receive(&mut recipient, MS * 50, &[3]);
        assert_eq!(recipient.next_timeout(), Some(MS * 101));
        let mut out = Vec::new();
        recipient.on_timeout(MS * 100, &mut out);
        assert!(out.is_empty());
        recipient.on_timeout(MS * 101, &mut out);
        assert_eq!((out.as_slice(), recipient.start()), (&[1][..], 2));
        assert_eq!(recipient.next_timeout(), Some(MS * 150));
    }
}
