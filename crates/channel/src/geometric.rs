//! Geometric waiting times by inversion.

use crossfade_core::Stream;
use rand::Rng;

/// Number of failures before the first success of trials that succeed with probability p.
///
/// Loss processes draw the duration of a stay in a state from it, instead of every step.
#[derive(Clone, Copy, Debug)]
pub struct Geometric {
    /// 1 / ln(1 - p): minus infinity for p = 0, minus zero for p = 1.
    scale: f64,
}

impl Geometric {
    /// Creates the distribution for success probability `p`, with mean (1 - p) / p; with `p` = 0 every draw is
    /// `u64::MAX`, with `p` = 1 it is 0.
    ///
    /// # Panics
    /// If `p` is no probability.
    pub fn new(p: f64) -> Self {
        assert!((0.0..=1.0).contains(&p), "p = {p:?}: must be between 0 and 1");
        Self { scale: 1.0 / libm::log1p(-p) }
    }

    /// Draws a number of failures, always by one random number of the stream; `u64::MAX` stands for numbers too large
    /// to count.
    pub fn sample(self, stream: &mut Stream) -> u64 {
        // P[ln U / ln(1 - p) >= k] = (1 - p)^k. The conversion rounds down and saturates.
        (libm::log(open_uniform(stream)) * self.scale) as u64
    }
}

/// Uniform random number on (0, 1) without the end points, so that its logarithm is finite and never zero.
fn open_uniform(stream: &mut Stream) -> f64 {
    ((stream.next_u64() >> 12) as f64 + 0.5) * f64::EPSILON
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    fn stream() -> Stream {
        RunSeed { seed: 1, run: 0 }.stream("geometric")
    }

    #[test]
    fn frequencies_are_those_of_the_law() {
        for p in [0.003, 0.2, 0.5, 0.97] {
            let (law, mut stream, n) = (Geometric::new(p), stream(), 20_000);
            let draws: Vec<u64> = (0..n).map(|_| law.sample(&mut stream)).collect();
            for k in [0, 1, 2, 5, 100] {
                let expected = (1.0_f64 - p).powi(k);
                let share = draws.iter().filter(|&&x| x >= k as u64).count() as f64 / f64::from(n);
                let four_sigma = 4.0 * (expected * (1.0 - expected) / f64::from(n)).sqrt();
                assert!((share - expected).abs() <= four_sigma, "P[X >= {k}] at p {p}: {share}, {expected}");
            }
        }
    }

    #[test]
    fn certainty_and_impossibility() {
        let mut stream = stream();
        for _ in 0..1000 {
            assert_eq!(Geometric::new(1.0).sample(&mut stream), 0);
            assert_eq!(Geometric::new(0.0).sample(&mut stream), u64::MAX);
            // The smallest probabilities saturate: they must not wrap round.
            assert!(Geometric::new(1e-300).sample(&mut stream) == u64::MAX);
        }
    }
}
