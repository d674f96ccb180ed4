//! Detection of a full pipe: the delivery rate no longer grows (draft-ietf-ccwg-bbr section 5.3.1.2).

use crate::congestion::RateSample;

const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;

/// Counter of rounds in which the delivery rate does not exceed an earlier round's by a quarter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    base: f64,
    rounds: u32,
    /// True if three rounds have passed without growth since the last restart.
    pub(super) now: bool,
    /// True if three rounds without growth have ever passed.
    pub(super) reached: bool,
}

impl FullPipe {
    pub(super) fn restart(&mut self, base: f64) {
        *self = Self { base, reached: self.reached, ..Self::default() };
    }

    /// Makes the next rate count as growth, whatever its value.
    pub(super) fn forget_base(&mut self) {
        self.base = 0.0;
    }

    /// Compares the delivery rate of the first acknowledgement of a round, unless application-limited.
    pub(super) fn update(&mut self, sample: &RateSample) {
        if let Some(rate) = sample.rate.filter(|_| !sample.app_limited) {
            self.compare(rate);
        }
    }

    /// Compares the delivery rate of any acknowledgement, unless application-limited: growth counts at once, missing
    /// growth once per round.
    pub(super) fn update_always(&mut self, sample: &RateSample, round_starts: bool) {
        let Some(rate) = sample.rate.filter(|_| !sample.app_limited) else { return };
        if round_starts || rate >= GROWTH * self.base {
            self.compare(rate);
        }
    }

    /// Compares `rate`, the delivery rate of a round, with the reference rate.
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
            // Application-limited samples do not count.
            pipe.update(&RateSample { rate: Some(1.0), app_limited: true, ..RateSample::default() });
            full.push(pipe.now);
        }
        assert_eq!((full, pipe.reached), (vec![false, false, false, false, true], true));
        pipe.restart(200.0);
        assert_eq!((pipe.now, pipe.reached), (false, true));
    }

    /// If every acknowledgement is checked, as in Linux, a rate of 130 in the middle of a round restarts the count.
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
