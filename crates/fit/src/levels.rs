//! Change points of a series, at which its level shifts.

use crate::bootstrap::median;

/// Stretch of a series with a constant level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Index of the stretch's first value.
    pub from: usize,
    /// One past the index of the stretch's last value.
    pub to: usize,
    /// Mean of the stretch's values.
    pub mean: f64,
}

/// Splits a series of n values into stretches of constant level by optimal partitioning with pruning (PELT; Killick,
/// Fearnhead and Eckley, JASA 107, 2012): least squares, with a penalty per change of `penalty` times ln n times the
/// variance of the noise. The variance comes from differences of neighbours, so shifts do not enlarge it.
pub fn segments(values: &[f64], penalty: f64) -> Vec<Level> {
    let n = values.len();
    if n == 0 {
        return Vec::new();
    }
    let mut sums = vec![(0.0, 0.0)];
    for value in values {
        let (sum, squares) = sums[sums.len() - 1];
        sums.push((sum + value, squares + value * value));
    }
    let cost = |from: usize, to: usize| {
        let (sum, squares) = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
        (squares - sum * sum / (to - from) as f64).max(0.0)
    };
    let mut steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    // The median of |N(0, 2 s^2)| is 0.954 s.
    let deviation = if steps.is_empty() { 0.0 } else { median(&mut steps) / 0.954 };
    // In a series without noise, any shift is a change.
    let scale = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let variance = (deviation * deviation).max(1e-12 * scale * scale).max(f64::MIN_POSITIVE);
    let price = penalty * libm::log((n as f64).max(2.0)) * variance;
    let (mut best, mut before) = (vec![-price; n + 1], vec![0; n + 1]);
    let mut candidates = vec![0];
    for to in 1..=n {
        let totals: Vec<f64> = candidates.iter().map(|from| best[*from] + cost(*from, to)).collect();
        let (at, least) = totals.iter().enumerate().fold((0, f64::INFINITY), |least, (at, total)| {
            if *total < least.1 { (at, *total) } else { least }
        });
        best[to] = least + price;
        before[to] = candidates[at];
        let mut index = 0;
        candidates.retain(|_| {
            index += 1;
            totals[index - 1] <= best[to]
        });
        candidates.push(to);
    }
    let mut found = Vec::new();
    let mut to = n;
    while to > 0 {
        let from = before[to];
        found.push(Level { from, to, mean: (sums[to].0 - sums[from].0) / (to - from) as f64 });
        to = from;
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    #[test]
    fn shifts_are_found_where_they_are() {
        let exact = [1.0, 1.0, 1.0, 5.0, 5.0, 2.0, 2.0, 2.0];
        let of = |values: &[f64]| {
            segments(values, 3.0).iter().map(|level| (level.from, level.mean)).collect::<Vec<_>>()
        };
        assert_eq!(of(&exact), [(0, 1.0), (3, 5.0), (5, 2.0)]);
        assert_eq!(of(&[4.0; 50]), [(0, 4.0)]);
        assert_eq!(of(&[]), []);
    }

    /// With a penalty of 3 ln n, at most 20 of 200 series of 200 noise values are split, and a shift of four standard
    /// deviations is found in at least 195 of them.
    #[test]
    fn noise_has_no_levels() {
        let (mut cut, mut found) = (0, 0);
        for seed in 0..200 {
            let mut stream = RunSeed { seed, run: 0 }.stream("levels");
            let mut values: Vec<f64> = (0..200).map(|_| crate::bootstrap::normal(&mut stream)).collect();
            cut += usize::from(segments(&values, 3.0).len() > 1);
            values[90..].iter_mut().for_each(|value| *value += 4.0);
            let levels = segments(&values, 3.0);
            found += usize::from(levels.iter().any(|level| level.from.abs_diff(90) <= 1));
        }
        assert!(cut <= 20, "{cut} of 200 are cut");
        assert!(found >= 195, "{found} of 200");
    }
}
