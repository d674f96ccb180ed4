//! Rayleigh fading process, sampled as a sum of sinusoids.
//!
//! Clarke's model: h(k) is the sum of N waves of equal power with independent uniform phases and Doppler
//! shifts `fd_t` cos(alpha). The waves come in pairs from alpha and pi - alpha, whose shifts differ in sign:
//!
//! ```text
//! h(k) = sqrt(2/M) sum over m of exp(i theta_m) cos(2 pi fd_t cos(alpha_m) k + phi_m),   M = N/2
//! ```
//!
//! Each angle alpha is uniform on its own one of M equal parts of [0, pi/2]. Over realisations the autocorrelation is
//! exactly `J0(2 pi fd_t k)`. Dividing the quarter circle keeps that of a single realisation close to it, and equal
//! powers keep its mean power over time at 1. A finite sum is not quite Gaussian: deep fades are rarer than Rayleigh's
//! by 1/(2N) of their probability. [`RayleighLoss`] corrects its threshold for this.

use crate::error::{ChannelError, probability};
use crate::loss::{Clock, LossProcess};
use crate::rayleigh::{RayleighFading, threshold};
use crossfade_core::{SimTime, Stream};
use num_complex::Complex64;
use rand::{Rng, RngExt};
use std::f64::consts::{FRAC_PI_2, TAU};

/// Number M of pairs of waves. The cost grows with it, and the remaining bias falls with it.
const PAIRS: usize = 64;
/// Number N of waves.
const WAVES: usize = 2 * PAIRS;
/// Number of steps that are computed together: phases are exact at the first, the others follow by recurrence.
const BLOCK: usize = 64;
/// Number of partial sums, so that additions need not wait for each other and fill vector registers.
const LANES: usize = 4;

/// Complex gain of a Rayleigh fading channel, one value a step; mean power 1, correlation `J0(2 pi fd_t k)`.
///
/// The gain depends on the stream and the step alone, so steps can be computed in any order. In increasing order a step
/// takes about 50 ns; a jump costs the 64 steps around it.
#[derive(Clone, Debug)]
pub struct SampledRayleigh {
    pairs: Box<Pairs>,
    /// Number of the block of steps whose gains are stored.
    block: u64,
    gains: Box<[Complex64; BLOCK]>,
}

/// Parameters of the pairs of waves, one array for each property.
#[derive(Clone, Debug)]
struct Pairs {
    /// Phase at step 0 and its change per step, in units of 2^-64 turns: whole turns wrap, and phases stay
    /// exact however far the process has run.
    phase: [u64; PAIRS],
    shift: [u64; PAIRS],
    /// Cosine and sine of the change per step.
    cos_shift: [f64; PAIRS],
    sin_shift: [f64; PAIRS],
    /// Complex weight sqrt(2/M) exp(i theta), real and imaginary parts.
    weight_re: [f64; PAIRS],
    weight_im: [f64; PAIRS],
}

impl SampledRayleigh {
    /// Creates a realisation of `fading`, drawn from `stream`.
    pub fn new(fading: RayleighFading, stream: Stream) -> Self {
        let pairs = Box::new(Pairs::draw(fading.fd_t(), stream));
        let gains = Box::new(pairs.gains(0));
        Self { pairs, block: 0, gains }
    }

    /// Complex gain at step number `step`.
    pub fn gain(&mut self, step: u64) -> Complex64 {
        let block = step / BLOCK as u64;
        if block != self.block {
            *self.gains = self.pairs.gains(block);
            self.block = block;
        }
        self.gains[(step % BLOCK as u64) as usize]
    }
}

impl Pairs {
    fn draw(fd_t: f64, mut stream: Stream) -> Self {
        let mut pairs = Self {
            phase: [0; PAIRS],
            shift: [0; PAIRS],
            cos_shift: [0.0; PAIRS],
            sin_shift: [0.0; PAIRS],
            weight_re: [0.0; PAIRS],
            weight_im: [0.0; PAIRS],
        };
        for m in 0..PAIRS {
            let alpha = FRAC_PI_2 * (m as f64 + stream.random::<f64>()) / PAIRS as f64;
            pairs.shift[m] = from_turns(fd_t * libm::cos(alpha));
            (pairs.sin_shift[m], pairs.cos_shift[m]) = libm::sincos(radians(pairs.shift[m]));
            pairs.phase[m] = stream.next_u64();
            let (sin, cos) = libm::sincos(radians(stream.next_u64()));
            let amplitude = (2.0 / PAIRS as f64).sqrt();
            (pairs.weight_re[m], pairs.weight_im[m]) = (amplitude * cos, amplitude * sin);
        }
        pairs
    }

    /// Complex gains of all steps of block number `block`.
    fn gains(&self, block: u64) -> [Complex64; BLOCK] {
        let start = block * BLOCK as u64;
        // cos(x + w) = 2 cos(w) cos(x) - cos(x - w). Over a block, rounding grows to 1e-12 at most.
        let (mut now, mut before) = ([0.0; PAIRS], [0.0; PAIRS]);
        let double_cos = self.cos_shift.map(|cos| 2.0 * cos);
        for m in 0..PAIRS {
            let phase = self.phase[m].wrapping_add(self.shift[m].wrapping_mul(start));
            let (sin, cos) = libm::sincos(radians(phase));
            (now[m], before[m]) = (cos, cos * self.cos_shift[m] + sin * self.sin_shift[m]);
        }
        let mut gains = [Complex64::ZERO; BLOCK];
        for gain in &mut gains {
            let (mut re, mut im) = ([0.0; LANES], [0.0; LANES]);
            for first in (0..PAIRS).step_by(LANES) {
                for lane in 0..LANES {
                    let m = first + lane;
                    re[lane] += self.weight_re[m] * now[m];
                    im[lane] += self.weight_im[m] * now[m];
                    let next = double_cos[m] * now[m] - before[m];
                    before[m] = now[m];
                    now[m] = next;
                }
            }
            *gain = Complex64::new(re.iter().sum(), im.iter().sum());
        }
        gains
    }
}

/// A whole turn of a phase in its integer unit: 2^64.
const TURN: f64 = (1_u128 << 64) as f64;

/// Phase given in turns, as an integer in units of 2^-64 turns; whole turns are dropped.
fn from_turns(turns: f64) -> u64 {
    (((turns - turns.round()) * TURN) as i64).cast_unsigned()
}

/// Phase in radians, between -pi and pi, from its integer in units of 2^-64 turns.
fn radians(phase: u64) -> f64 {
    phase.cast_signed() as f64 * (TAU / TURN)
}

/// Loss process that loses transmissions while the power of a [`SampledRayleigh`] process is below a threshold.
///
/// The threshold is 1/F, raised to compensate for the deep fades that a finite number of waves lacks: over realisations
/// the loss rate is `p_e` with a relative error of 1e-5. (A single endless realisation would be off by 1/N rms, 0.8 %,
/// since its pairs keep their angles theta. Intervals over runs include that.) Two consecutive steps have the
/// statistics of [`RayleighFading::markov`] but for the finite number of waves, which lowers `p_bb` by about 1.25/N at
/// most, 1 % of itself (an Edgeworth expansion, and runs of 4e8 steps). Over more steps the process differs from the
/// chain, which only approximates it.
#[derive(Clone, Debug)]
pub struct RayleighLoss {
    fading: SampledRayleigh,
    threshold: f64,
    clock: Clock,
}

impl RayleighLoss {
    /// Creates losses of rate `p_e` under fading of normalised Doppler frequency `fd_t`, with one step per tick of
    /// `clock`.
    ///
    /// # Errors
    /// If `p_e` is outside [0, 1], or `fd_t` outside [1e-100, 1e9].
    pub fn new(p_e: f64, fd_t: f64, clock: Clock, stream: Stream) -> Result<Self, ChannelError> {
        let threshold = finite_sum_threshold(threshold(probability("p_e", p_e)?));
        Ok(Self { fading: SampledRayleigh::new(RayleighFading::new(fd_t)?, stream), threshold, clock })
    }
}

impl LossProcess for RayleighLoss {
    fn lost(&mut self, now: SimTime, transmission: u64) -> bool {
        let step = self.clock.step(now, transmission);
        self.fading.gain(step).norm_sqr() < self.threshold
    }
}

/// Power level below which the finite sum of waves falls as often as an exponential variable of mean 1 falls below `u`.
///
/// The mean of |h|^4 is 2 - 1/N, not 2. To first order in 1/N the power has the density exp(-x) (1 - L2(x) / (2N)), L2
/// the second Laguerre polynomial; its integral up to u lacks exp(-u) (u - u^2/2) / (2N), which raising u to first
/// order compensates.
fn finite_sum_threshold(u: f64) -> f64 {
    if u.is_finite() { u * (1.0 + (1.0 - u / 2.0) / (2.0 * WAVES as f64)) } else { u }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markov::TwoStateMarkov;
    use crossfade_core::RunSeed;
    use proptest::prelude::*;

    fn process(fd_t: f64, run: u64) -> SampledRayleigh {
        let stream = RunSeed { seed: 1, run }.stream("channel.dl");
        SampledRayleigh::new(RayleighFading::new(fd_t).unwrap(), stream)
    }

    /// Ratio of two sums over independent runs, given as pairs (numerator, denominator), and its standard error.
    fn ratio(runs: &[(f64, f64)]) -> (f64, f64) {
        let (above, below) = runs.iter().fold((0.0, 0.0), |(a, b), run| (a + run.0, b + run.1));
        let value = above / below;
        let squares: f64 = runs.iter().map(|run| (run.0 - value * run.1).powi(2)).sum();
        (value, squares.sqrt() / below)
    }

    #[test]
    fn the_gain_is_the_sum_of_its_waves() {
        for fd_t in [1e-9, 1e-4, 0.01, 0.25, 0.5, 0.64, 1.0, 1e9] {
            let mut process = process(fd_t, 0);
            for step in [0, 1, 62, 63, 64, 12_345, 1 << 40, u64::MAX] {
                let got = process.gain(step);
                let pairs = &process.pairs;
                let expected: Complex64 = (0..PAIRS)
                    .map(|m| {
                        let phase = pairs.phase[m].wrapping_add(pairs.shift[m].wrapping_mul(step));
                        Complex64::new(pairs.weight_re[m], pairs.weight_im[m]) * radians(phase).cos()
                    })
                    .sum();
                assert!((got - expected).norm() < 1e-12, "fd_t {fd_t}, step {step}: {got}, {expected}");
            }
        }
    }

    #[test]
    fn autocorrelation_is_j0() {
        let (runs, starts, spacing, lags) = (200, 48, 8, 60);
        // Tolerances are 1.5 times the standard errors, so that smaller deviations are found.
        for (fd_t, largest_error) in [(0.01, 0.045), (0.08, 0.018), (0.64, 0.015)] {
            // Mean products over each run, of the real and the imaginary part at each lag.
            let mut products = vec![[Vec::new(), Vec::new()]; lags + 1];
            for run in 0..runs {
                let mut process = process(fd_t, run);
                let gains: Vec<Complex64> = (0..500).map(|step| process.gain(step)).collect();
                for (lag, [re, im]) in products.iter_mut().enumerate() {
                    let at = |start: usize| gains[start + lag] * gains[start].conj();
                    let product: Complex64 = (0..starts).map(|i| at(i * spacing)).sum();
                    re.push((product.re, starts as f64));
                    im.push((product.im, starts as f64));
                }
            }
            for (lag, [re, im]) in products.iter().enumerate() {
                for (runs, expected) in [(re, libm::j0(TAU * fd_t * lag as f64)), (im, 0.0)] {
                    let (value, error) = ratio(runs);
                    assert!(error < largest_error, "fd_t {fd_t}: standard error {error}");
                    // One of 366 values is beyond 5.3 standard errors (Student, 199 degrees of freedom) once in 10,000
                    // salts. Lag 0 is real.
                    let bound = 5.3 * error + 1e-12;
                    assert!((value - expected).abs() < bound, "fd_t {fd_t}, lag {lag}: {value}, {expected}");
                }
            }
        }
    }

    #[test]
    fn the_corrected_threshold_loses_the_share_it_should() {
        // Kluyver (1905): P[|sum of N unit phasors| < r] is the integral of r J1(r t) J0(t)^N over t > 0.
        let below = |threshold: f64| -> f64 {
            let r = (threshold * WAVES as f64).sqrt();
            let density = |t: f64| r * libm::j1(r * t) * libm::pow(libm::j0(t), WAVES as f64);
            // The midpoint rule; beyond t = 1 the integrand is below 1e-13.
            let step = 1e-4;
            (0..10_000).map(|i| density((f64::from(i) + 0.5) * step) * step).sum()
        };
        for p_e in [1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 0.99] {
            let u = threshold(p_e);
            let bias = below(u) / p_e - 1.0;
            let corrected = below(finite_sum_threshold(u)) / p_e - 1.0;
            assert!(corrected.abs() < 1.1e-5, "p_e {p_e}: {corrected:e}, {bias:e} before the correction");
        }
    }

    #[test]
    fn two_consecutive_steps_are_those_of_the_markov_chain() {
        let (runs, steps) = (20, 8_000);
        for (fd_t, p_e) in [(0.01, 0.01), (0.01, 0.1), (0.08, 0.01), (0.08, 0.1), (0.64, 0.01), (0.64, 0.1)] {
            let chain = TwoStateMarkov::from_rayleigh(p_e, fd_t).unwrap();
            let (mut loss, mut stay_bad, mut turn_bad) = (vec![], vec![], vec![]);
            for run in 0..runs {
                let stream = RunSeed { seed: 1, run }.stream("channel.dl");
                let mut process = RayleighLoss::new(p_e, fd_t, Clock::Transmission, stream).unwrap();
                let lost: Vec<bool> = (0..=steps).map(|step| process.lost(SimTime::ZERO, step)).collect();
                let count = |wanted: fn(bool, bool) -> bool| -> f64 {
                    lost.windows(2).filter(|pair| wanted(pair[0], pair[1])).count() as f64
                };
                let (bad, good) = (count(|first, _| first), count(|first, _| !first));
                loss.push((bad, steps as f64));
                stay_bad.push((count(|first, second| first && second), bad));
                turn_bad.push((count(|first, second| !first && second), good));
            }
            let estimates = [(loss, p_e), (stay_bad, chain.p_bb()), (turn_bad, chain.p_gb())];
            for (name, (runs, expected)) in ["p_e", "p_bb", "p_gb"].iter().zip(estimates) {
                let (value, error) = ratio(&runs);
                let z = (value - expected) / error;
                assert!(z.abs() < 4.0, "fd_t {fd_t}, p_e {p_e}, {name}: {value}, {expected}, z {z}");
            }
        }
    }

    #[test]
    fn the_ends_lose_nothing_and_all() {
        for (p_e, expected) in [(0.0, false), (1.0, true)] {
            let stream = RunSeed { seed: 1, run: 0 }.stream("channel.dl");
            let mut process = RayleighLoss::new(p_e, 0.1, Clock::Transmission, stream).unwrap();
            assert!((0..1000).all(|tx| process.lost(SimTime::ZERO, tx) == expected));
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        let new = |p_e, fd_t| {
            let stream = RunSeed { seed: 1, run: 0 }.stream("channel.dl");
            RayleighLoss::new(p_e, fd_t, Clock::Transmission, stream).map(|_| ()).unwrap_err().to_string()
        };
        assert_eq!(new(f64::NAN, 0.1), "p_e = NaN: must be between 0 and 1");
        assert_eq!(new(0.1, 0.0), "fd_t = 0.0: must be between 1e-100 and 1e9");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 8))]
        #[test]
        fn the_gain_does_not_depend_on_the_order_of_questions(
            fd_t in 1e-4..2.0, run: u64, steps in proptest::collection::vec(0_u64..1000, 1..20),
        ) {
            let mut in_order = process(fd_t, run);
            let gains: Vec<Complex64> = (0..1000).map(|step| in_order.gain(step)).collect();
            let mut asked = process(fd_t, run);
            for step in steps {
                prop_assert_eq!(asked.gain(step), gains[step as usize]);
            }
        }
    }
}
