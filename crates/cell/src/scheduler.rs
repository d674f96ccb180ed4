//! Schedulers of a cell: allocation of frequency bins to users.

/// Scheduler, which allocates the frequency bins of a slot to users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allocation {
    /// Each user always has one fixed bin.
    Static,
    /// Each user has one bin in each slot: the one with the best predicted SNR among `candidates` evenly spread bins.
    /// Users choose in turns.
    BestBin {
        /// Number of bins among which a user chooses, evenly spread over the band.
        candidates: usize,
    },
    /// Each bin goes to the next user in turn with data to send.
    RoundRobin,
    /// Each bin goes to the user with the highest predicted SNR in it.
    MaxSinr,
    /// Each bin goes to the user with the highest ratio of predicted rate in it to the user's mean rate over a window
    /// of slots.
    ProportionalFair {
        /// Length in slots of the exponential window over which a user's rate is averaged.
        window_slots: f64,
    },
}

impl Allocation {
    /// Greatest number of bins that `users` users can use in a slot of `bins` bins.
    pub fn usable(self, bins: usize, users: usize) -> usize {
        match self {
            Self::Static | Self::BestBin { .. } => users.min(bins),
            Self::RoundRobin | Self::MaxSinr | Self::ProportionalFair { .. } => bins,
        }
    }
}

/// Candidate bins: the middles of `candidates` equal parts of the band.
pub(crate) fn spread(bins: usize, candidates: usize) -> Vec<usize> {
    (0..candidates).map(|i| (2 * i + 1) * bins / (2 * candidates)).collect()
}

/// Exponentially weighted mean of the bits sent to each user per slot, the divisor of proportional fairness. Failed
/// frames count: otherwise a user without any reception would get all bins (`docs/cell.md`).
#[derive(Clone, Debug)]
pub(crate) struct Fairness {
    had: Vec<f32>,
    weight: f32,
}

impl Fairness {
    /// Initial means, close to 0 for all users.
    pub(crate) fn new(users: usize, window_slots: f64) -> Self {
        Self { had: vec![1e-3; users], weight: (1.0 / window_slots) as f32 }
    }

    /// Mean of the bits per slot of `user`, by which its rates are divided.
    pub(crate) fn divisor(&self, user: usize) -> f32 {
        self.had[user]
    }

    /// Updates the means with the bits that each user got in this slot.
    pub(crate) fn pass(&mut self, got: &[f32]) {
        for (had, got) in self.had.iter_mut().zip(got) {
            *had = (*had + (got - *had) * self.weight).max(1e-6);
        }
    }
}

/// Binary logarithm of numbers of at least 1, with an error below 1e-3, which suffices to rank rates.
#[inline]
pub(crate) fn rough_log2(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = (bits >> 23) as f32 - 127.0;
    let m = f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000) - 1.0;
    // Minimax quartic without a constant term that is 1 at 1.
    exponent + m * (1.438_5 + m * (-0.677_7 + m * (0.323_2 - m * 0.084_0)))
}

/// Index of the greatest of `scores`, the first of several equal ones; `None` if none is above minus infinity.
pub(crate) fn greatest(scores: &[f32]) -> Option<usize> {
    const LANES: usize = 16;
    let greater = |a: f32, b: f32| if b > a { b } else { a };
    // Independent maxima, which the compiler vectorises.
    let mut most = [f32::NEG_INFINITY; LANES];
    let chunks = scores.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        most.iter_mut().zip(chunk).for_each(|(most, &score)| *most = greater(*most, score));
    }
    most.iter_mut().zip(rest).for_each(|(most, &score)| *most = greater(*most, score));
    let greatest = most.into_iter().fold(f32::NEG_INFINITY, greater);
    if greatest == f32::NEG_INFINITY { None } else { scores.iter().position(|&score| score == greatest) }
}

/// Row (user) with the highest score in each bin, the first of several equal ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Best {
    scores: Vec<f32>,
    rows: Vec<u32>,
}

impl Best {
    /// Resets to `bins` bins without a score.
    pub(crate) fn clear(&mut self, bins: usize) {
        self.scores.clear();
        self.scores.resize(bins, f32::NEG_INFINITY);
        self.rows.clear();
        self.rows.resize(bins, 0);
    }

    /// Compares the scores of `row` in all bins with the highest so far; rows come in rising order.
    pub(crate) fn compare(&mut self, row: usize, scores: &[f32]) {
        for ((best, holder), &score) in self.scores.iter_mut().zip(&mut self.rows).zip(scores) {
            let is_better = score > *best;
            *best = if is_better { score } else { *best };
            *holder = if is_better { row as u32 } else { *holder };
        }
    }

    /// Row with the highest score in `bin`; `None` if no score is above minus infinity.
    pub(crate) fn of(&self, bin: usize) -> Option<usize> {
        (self.scores[bin] > f32::NEG_INFINITY).then_some(self.rows[bin] as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_channel::complex_normal;
    use crossfade_core::RunSeed;

    #[test]
    fn candidates_are_spread_evenly() {
        assert_eq!(spread(25, 2), [6, 18]);
        assert_eq!(spread(25, 1), [12]);
        assert_eq!(spread(25, 25), (0..25).collect::<Vec<_>>());
    }

    #[test]
    fn the_logarithm_is_near_enough() {
        for i in 0..100_000 {
            let x = 1.0 + (i as f32 * 0.001).powi(2);
            assert!((rough_log2(x) - x.log2()).abs() < 1e-3, "{x}: {}", rough_log2(x) - x.log2());
        }
    }

    #[test]
    fn the_greatest_is_the_first_of_equals() {
        let none = f32::NEG_INFINITY;
        assert_eq!(greatest(&[]), None);
        assert_eq!(greatest(&[none; 20]), None);
        // 40 scores of few values: against the plain search, and two rows against each other.
        for seed in 0..500_u32 {
            let score = |i: u32| match (i * i + 7 * seed + (seed >> 3) * i) % 11 {
                0 => none,
                value => value as f32,
            };
            for length in 0..40 {
                let scores: Vec<f32> = (0..length).map(score).collect();
                let highest = scores.iter().copied().fold(none, f32::max);
                let first = scores.iter().position(|&score| score == highest && score > none);
                assert_eq!(greatest(&scores), first, "{scores:?}");
            }
            let rows: [Vec<f32>; 3] =
                std::array::from_fn(|row| (0..25).map(|i| score(i + 9 * row as u32)).collect());
            let mut best = Best::default();
            best.clear(25);
            rows.iter().enumerate().for_each(|(row, scores)| best.compare(row, scores));
            let of_bin = |bin: usize| greatest(&rows.each_ref().map(|row| row[bin]));
            assert!((0..25).all(|bin| best.of(bin) == of_bin(bin)));
        }
    }

    #[test]
    fn proportional_fair_has_its_closed_form() {
        // Independent Rayleigh fading, rates proportional to power, full buffers: each of N users has the share 1/N of
        // the slots and the gain H_N = 1 + 1/2 + .. + 1/N over round robin, whatever the means.
        let (means, slots) = ([1.0_f32, 3.0, 10.0, 40.0], 60_000);
        let mut stream = RunSeed { seed: 4, run: 0 }.stream("scheduler");
        let mut fairness = Fairness::new(means.len(), 2000.0);
        let (mut had, mut served) = ([0.0; 4], [0.0; 4]);
        for slot in 0..slots + 10_000 {
            let rates = means.map(|mean| mean * complex_normal(&mut stream).norm_sqr() as f32);
            let user = greatest(&[0, 1, 2, 3].map(|user| rates[user] / fairness.divisor(user))).unwrap();
            let mut got = [0.0; 4];
            got[user] = rates[user];
            fairness.pass(&got);
            if slot >= 10_000 {
                had[user] += f64::from(rates[user]);
                served[user] += 1.0;
            }
        }
        let harmonic = 1.0 + 1.0 / 2.0 + 1.0 / 3.0 + 1.0 / 4.0;
        for user in 0..4 {
            let (share, gain) = (
                served[user] / f64::from(slots),
                had[user] / f64::from(slots) / (f64::from(means[user]) / 4.0),
            );
            assert!((share - 0.25).abs() < 0.01, "user {user}: {share}");
            assert!((gain / harmonic - 1.0).abs() < 0.03, "user {user}: {gain}");
        }
    }
}
