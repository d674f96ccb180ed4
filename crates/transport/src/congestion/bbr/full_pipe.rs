//! Whether the pipe is full: rates that no longer grow (draft-ietf-ccwg-bbr section 5.3.1.2).

use crate::congestion::RateSample;

const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;

/// The rate of a round that others are compared with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    base: f64,
    rounds: u32,
    /// Three rounds without growth since the last restart, and ever.
    pub(super) now: bool,
    pub(super) reached: bool,
}

impl FullPipe {
    pub(super) fn restart(&mut self, base: f64) {
        *self = Self { base, reached: self.reached, ..Self::default() };
    }

    /// The next rate is growth, whatever it is.
    pub(super) fn forget_base(&mut self) {
        self.base = 0.0;
    }

    /// The first acknowledgement of a round.
    pub(super) fn update(&mut self, sample: &RateSample) {
        if let Some(rate) = sample.rate.filter(|_| !sample.app_limited) {
            self.compare(rate);
        }
    }

    /// Any acknowledgement: growth counts at once, its lack once a round.
    pub(super) fn update_always(&mut self, sample: &RateSample, round_starts: bool) {
        let Some(rate) = sample.rate.filter(|_| !sample.app_limited) else { return };
        if round_starts || rate >= GROWTH * self.base {
            self.compare(rate);
        }
    }

    /// The rate of a round.
    pub(super) fn compare(&mut self, rate: f64) {
        if self.now {
            return;
        }
        if rate >= GROWTH * self.base {
            self.restart(rate);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= ROUNDS;
        self.reached |= self.now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_without_a_quarter_more_are_full() {
        let mut pipe = FullPipe::default();
        let mut full = Vec::new();
        for rate in [100.0, 130.0, 135.0, 140.0, 141.0] {
            pipe.update(&RateSample { rate: Some(rate), ..RateSample::default() });
            // What the application limits does not count.
            pipe.update(&RateSample { rate: Some(1.0), app_limited: true, ..RateSample::default() });
            full.push(pipe.now);
        }
        assert_eq!((full, pipe.reached), (vec![false, false, false, false, true], true));
        pipe.restart(200.0);
        assert_eq!((pipe.now, pipe.reached), (false, true));
    }

    /// Linux: a rate of 130 in the middle of a round begins the count anew.
    #[test]
    fn growth_within_a_round_counts_if_it_is_looked_for() {
        let (mut first, mut always) = (FullPipe::default(), FullPipe::default());
        for (rate, starts) in [
            (100.0, true),
            (101.0, true),
            (102.0, true),
            (130.0, false),
            (103.0, true),
            (104.0, true),
            (105.0, true),
        ] {
            let sample = RateSample { rate: Some(rate), ..RateSample::default() };
            always.update_always(&sample, starts);
            if starts {
                first.update(&sample);
            }
            if rate == 103.0 {
                assert_eq!((first.now, always.now), (true, false));
            }
        }
        assert!(always.now);
    }
}
