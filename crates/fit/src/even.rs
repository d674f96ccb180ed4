//! Low-discrepancy points in the unit cube, for draws from assumed ranges.

use crossfade_core::Stream;
use rand::RngExt;

/// Kronecker sequence in the unit cube: multiples of three quadratic irrationals modulo 1, from a random start (Kuipers
/// and Niederreiter, Uniform Distribution of Sequences, 1974, section 2.3: such numbers have the least discrepancy per
/// side). Draws from assumed ranges use it, since ten of its points span each range, and ten independent ones often do
/// not.
pub(crate) struct Even {
    at: [f64; 3],
}

/// Step of each coordinate: the golden ratio, and the square roots of 3 and 2, each without its integer part.
const STEPS: [f64; 3] = [0.618_033_988_749_894_9, 0.732_050_807_568_877_2, 0.414_213_562_373_095_1];

impl Even {
    pub(crate) fn new(random: &mut Stream) -> Self {
        Self { at: std::array::from_fn(|_| random.random()) }
    }

    /// Returns the next point of the unit cube.
    pub(crate) fn next(&mut self) -> [f64; 3] {
        for (at, step) in self.at.iter_mut().zip(STEPS) {
            *at = (*at + step).fract();
        }
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    /// Ten successive points fall into all five parts of each side; of ten independent points, none falls into some
    /// part in 48 % of the cases.
    #[test]
    fn few_points_span_each_side() {
        for seed in 0..100 {
            let mut even = Even::new(&mut RunSeed { seed, run: 0 }.stream("even"));
            for _ in 0..20 {
                let points: Vec<[f64; 3]> = (0..10).map(|_| even.next()).collect();
                for side in 0..3 {
                    let part = |point: &[f64; 3]| (point[side] * 5.0) as usize;
                    let parts: std::collections::BTreeSet<usize> = points.iter().map(part).collect();
                    assert_eq!(parts.len(), 5, "{seed}: {points:?}");
                }
            }
        }
    }
}
