//! Resampling of blocks of a record, random draws, and quantiles.

use crossfade_core::Stream;
use rand::RngExt;

/// Quantile of sorted values at `share` (0 to 1), interpolated linearly; NaN without values.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let at = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (at - at.floor()) * (sorted[above] - sorted[below])
}

/// Median of values, the upper one of two middle values; reorders them. NaN without values.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let at = values.len() / 2;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

/// Standard deviation of a normal distribution, estimated as 1.4826 times the median of absolute `deviations` from its
/// middle.
pub(crate) fn spread(deviations: impl Iterator<Item = f64>) -> f64 {
    1.4826 * median(&mut deviations.collect::<Vec<f64>>())
}

/// Two-sided prediction interval of a sample: it contains another draw of the same distribution with probability
/// `level`. On average a share k / (n + 1) lies below value k of n in order (David and Nagaraja, Order Statistics,
/// 2003, section 2.1); a level that needs more values gives the range of the sample.
pub(crate) fn interval(values: &[f64], level: f64) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let of = |share: f64| quantile(&sorted, (share * (count + 1.0) - 1.0) / (count - 1.0).max(1.0));
    (of((1.0 - level) / 2.0), of(f64::midpoint(1.0, level)))
}

/// Bootstrap weights: the number of times that each block is drawn, in as many draws with replacement as there are
/// blocks.
pub(crate) fn weights(blocks: usize, stream: &mut Stream) -> Vec<f64> {
    let mut found = vec![0.0; blocks];
    for _ in 0..blocks {
        found[stream.random_range(0..blocks)] += 1.0;
    }
    found
}

/// Draw of the standard normal distribution (Box and Muller 1958).
pub(crate) fn normal(stream: &mut Stream) -> f64 {
    let (first, second): (f64, f64) = (stream.random(), stream.random());
    (-2.0 * libm::log(1.0 - first)).sqrt() * libm::cos(2.0 * std::f64::consts::PI * second)
}

/// Draw of the gamma distribution with the shape `shape` and scale 1 (Marsaglia and Tsang 2000).
pub(crate) fn gamma(shape: f64, stream: &mut Stream) -> f64 {
    if shape < 1.0 {
        let uniform: f64 = stream.random();
        return gamma(shape + 1.0, stream) * libm::pow(1.0 - uniform, 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(stream);
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        let uniform: f64 = stream.random();
        if libm::log(1.0 - uniform) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

/// Draw of a probability from the posterior of Jeffreys' prior, after `events` of `trials`; correlated events are given
/// as an equivalent number of independent ones.
pub(crate) fn share(events: f64, trials: f64, stream: &mut Stream) -> f64 {
    let a = gamma(events + 0.5, stream);
    let b = gamma((trials - events).max(0.0) + 0.5, stream);
    a / (a + b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    #[test]
    fn quantiles_are_between_values() {
        let values = [1.0, 2.0, 4.0];
        assert_eq!(
            [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| quantile(&values, share)),
            [1.0, 1.5, 2.0, 3.0, 4.0]
        );
        assert_eq!(median(&mut [4.0, 1.0, 2.0]), 2.0);
    }

    /// The 90 % interval of 19 values is their range, and intervals of 19, 50 and 200 values contain the next value in
    /// 90 % of the cases.
    #[test]
    fn an_interval_holds_the_next_draw() {
        let mut stream = RunSeed { seed: 5, run: 0 }.stream("interval");
        let values: Vec<f64> = (1..=19).map(f64::from).collect();
        assert_eq!(interval(&values, 0.9), (1.0, 19.0));
        for count in [19, 50, 200] {
            let held = (0..4000).filter(|_| {
                let values: Vec<f64> = (0..count).map(|_| stream.random()).collect();
                let (low, high) = interval(&values, 0.9);
                (low..=high).contains(&stream.random())
            });
            let held = held.count();
            // Four standard errors on either side: a right interval fails once in 10,000 times.
            assert!((3524..=3676).contains(&held), "{held} of 4000 with {count} values");
        }
    }

    /// Intervals from draws of a share contain the true probability about as often as stated, as Jeffreys' interval
    /// does (Brown, Cai and `DasGupta`, Statistical Science 16(2), 2001).
    #[test]
    fn shares_cover_what_they_are_drawn_for() {
        let mut stream = RunSeed { seed: 4, run: 0 }.stream("shares");
        let (p, trials) = (0.01, 3000.0);
        let covered = (0..1000).filter(|_| {
            let events = (0..3000).filter(|_| stream.random_bool(p)).count() as f64;
            let draws: Vec<f64> = (0..400).map(|_| share(events, trials, &mut stream)).collect();
            let (low, high) = interval(&draws, 0.95);
            low <= p && p <= high
        });
        let covered = covered.count();
        assert!((925..=972).contains(&covered), "{covered}");
    }
}
