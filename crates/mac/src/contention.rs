//! Contention for the medium (IEEE 802.11-1999, 9.2): carrier sense, physical and virtual, and the backoff.
//!
//! Slots of the backoff count while the medium has been idle for DIFS, or for EIFS after what was not understood, and
//! nobody has reserved it. Who contends in no exchange says so: [`Contention::resume`] is for stations that are idle.

use crate::timing::{Rules, Timing};
use crossfade_core::{SimTime, Stream};
use rand::Rng;
use std::sync::Arc;

/// State of the medium as a station knows it, and its remaining waiting time.
pub(crate) struct Contention {
    rules: Arc<Rules>,
    /// Slots still to wait.
    pub(crate) backoff: Option<u32>,
    /// Start of the counting of backoff slots, while they are counted.
    counting: Option<SimTime>,
    pub(crate) window: u32,
    /// End of the reservation by others (NAV).
    nav: SimTime,
    /// Time before which the station must not call its packet's receiver.
    hold: SimTime,
    medium_busy: bool,
    idle_since: SimTime,
    /// The last that was on the air was not understood.
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

    /// Time at which the backoff is over, while its slots are counted.
    pub(crate) fn ends(&self) -> Option<SimTime> {
        let slots = u64::from(self.backoff?);
        self.counting.map(|from| from + self.rules.timing.slot * slots)
    }

    /// Whether a frame is on the air or others have reserved the medium.
    pub(crate) fn is_taken(&self, now: SimTime) -> bool {
        self.medium_busy || self.is_reserved(now)
    }

    /// Whether others have reserved the medium.
    pub(crate) fn is_reserved(&self, now: SimTime) -> bool {
        self.nav > now
    }

    /// A new backoff.
    pub(crate) fn draw(&mut self) {
        // The product's upper half: uniform to 2^-48 whatever the window.
        let draw = u128::from(self.stream.next_u64()) * u128::from(self.window + 1);
        self.backoff = Some((draw >> 64) as u32);
    }

    /// The backoff is over.
    pub(crate) fn end(&mut self) {
        (self.backoff, self.counting) = (None, None);
    }

    /// An attempt has failed: the window doubles.
    pub(crate) fn widen(&mut self) {
        self.window = (2 * self.window + 1).min(self.rules.config.cw_max);
    }

    /// Done with the packet, one way or the other.
    pub(crate) fn reset(&mut self) {
        self.hold = SimTime::ZERO;
        self.window = self.rules.config.cw_min;
    }

    /// The slots that have passed count; no more do.
    pub(crate) fn freeze(&mut self, now: SimTime) {
        if let (Some(from), Some(slots)) = (self.counting.take(), &mut self.backoff) {
            let passed = now.saturating_sub(from) / self.rules.timing.slot;
            *slots -= passed.min(u64::from(*slots)) as u32;
        }
    }

    /// Slots count again, if nothing stands against it: after DIFS, or EIFS, of idle.
    pub(crate) fn resume(&mut self, now: SimTime) {
        if !self.medium_busy && self.backoff.is_some() && self.counting.is_none() {
            let Timing { difs, eifs, .. } = self.rules.timing;
            let idle = self.idle_since + if self.undecodable { eifs } else { difs };
            self.counting = Some(idle.max(self.nav.max(self.hold) + difs).max(now));
        }
    }

    /// The packet's receiver must not be called before then. Whether that is news.
    pub(crate) fn hold(&mut self, now: SimTime, until: SimTime) -> bool {
        self.freeze(now);
        let is_news = until != self.hold;
        self.hold = until;
        is_news
    }

    /// Extends the NAV to `until`; returns whether it was shorter before.
    pub(crate) fn reserve(&mut self, now: SimTime, until: SimTime) -> bool {
        let is_longer = until > self.nav;
        if is_longer {
            self.freeze(now);
            self.nav = until;
        }
        is_longer
    }

    /// Something is on the air.
    pub(crate) fn on_busy(&mut self, now: SimTime) {
        self.freeze(now);
        self.medium_busy = true;
    }

    /// End of the last signal on the air.
    pub(crate) fn on_idle(&mut self, now: SimTime) {
        self.medium_busy = false;
        self.idle_since = now;
    }

    /// A frame has ended here, understood or not.
    pub(crate) fn on_frame_end(&mut self, understood: bool) {
        self.undecodable = !understood;
    }

    /// A frame of the station's own has ended.
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

    /// A backoff of so many slots, on a medium that is idle from time 0 on.
    fn with_backoff(slots: u32) -> Contention {
        let config = DcfConfig::default();
        let rules = Rules { config, timing: config.timing().unwrap() };
        let stream = RunSeed { seed: 1, run: 0 }.stream("mac.backoff.0");
        let mut contention = Contention::new(Arc::new(rules), stream);
        contention.backoff = Some(slots);
        contention.resume(us(0));
        contention
    }

    /// A frame is on the air from one time to another.
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
        // Shorter than DIFS: nothing counted.
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

    /// 9.2.3.4: a station that has sent itself waits for DIFS, whatever it did not understand before.
    #[test]
    fn after_a_frame_of_ones_own_it_is_difs_again() {
        let mut a = with_backoff(1);
        frame(&mut a, 10, 100, false);
        a.end();
        a.on_sent(us(900));
        a.backoff = Some(2);
        a.resume(us(900));
        assert_eq!(a.ends(), Some(us(900 + 50 + 2 * 20)));

        // While others are still on the air, the medium is not idle from the end of your own frame on.
        let mut b = with_backoff(1);
        b.on_busy(us(10));
        b.on_frame_end(false);
        b.on_sent(us(50));
        b.on_idle(us(100));
        b.resume(us(100));
        assert_eq!(b.ends(), Some(us(100 + 364 + 20)));
    }

    /// All slots from 0 to the window are drawn, each as often: of 200,000 draws the mean and the ends of windows are
    /// within 4.5 standard errors.
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
