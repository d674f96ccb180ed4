//! Contention of a station for the medium (IEEE 802.11-1999, 9.2): physical and virtual carrier sense, and backoff.
//!
//! Backoff slots count after the medium has been idle for DIFS, or for EIFS after a frame that was not decoded, and
//! while no other station has reserved it. Only stations without an exchange may call [`Contention::resume`].

use crate::timing::{Rules, Timing};
use crossfade_core::{SimTime, Stream};
use rand::Rng;
use std::sync::Arc;

/// State of the medium as a station knows it, and the station's backoff.
pub(crate) struct Contention {
    rules: Arc<Rules>,
    /// Remaining backoff in slots; `None` without a backoff.
    pub(crate) backoff: Option<u32>,
    /// Time from which backoff slots count; `None` while they are suspended.
    counting: Option<SimTime>,
    pub(crate) window: u32,
    /// Network allocation vector (NAV): end of the reservation by other stations.
    nav: SimTime,
    /// Time before which the station must not call its packet's receiver, for nulling.
    hold: SimTime,
    medium_busy: bool,
    idle_since: SimTime,
    /// True if the last frame on the air was not decoded, so that EIFS replaces DIFS.
    undecodable: bool,
    stream: Stream,
}

impl Contention {
    pub(crate) fn new(rules: Arc<Rules>, stream: Stream) -> Self {
        Self {
            backoff: None,
            counting: None,
            window: rules.config.cw_min,
            nav: SimTime::ZERO,
            hold: SimTime::ZERO,
            medium_busy: false,
            idle_since: SimTime::ZERO,
            undecodable: false,
            rules,
            stream,
        }
    }

    /// Time at which the backoff ends if the medium stays idle; `None` while it is suspended or without one.
    pub(crate) fn ends(&self) -> Option<SimTime> {
        let slots = u64::from(self.backoff?);
        self.counting.map(|from| from + self.rules.timing.slot * slots)
    }

    /// True if a frame is on the air or another station has reserved the medium.
    pub(crate) fn is_taken(&self, now: SimTime) -> bool {
        self.medium_busy || self.is_reserved(now)
    }

    /// True if another station has reserved the medium beyond `now`.
    pub(crate) fn is_reserved(&self, now: SimTime) -> bool {
        self.nav > now
    }

    /// Draws a new backoff, uniform from 0 to the contention window.
    pub(crate) fn draw(&mut self) {
        // Upper half of the product: uniform to within 2^-48 for every window.
        let draw = u128::from(self.stream.next_u64()) * u128::from(self.window + 1);
        self.backoff = Some((draw >> 64) as u32);
    }

    /// Ends the backoff.
    pub(crate) fn end(&mut self) {
        (self.backoff, self.counting) = (None, None);
    }

    /// Doubles the contention window after a failed attempt, up to its maximum.
    pub(crate) fn widen(&mut self) {
        self.window = (2 * self.window + 1).min(self.rules.config.cw_max);
    }

    /// Resets the contention window and the hold when a packet is delivered or dropped.
    pub(crate) fn reset(&mut self) {
        self.hold = SimTime::ZERO;
        self.window = self.rules.config.cw_min;
    }

    /// Suspends the backoff at `now`, less the slots that have passed.
    pub(crate) fn freeze(&mut self, now: SimTime) {
        if let (Some(from), Some(slots)) = (self.counting.take(), &mut self.backoff) {
            let passed = now.saturating_sub(from) / self.rules.timing.slot;
            *slots -= passed.min(u64::from(*slots)) as u32;
        }
    }

    /// Resumes the backoff if the medium is idle: slots count after DIFS or EIFS, the NAV and the hold.
    pub(crate) fn resume(&mut self, now: SimTime) {
        if !self.medium_busy && self.backoff.is_some() && self.counting.is_none() {
            let Timing { difs, eifs, .. } = self.rules.timing;
            let idle = self.idle_since + if self.undecodable { eifs } else { difs };
            self.counting = Some(idle.max(self.nav.max(self.hold) + difs).max(now));
        }
    }

    /// Forbids to call the packet's receiver before `until`, and suspends the backoff; returns true if `until` is new.
    pub(crate) fn hold(&mut self, now: SimTime, until: SimTime) -> bool {
        self.freeze(now);
        let is_news = until != self.hold;
        self.hold = until;
        is_news
    }

    /// Extends the NAV to `until`; returns true if it was shorter before.
    pub(crate) fn reserve(&mut self, now: SimTime, until: SimTime) -> bool {
        let is_longer = until > self.nav;
        if is_longer {
            self.freeze(now);
            self.nav = until;
        }
        is_longer
    }

    /// Records that a signal is on the air from `now` on; suspends the backoff.
    pub(crate) fn on_busy(&mut self, now: SimTime) {
        self.freeze(now);
        self.medium_busy = true;
    }

    /// Records that the last signal on the air ended at `now`.
    pub(crate) fn on_idle(&mut self, now: SimTime) {
        self.medium_busy = false;
        self.idle_since = now;
    }

    /// Records whether a frame that ended here was decoded, which decides between DIFS and EIFS.
    pub(crate) fn on_frame_end(&mut self, understood: bool) {
        self.undecodable = !understood;
    }

    /// Records that the station's own frame ended at `now`.
    pub(crate) fn on_sent(&mut self, now: SimTime) {
        if !self.medium_busy {
            (self.idle_since, self.undecodable) = (now, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::DcfConfig;
    use crossfade_core::RunSeed;

    fn us(micros: u64) -> SimTime {
        SimTime::from_micros(micros)
    }

    /// Station with a backoff of `slots`, on a medium that is idle from time 0 on.
    fn with_backoff(slots: u32) -> Contention {
        let config = DcfConfig::default();
        let rules = Rules { config, timing: config.timing().unwrap() };
        let stream = RunSeed { seed: 1, run: 0 }.stream("mac.backoff.0");
        let mut contention = Contention::new(Arc::new(rules), stream);
        contention.backoff = Some(slots);
        contention.resume(us(0));
        contention
    }

    /// Puts a frame on the air from `from` to `to`, in microseconds, and resumes the backoff after it.
    fn frame(contention: &mut Contention, from: u64, to: u64, understood: bool) {
        contention.on_busy(us(from));
        assert_eq!(contention.ends(), None);
        contention.on_frame_end(understood);
        contention.on_idle(us(to));
        contention.resume(us(to));
    }

    #[test]
    fn slots_count_only_on_an_idle_medium() {
        let mut a = with_backoff(5);
        // Two slots of 20 us and a half pass after DIFS.
        frame(&mut a, 50 + 50, 1000, true);
        assert_eq!(a.ends(), Some(us(1000 + 50 + 3 * 20)));
        // An idle time shorter than DIFS counts no slot.
        frame(&mut a, 1040, 1100, true);
        assert_eq!(a.ends(), Some(us(1100 + 50 + 3 * 20)));
    }

    #[test]
    fn what_was_not_understood_costs_eifs() {
        let mut a = with_backoff(1);
        frame(&mut a, 10, 100, false);
        assert_eq!(a.ends(), Some(us(100 + 364 + 20)));
        frame(&mut a, 150, 200, true);
        assert_eq!(a.ends(), Some(us(200 + 50 + 20)));
    }

    /// A station waits DIFS after its own frame, even if it could not decode a frame before (9.2.3.4).
    #[test]
    fn after_a_frame_of_ones_own_it_is_difs_again() {
        let mut a = with_backoff(1);
        frame(&mut a, 10, 100, false);
        a.end();
        a.on_sent(us(900));
        a.backoff = Some(2);
        a.resume(us(900));
        assert_eq!(a.ends(), Some(us(900 + 50 + 2 * 20)));

        // If another frame is still on the air at the end of the station's own, the medium is not idle.
        let mut b = with_backoff(1);
        b.on_busy(us(10));
        b.on_frame_end(false);
        b.on_sent(us(50));
        b.on_idle(us(100));
        b.resume(us(100));
        assert_eq!(b.ends(), Some(us(100 + 364 + 20)));
    }

    /// Backoffs are uniform from 0 to the window: in 200,000 draws, the count of each slot is within 4.5 standard
    /// errors.
    #[test]
    fn backoffs_are_uniform_up_to_the_window() {
        const DRAWS: u32 = 200_000;
        for window in [1, 31, 63] {
            let mut a = with_backoff(0);
            a.window = window;
            let mut counts = vec![0_u32; window as usize + 2];
            for _ in 0..DRAWS {
                a.draw();
                counts[a.backoff.unwrap().min(window + 1) as usize] += 1;
            }
            assert_eq!(counts.pop(), Some(0), "beyond the window of {window}");
            let share = 1.0 / f64::from(window + 1);
            let error = (f64::from(DRAWS) * share * (1.0 - share)).sqrt();
            for (slot, &count) in counts.iter().enumerate() {
                let off = (f64::from(count) - f64::from(DRAWS) * share).abs() / error;
                assert!(off < 4.5, "{slot} of {window}: {count}, {off:.1} standard errors off");
            }
        }
    }

    #[test]
    fn a_hold_stands_until_it_ends() {
        let mut a = with_backoff(2);
        assert!(a.hold(us(70), us(500)));
        a.resume(us(70));
        assert_eq!(a.ends(), Some(us(500 + 50 + 20)), "one slot had passed");
        assert!(!a.hold(us(80), us(500)));
    }

    #[test]
    fn a_shorter_reservation_is_no_news() {
        let mut a = with_backoff(1);
        assert!(a.reserve(us(0), us(3000)));
        a.resume(us(0));
        assert!(!a.reserve(us(10), us(2000)));
        assert_eq!(a.ends(), Some(us(3000 + 50 + 20)));
        assert!(a.is_taken(us(2999)) && !a.is_taken(us(3000)));
    }
}
