//! Maximum over a sliding window of rounds (Linux's `lib/win_minmax.c`, by K. Nichols).

/// Best, second and third best values in a window of rounds, with the rounds they come from. With frequent samples this
/// gives the maximum in constant space.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxFilter {
    /// Round and value of the three best values, best first.
    best: [(u64, f64); 3],
}

impl MaxFilter {
    pub(super) fn max(&self) -> f64 {
        self.best[0].1
    }

    /// Takes `value`, seen in `round`; drops values older than `window` rounds.
    pub(super) fn update(&mut self, window: u64, round: u64, value: f64) {
        let seen = (round, value);
        if value >= self.best[0].1 || round - self.best[2].0 > window {
            self.best = [seen; 3];
            return;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (seen, seen);
        } else if value >= self.best[2].1 {
            self.best[2] = seen;
        }
        self.expire(window, seen);
    }

    fn expire(&mut self, window: u64, seen: (u64, f64)) {
        let age = seen.0 - self.best[0].0;
        if age > window {
            self.best = [self.best[1], self.best[2], seen];
            if seen.0 - self.best[0].0 > window {
                self.best = [self.best[1], self.best[2], seen];
            }
        } else if self.best[1].0 == self.best[0].0 && age > window / 4 {
            (self.best[1], self.best[2]) = (seen, seen);
        } else if self.best[2].0 == self.best[1].0 && age > window / 2 {
            self.best[2] = seen;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_that_of_the_window_if_samples_come_each_round() {
        let mut filter = MaxFilter::default();
        let values = [100.0, 200.0, 260.0, 264.0, 266.0, 250.0, 240.0, 245.0, 230.0, 235.0];
        for (round, value) in (1..).zip(values) {
            filter.update(10, round, value);
        }
        assert_eq!(filter.max(), 266.0);
        // Round 5 leaves the window of ten rounds at round 16.
        for round in 11..16 {
            filter.update(10, round, 200.0);
            assert_eq!(filter.max(), 266.0, "round {round}");
        }
        filter.update(10, 16, 200.0);
        assert!((230.0..=245.0).contains(&filter.max()), "one of the second best: {}", filter.max());
        filter.update(10, 17, 300.0);
        assert_eq!(filter.max(), 300.0);
        filter.update(10, 40, 10.0);
        assert_eq!(filter.max(), 10.0, "nothing of the last window is left");
    }

    /// As in Linux, a value exactly as old as the window is kept, an older one is dropped (`val->t - m->s[2].t > win`).
    #[test]
    fn a_maximum_as_old_as_the_window_is_kept() {
        let mut filter = MaxFilter::default();
        filter.update(10, 1, 100.0);
        filter.update(10, 11, 50.0);
        assert_eq!(filter.max(), 100.0);
        filter.update(10, 12, 40.0);
        assert_eq!(filter.max(), 50.0);
    }
}
