//! A quantile of all runs together, from a few quantiles of each.

use crate::estimate::{Estimate, MethodKind};
use crate::square::square;
use crate::student::student_quantiles;

/// What a run keeps of a distribution: how many values there were, and the quantiles at [`RunQuantiles::SHARES`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunQuantiles {
    /// How many values the run had; above 0.
    pub count: f64,
    /// Its quantiles, rising.
    pub quantiles: [f64; RunQuantiles::SHARES.len()],
}

impl RunQuantiles {
    /// Close to the usual quantiles, and to those of one bad run in ten that decide the quantiles of all: its 50 % is their
    /// 95 %, its 90 % their 99 %. Between them a run is taken to be spread evenly.
    pub const SHARES: [f64; 9] = [0.0, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.999, 1.0];

    /// The share of its values up to `x`.
    fn share_below(&self, x: f64) -> f64 {
        let xs = &self.quantiles;
        match xs.iter().rposition(|at| *at <= x) {
            None => 0.0,
            Some(last) if last + 1 == xs.len() => 1.0,
            Some(i) => {
                let part = (x - xs[i]) / (xs[i + 1] - xs[i]);
                Self::SHARES[i] + part * (Self::SHARES[i + 1] - Self::SHARES[i])
            }
        }
    }
}

/// The value that a share `p` of the values of all runs together does not exceed, each value counting once; `None` of no
/// runs.
///
/// The interval is Woodruff's ("Confidence intervals for medians and other position measures", J. American Statistical
/// Association 47, 1952): runs are clusters of values, the share of values below the quantile is a ratio of two sums over
/// them, and the ends of Student's interval of that share are taken back to the values. It is not symmetric, so
/// `ci95` is empty.
pub fn pooled_quantile(runs: &[RunQuantiles], p: f64) -> Option<Estimate> {
    let total: f64 = runs.iter().map(|run| run.count).sum();
    if !(total > 0.0 && total.is_finite()) {
        return None;
    }
    let share = |x: f64| runs.iter().map(|run| run.count * run.share_below(x)).sum::<f64>() / total;
    let ends = runs.iter().map(|run| (run.quantiles[0], run.quantiles[RunQuantiles::SHARES.len() - 1]));
    let (least, most) =
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), (low, high)| (a.min(low), b.max(high)));
    let quantile = |p: f64| {
        // The smallest value with as large a share at or below it.
        if share(least) >= p {
            return least;
        }
        let (mut low, mut high) = (least, most);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if share(middle) >= p { high = middle } else { low = middle }
        }
        high
    };
    let value = quantile(p);
    let n = runs.len() as f64;
    let limits = (runs.len() > 1).then(|| {
        let residual = |run: &RunQuantiles| square(run.count * (run.share_below(value) - p));
        let error = (runs.iter().map(residual).sum::<f64>() * n / (n - 1.0)).sqrt() / total;
        let half = student_quantiles(runs.len())[0] * error;
        (quantile((p - half).max(0.0)), quantile((p + half).min(1.0)))
    });
    let (low, high) = limits.unzip();
    Some(Estimate { value, ci95: None, low, high, n: runs.len() as u64, method: MethodKind::Simulation })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DelayHistogram, RunSeed, SimTime};
    use rand::Rng;

    /// A run of delays, in seconds, and what it keeps.
    fn run(delays: impl Iterator<Item = f64>) -> (DelayHistogram, RunQuantiles) {
        let mut histogram = DelayHistogram::default();
        delays.for_each(|delay| histogram.record(SimTime::from_secs_f64(delay)));
        let quantiles = RunQuantiles::SHARES.map(|p| histogram.quantile(p).unwrap().as_secs_f64());
        let count = histogram.count() as f64;
        (histogram, RunQuantiles { count, quantiles })
    }

    #[test]
    fn one_bad_run_decides_the_quantiles_of_all_as_in_one_long_run() {
        // Nine runs with delays of 1 to 100 ms, one of twice as many packets with up to 10 s.
        let good = |_| run((1..=1000).map(|i| f64::from(i) * 1e-4));
        let mut runs: Vec<_> = (0..9).map(good).collect();
        runs.push(run((1..=2000).map(|i| f64::from(i) * 5e-3)));
        let mut all = DelayHistogram::default();
        for (histogram, _) in &runs {
            all.merge(histogram);
        }
        let kept: Vec<RunQuantiles> = runs.iter().map(|(_, kept)| *kept).collect();
        for (p, by_hand) in [(0.95, 7.25), (0.99, 9.45), (0.5, 0.06)] {
            let found = pooled_quantile(&kept, p).unwrap().value;
            let exact = all.quantile(p).unwrap().as_secs_f64();
            assert!((found / exact - 1.0).abs() < 0.03, "{p}: {found} against {exact}");
            assert!((found / by_hand - 1.0).abs() < 0.05, "{p}: {found} against {by_hand}");
        }
        // The mean of the runs' own 99 % is another number: (9 * 0.099 + 9.9) / 10.
        let mean = kept.iter().map(|run| run.quantiles[6]).sum::<f64>() / 10.0;
        assert!((mean - 1.079).abs() < 0.02, "{mean}");
        // One run of ten is all that there is of the tail, and the interval says so. Of its 2000 values 27.5 % lie above, of the
        // others' none: residuals of -450 and nine times 50, so that the share is 0.95 ± t(0.975, 9) sqrt(225000 10/9) / 11000 =
        // 0.95 ± 0.1028. Below 0.8472 lie all 9000 good ones and 319 of the bad run, up to 1.6 s; above is only the end.
        let found = pooled_quantile(&kept, 0.95).unwrap();
        assert!((found.low.unwrap() / 1.596 - 1.0).abs() < 0.02, "{found:?}");
        assert!((found.high.unwrap() / 10.0 - 1.0).abs() < 0.02 && found.ci95.is_none(), "{found:?}");
    }

    #[test]
    fn the_interval_covers() {
        // Runs of exponential delays whose mean differs from run to run, by 0.5 to 1.5: the truth of 95 % is where the mean of
        // exp(-x / m) over m is 0.05.
        let above =
            |x: f64| (0..2000).map(|i| (-x / (0.50025 + 0.0005 * f64::from(i))).exp()).sum::<f64>() / 2000.0;
        let truth = (0..60).fold((1.0_f64, 9.0_f64), |(low, high), _| {
            let middle = f64::midpoint(low, high);
            if above(middle) > 0.05 { (middle, high) } else { (low, middle) }
        });
        let mut stream = RunSeed { seed: 1, run: 0 }.stream("pooled");
        let mut uniform = || ((stream.next_u64() >> 12) as f64 + 0.5) * f64::EPSILON;
        let experiments = 400;
        let covered = (0..experiments).filter(|_| {
            let runs: Vec<RunQuantiles> = (0..10)
                .map(|_| {
                    let mean = 0.5 + uniform();
                    run((0..200).map(|_| -mean * uniform().ln())).1
                })
                .collect();
            let found = pooled_quantile(&runs, 0.95).unwrap();
            (found.low.unwrap()..=found.high.unwrap()).contains(&truth.0)
        });
        let covered = covered.count();
        // 95 % of 400, less three standard deviations.
        assert!(covered >= 367, "{covered} of {experiments}");
    }

    #[test]
    fn equal_values_have_no_width() {
        let run = RunQuantiles { count: 5.0, quantiles: [0.02; 9] };
        let found = pooled_quantile(&[run; 3], 0.99).unwrap();
        assert_eq!((found.value, found.low, found.high), (0.02, Some(0.02), Some(0.02)));
        assert_eq!(pooled_quantile(&[run], 0.99).unwrap().low, None);
        assert_eq!(pooled_quantile(&[], 0.99), None);
    }
}
