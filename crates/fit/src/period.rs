//! Permutation test for a given period in a series.

use crossfade_core::Stream;
use rand::RngExt;

/// Result of the permutation test for a period in a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Tested period in seconds.
    pub period_s: f64,
    /// Largest deviation of the mean at one phase of the period from the mean of the series, in standard deviations of
    /// the series.
    pub strength: f64,
    /// Probability of a deviation at least as large without the period, estimated from random orders of stretches of
    /// the series.
    pub p_value: f64,
}

/// Number of phase bins of a period.
const BINS: usize = 15;
/// Number of random orders of the stretches: the smallest p-value is 0.001.
const PERMUTATIONS: usize = 999;

/// Tests whether a series with a step of `step_s` and missing values (`None`) has the period `period_s`, both in
/// seconds: its means by phase are compared with those of random orders of stretches of a fifth of the period. `None`
/// if the series is shorter than four periods, has fewer than 150 values, or is constant.
pub fn period(values: &[Option<f64>], step_s: f64, period_s: f64, stream: &mut Stream) -> Option<Period> {
    let lasts = values.len() as f64 * step_s;
    let there = || values.iter().flatten();
    let count = there().count() as f64;
    if lasts < 4.0 * period_s || count < 10.0 * BINS as f64 {
        return None;
    }
    let mean = there().sum::<f64>() / count;
    let deviation = (there().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count).sqrt();
    if deviation <= 1e-9 * mean.abs() {
        return None;
    }
    let length = ((period_s / 5.0 / step_s).round() as usize).max(1);
    let folded = |order: &[usize]| {
        let mut sums = [(0.0, 0.0); BINS];
        let series = order.iter().flat_map(|block| values.chunks(length).nth(*block).unwrap_or_default());
        for (index, value) in series.enumerate() {
            let phase = (index as f64 * step_s / period_s).fract();
            if let Some(value) = value {
                let bin = &mut sums[((phase * BINS as f64) as usize).min(BINS - 1)];
                bin.0 += value - mean;
                bin.1 += 1.0;
            }
        }
        let least = 0.2 * count / BINS as f64;
        sums.iter().filter(|bin| bin.1 >= least).map(|bin| (bin.0 / bin.1).abs()).fold(0.0, f64::max)
    };
    let mut order: Vec<usize> = (0..values.len().div_ceil(length)).collect();
    let strength = folded(&order);
    let mut as_strong = 0;
    for _ in 0..PERMUTATIONS {
        for last in (1..order.len()).rev() {
            order.swap(last, stream.random_range(0..=last));
        }
        as_strong += usize::from(folded(&order) >= strength);
    }
    let p_value = (as_strong + 1) as f64 / (PERMUTATIONS + 1) as f64;
    Some(Period { period_s, strength: strength / deviation, p_value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::normal;
    use crossfade_core::RunSeed;

    #[test]
    fn a_period_of_15_s_is_found_and_noise_has_none() {
        let (mut found, mut wrong, mut sum) = (0, 0, 0.0);
        for seed in 0..40 {
            let mut stream = RunSeed { seed, run: 0 }.stream("period");
            let noise: Vec<f64> = (0..1200).map(|_| normal(&mut stream)).collect();
            let of = |add: &dyn Fn(usize) -> f64| {
                noise.iter().enumerate().map(|(at, noise)| Some(noise + add(at))).collect::<Vec<_>>()
            };
            let steps = of(&|at| if at % 150 < 20 { -1.5 } else { 0.0 });
            found += usize::from(period(&steps, 0.1, 15.0, &mut stream).unwrap().p_value <= 0.01);
            let of_noise = period(&of(&|_| 0.0), 0.1, 15.0, &mut stream).unwrap().p_value;
            wrong += usize::from(of_noise <= 0.01);
            sum += of_noise / 40.0;
        }
        assert!(found >= 38 && wrong <= 3, "{found} of 40 found, {wrong} wrongly");
        // P-values of noise are uniform between 0 and 1: the mean of 40 has a standard error of 0.046. A strength 15 %
        // too large halves it.
        assert!((0.32..0.68).contains(&sum), "mean p-value of noise {sum}");
        let mut stream = RunSeed { seed: 1, run: 0 }.stream("period");
        assert_eq!(period(&[Some(1.0); 300], 0.1, 15.0, &mut stream), None, "two periods are too few");
    }
}
