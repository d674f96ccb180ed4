//! Lengths of runs of lost or of delivered packets, compared with the geometric law of a first-order chain.

use crate::chi_square::ChiSquareTest;
use crossfade_core::square;

/// Lengths of the good (delivered) or of the bad (lost) runs of a trace, compared with those of the fitted chain.
///
/// The first and the last run of the trace are left out, since their full lengths are unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLengths {
    /// Run lengths that occur in the trace, in packets, in increasing order.
    pub lengths: Vec<u64>,
    /// Number of runs with each length of `lengths`.
    pub counts: Vec<u64>,
    /// Share of runs at least as long as each length of `lengths`.
    pub survival: Vec<f64>,
    /// Share of runs at least as long as each length of `lengths` in the fitted chain: `p^(length - 1)`, p the
    /// probability of staying in the state.
    pub fitted: Vec<f64>,
    /// Largest difference between the observed and the fitted distribution of run lengths.
    pub distance: RunDistance,
    /// Pearson's test of the geometric law; `None` with too few runs or different lengths.
    pub test: Option<ChiSquareTest>,
}

/// Largest difference between two distributions of run lengths, observed and fitted (Kolmogorov's distance).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunDistance {
    /// Run length, in packets, at which the difference is largest.
    pub length: u64,
    /// Share of observed runs with at least this length.
    pub observed: f64,
    /// Probability in the fitted chain of a run of at least this length.
    pub fitted: f64,
}

impl RunDistance {
    /// Largest difference between the two distributions, from 0 to 1.
    pub fn value(&self) -> f64 {
        (self.observed - self.fitted).abs()
    }
}

impl RunLengths {
    /// Compares complete runs (at least one) with a chain that ends a run with probability `p_end` after each packet.
    pub(crate) fn new(mut runs: Vec<u64>, p_end: f64) -> Self {
        runs.sort_unstable();
        let total = runs.len() as f64;
        let law = GeometricRuns { p_end };
        let mut found = Self {
            lengths: Vec::new(),
            counts: Vec::new(),
            survival: Vec::new(),
            fitted: Vec::new(),
            distance: RunDistance { length: 1, observed: 1.0, fitted: 1.0 },
            test: chi_square(&runs, law),
        };
        let mut shorter = 0;
        for same in runs.chunk_by(|a, b| a == b) {
            let length = same[0];
            let observed = 1.0 - shorter as f64 / total;
            shorter += same.len();
            found.lengths.push(length);
            found.counts.push(same.len() as u64);
            found.survival.push(observed);
            found.fitted.push(law.survival(length));
            // The observed share falls just behind a length that occurs, so the difference peaks at or just behind one.
            for (length, observed) in [(length, observed), (length + 1, 1.0 - shorter as f64 / total)] {
                let here = RunDistance { length, observed, fitted: law.survival(length) };
                if here.value() > found.distance.value() {
                    found.distance = here;
                }
            }
        }
        found
    }

    /// Number of complete runs.
    pub fn runs(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Geometric distribution of the run lengths of a first-order chain.
#[derive(Clone, Copy)]
struct GeometricRuns {
    p_end: f64,
}

impl GeometricRuns {
    /// Probability of a run of at least `length` packets.
    fn survival(self, length: u64) -> f64 {
        // 0 times minus infinity would be NaN.
        if length <= 1 { 1.0 } else { libm::exp((length - 1) as f64 * libm::log1p(-self.p_end)) }
    }
}

/// Least expected number of runs in a bin; with fewer, the statistic does not follow a chi-square distribution (the
/// usual rule).
const MIN_EXPECTED: f64 = 5.0;
/// Maximum number of bins, so that each is wide enough to show a systematic difference.
const MOST_BINS: f64 = 50.0;

/// Pearson's chi-square test, with neighbouring lengths pooled until a bin has enough expected runs.
///
/// One degree of freedom is subtracted for the fitted probability. Since that is fitted to the single lengths, not the
/// bins, the true law lies between those with one degree less and none (Chernoff and Lehmann 1954): at 5 %, 5 to 6 % of
/// true hypotheses are rejected.
fn chi_square(sorted: &[u64], law: GeometricRuns) -> Option<ChiSquareTest> {
    let total = sorted.len() as f64;
    let share = f64::max(MIN_EXPECTED / total, 1.0 / MOST_BINS);
    let (mut statistic, mut bins) = (0.0, 0_u32);
    let mut from = 1;
    loop {
        let above = law.survival(from);
        // The next bin's first length: the smallest that leaves `share` in this one.
        let width = (libm::log1p(-share / above) / libm::log1p(-law.p_end)).ceil();
        let mut to = from.saturating_add((width as u64).max(1));
        let is_last = above < 2.0 * share || law.survival(to) < share;
        if is_last {
            to = u64::MAX;
        }
        let expected = total * (above - if is_last { 0.0 } else { law.survival(to) });
        let observed = sorted.partition_point(|&run| run < to) - sorted.partition_point(|&run| run < from);
        statistic += square(observed as f64 - expected) / expected;
        bins += 1;
        if is_last {
            return ChiSquareTest::new(statistic, bins.saturating_sub(2));
        }
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_counted_and_compared() {
        let found = RunLengths::new(vec![3, 1, 1, 2, 3, 3, 8, 1], 0.5);
        assert_eq!(found.lengths, [1, 2, 3, 8]);
        assert_eq!(found.counts, [3, 1, 3, 1]);
        assert_eq!(found.survival, [1.0, 0.625, 0.5, 0.125]);
        for (fitted, expected) in found.fitted.iter().zip([1.0, 0.5, 0.25, 1.0 / 128.0]) {
            assert!((fitted - expected).abs() < 1e-15);
        }
        // P[run >= 3] is 4/8 against 1/4.
        assert_eq!((found.distance.length, found.distance.observed), (3, 0.5));
        assert!((found.distance.value() - 0.25).abs() < 1e-15);
        assert_eq!(found.runs(), 8);
        assert_eq!(found.test, None);
    }

    #[test]
    fn the_chi_square_test_pools_bins() {
        // 32 runs, p 1/2: bins 1, 2 and 3 or more expect 16, 8 and 8 runs; 3 alone would expect 4.
        let runs = [vec![1; 20], vec![2; 4], vec![3; 2], vec![5; 6]].concat();
        let test = RunLengths::new(runs, 0.5).test.unwrap();
        assert_eq!(test.freedom, 1);
        assert!((test.statistic - (1.0 + 2.0 + 0.0)).abs() < 1e-12, "{}", test.statistic);
        // Long runs: equal shares. 1000 runs, 0.999 to stay: 50 bins of 20 runs or a little more.
        let runs: Vec<u64> = (0..1000)
            .map(|i| 1 + ((1.0 - (f64::from(i) + 0.5) / 1000.0).ln() / 0.999_f64.ln()) as u64)
            .collect();
        let test = RunLengths::new(runs, 0.001).test.unwrap();
        assert!((40..=48).contains(&test.freedom), "{}", test.freedom);
        assert!(test.statistic < 5.0, "quantiles of the law itself: {}", test.statistic);
    }

    #[test]
    fn runs_of_one_packet_that_always_end_are_not_tested() {
        let found = RunLengths::new(vec![1; 100], 1.0);
        assert_eq!(found.test, None);
        assert_eq!(found.distance.value(), 0.0);
        assert_eq!(found.fitted, [1.0]);
    }
}
