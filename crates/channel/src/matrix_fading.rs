//! Flat Rayleigh fading between several antennas, with one matrix of gains for each frame.

use crate::antenna_correlation::{AntennaCorrelation, check_antennas};
use crate::error::{ChannelError, out_of_range};
use crate::loss::Clock;
use crate::matrix::{MOST_ANTENNAS, Matrix};
use crate::noise::{NoiseSource, Use, positions};
use crate::rayleigh::RayleighFading;
use crate::sampled_rayleigh::SampledRayleigh;
use crate::simd::{Kernel, Simd, Vector};
use crossfade_core::{SimTime, Stream};
use num_complex::Complex64;
use rand::{Rng, SeedableRng};

/// Change of gains from frame to frame; gains are constant within a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motion {
    /// Gains of each transmission are independent (`block-rayleigh`).
    Independent,
    /// Gains are constant for a block of steps, and independent from block to block (quasi-static).
    Blocks {
        /// Number of steps of `clock` in a block.
        length: u64,
        /// Clock that counts the steps: slots of time or transmissions.
        clock: Clock,
    },
    /// Gains move continuously: their autocorrelation over k steps of `clock` is `J0(2 pi fd_t k)`.
    Moving {
        /// Maximum Doppler frequency times the length of a step of `clock`.
        fd_t: f64,
        /// Clock that counts the steps: slots of time or transmissions.
        clock: Clock,
    },
}

/// Rayleigh fading gains between `n_T` transmit and `n_R` receive antennas: a matrix H of `n_R` x `n_T` entries with
/// mean power 1.
///
/// Gains depend only on the stream and on the transmission (independent gains), its block, or the step of the clock
/// (moving gains), so they can be computed in any order. The sequence never repeats.
#[derive(Clone, Debug)]
pub struct MatrixFading {
    n_t: usize,
    n_r: usize,
    simd: Simd,
    source: NoiseSource,
    process: Process,
    roots: Option<Box<(Matrix, Matrix)>>,
}

/// Source of the fading gains.
#[derive(Clone, Debug)]
enum Process {
    /// One independent draw for each transmission.
    Independent,
    /// One independent draw for each block of this many steps of the clock.
    Blocks(Clock, u64),
    /// One fading process for each matrix entry, row by row.
    Moving(Clock, Vec<SampledRayleigh>),
}

impl MatrixFading {
    /// Creates a realisation between `n_t` transmit and `n_r` receive antennas, drawn from `stream`.
    ///
    /// # Errors
    /// If an end has no antenna or more than 8, `fd_t` is outside [1e-100, 1e9], a block has no step, or angles of the
    /// antenna correlation are out of range.
    pub fn new(
        (n_t, n_r): (usize, usize),
        motion: Motion,
        correlation: AntennaCorrelation,
        mut stream: Stream,
        simd: Simd,
    ) -> Result<Self, ChannelError> {
        check_antennas("n_t", n_t)?;
        check_antennas("n_r", n_r)?;
        let roots = correlation.roots(n_t, n_r)?.map(Box::new);
        let process = match motion {
            Motion::Independent => Process::Independent,
            Motion::Blocks { length: 0, .. } => {
                return Err(out_of_range("block_length", 0.0, "at least 1"));
            }
            Motion::Blocks { length, clock } => Process::Blocks(clock, length),
            Motion::Moving { fd_t, clock } => {
                let fading = RayleighFading::new(fd_t)?;
                let mut entry = || {
                    let mut seed = [0; 32];
                    stream.fill_bytes(&mut seed);
                    SampledRayleigh::new(fading, Stream::from_seed(seed))
                };
                Process::Moving(clock, (0..n_t * n_r).map(|_| entry()).collect())
            }
        };
        Ok(Self { n_t, n_r, simd, source: NoiseSource::new(stream), process, roots })
    }

    /// Numbers of transmit and receive antennas, `n_T` and `n_R`.
    pub fn antennas(&self) -> (usize, usize) {
        (self.n_t, self.n_r)
    }

    /// True if the gains of each transmission are independent of all others.
    pub fn is_independent(&self) -> bool {
        matches!(self.process, Process::Independent)
    }

    /// Makes gains advance with each transmission instead of with time.
    #[must_use]
    pub fn per_transmission(mut self) -> Self {
        match &mut self.process {
            Process::Independent => {}
            Process::Blocks(clock, _) | Process::Moving(clock, _) => *clock = Clock::Transmission,
        }
        self
    }

    /// Gains (`n_R` rows, `n_T` columns) of transmission number `transmission`, which starts at `now`.
    pub fn gains(&mut self, now: SimTime, transmission: u64) -> Matrix {
        let white = match &mut self.process {
            Process::Independent => self.white(Use::Fading, transmission),
            Process::Blocks(clock, length) => {
                let block = clock.step(now, transmission) / *length;
                self.white(Use::Fading, block)
            }
            Process::Moving(clock, entries) => {
                let step = clock.step(now, transmission);
                let mut white = Matrix::zeros(self.n_r, self.n_t);
                for row in 0..self.n_r {
                    for column in 0..self.n_t {
                        white[(row, column)] = entries[row * self.n_t + column].gain(step);
                    }
                }
                white
            }
        };
        self.colour(&white)
    }

    /// Receiver's estimate p of the `gains` h of a transmission, with the normalised mean square error e = `nmse`: p =
    /// (1 - e) h + sqrt(e (1 - e)) w, w independent of h and drawn like it.
    ///
    /// Like the error of a minimum mean square error estimate, h - p has power e and is orthogonal to p.
    pub fn estimate(&self, gains: &Matrix, nmse: f64, transmission: u64) -> Matrix {
        let w = self.colour(&self.white(Use::Estimation, transmission));
        let scale = (nmse * (1.0 - nmse)).sqrt();
        Matrix::from_fn(self.n_r, self.n_t, |row, column| {
            gains[(row, column)] * (1.0 - nmse) + w[(row, column)] * scale
        })
    }

    fn colour(&self, white: &Matrix) -> Matrix {
        match self.roots.as_deref() {
            None => *white,
            Some((transmitter, receiver)) => receiver.times(white).times(transmitter),
        }
    }

    fn white(&self, what: Use, transmission: u64) -> Matrix {
        let mut parts = Parts([[0.0; HALF]; 4]);
        let half = (self.n_t * self.n_r).div_ceil(2);
        self.simd.run(Draw { source: self.source, what, transmission, half, parts: &mut parts.0 });
        let [re, im, more_re, more_im] = &parts.0;
        let mut white = Matrix::zeros(self.n_r, self.n_t);
        for row in 0..self.n_r {
            for column in 0..self.n_t {
                let entry = row * self.n_t + column;
                let (re, im) = match entry.checked_sub(half) {
                    None => (re[entry], im[entry]),
                    Some(entry) => (more_re[entry], more_im[entry]),
                };
                white[(row, column)] = Complex64::new(f64::from(re), f64::from(im));
            }
        }
        white
    }
}

/// Half of the entries of the largest matrix: the first and the second half of a matrix are drawn from the same
/// counters.
const HALF: usize = MOST_ANTENNAS * MOST_ANTENNAS / 2;

#[repr(align(64))]
struct Parts([[f32; HALF]; 4]);

struct Draw<'a> {
    source: NoiseSource,
    what: Use,
    transmission: u64,
    half: usize,
    parts: &'a mut [[f32; HALF]; 4],
}

impl Kernel for Draw<'_> {
    type Output = ();
    #[allow(clippy::inline_always)] // see `simd`
    #[inline(always)]
    fn run<V: Vector>(self) {
        let [re, im, more_re, more_im] = self.parts;
        for first in (0..self.half).step_by(V::LANES) {
            let [a, b] = self.source.gaussians::<V>(self.what, self.transmission, 0, positions::<V>(first));
            a.0.store(&mut re[first..]);
            a.1.store(&mut im[first..]);
            b.0.store(&mut more_re[first..]);
            b.1.store(&mut more_im[first..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    fn fading(antennas: (usize, usize), motion: Motion, correlation: AntennaCorrelation) -> MatrixFading {
        let stream = RunSeed { seed: 3, run: 1 }.stream("channel.dl");
        MatrixFading::new(antennas, motion, correlation, stream, Simd::widest()).unwrap()
    }

    /// Mean of x y* over n transmissions.
    fn correlation(n: u64, mut pair: impl FnMut(u64) -> (Complex64, Complex64)) -> Complex64 {
        (0..n).map(&mut pair).map(|(x, y)| x * y.conj()).sum::<Complex64>() / n as f64
    }

    #[test]
    fn independent_gains_have_power_one_and_nothing_in_common() {
        for antennas in [(1, 1), (3, 5), (8, 8)] {
            let mut fading = fading(antennas, Motion::Independent, AntennaCorrelation::None);
            let last = (antennas.1 - 1, antennas.0 - 1);
            let n = 20_000;
            let power = correlation(n, |t| {
                let gain = fading.gains(SimTime::ZERO, t)[last];
                (gain, gain)
            });
            assert!((power.re - 1.0).abs() < 0.03, "{antennas:?}: {power}");
            let next = correlation(n, |t| {
                let gain = fading.gains(SimTime::ZERO, t)[last];
                (gain, fading.gains(SimTime::ZERO, t + 1)[last])
            });
            assert!(next.norm() < 0.03, "{antennas:?}: {next}");
            if antennas != (1, 1) {
                let other = correlation(n, |t| {
                    let gains = fading.gains(SimTime::ZERO, t);
                    (gains[(0, 0)], gains[last])
                });
                assert!(other.norm() < 0.03, "{antennas:?}: {other}");
            }
        }
    }

    #[test]
    fn correlated_gains_have_the_correlation_of_equation_21() {
        for kind in [AntennaCorrelation::Urban, AntennaCorrelation::Rural] {
            let mut fading = fading((4, 4), Motion::Independent, kind);
            let (transmitter, receiver) = kind.spreads().unwrap();
            let rows = receiver.correlation(4).unwrap();
            let columns = transmitter.correlation(4).unwrap();
            // E h_ik h_jl* = R_r(i, j) R_t(l, k), for gains R_r^(1/2) H_w R_t^(1/2).
            for (a, b) in [((0, 0), (1, 0)), ((0, 0), (0, 1)), ((0, 1), (2, 3)), ((3, 3), (3, 3))] {
                let got = correlation(20_000, |t| {
                    let gains = fading.gains(SimTime::ZERO, t);
                    (gains[a], gains[b])
                });
                let expected = rows[(a.0, b.0)] * columns[(b.1, a.1)];
                assert!((got - expected).norm() < 0.04, "{kind:?} {a:?} {b:?}: {got}, {expected}");
            }
        }
    }

    #[test]
    fn gains_of_a_block_are_one_and_those_of_two_have_nothing_in_common() {
        let clock = Clock::Slot(SimTime::from_millis(5));
        let motion = Motion::Blocks { length: 8, clock };
        let mut blocks = fading((2, 2), motion, AntennaCorrelation::None);
        let mut single = fading((2, 2), Motion::Independent, AntennaCorrelation::None);
        // Eight frames of 5 ms: transmission 3 at 39 ms is of the first block, at 40 ms of the second.
        let gains = |blocks: &mut MatrixFading, ms| blocks.gains(SimTime::from_millis(ms), 3);
        assert_eq!(gains(&mut blocks, 39), gains(&mut blocks, 0));
        assert_ne!(gains(&mut blocks, 40), gains(&mut blocks, 39));
        assert_eq!(gains(&mut blocks, 79), single.gains(SimTime::ZERO, 1));
        // J blocks of 8 counted by transmissions: x(t) x*(t + k) is 1 - k/8 on average, 0 from 8 on.
        let mut counted = blocks.per_transmission();
        for k in [0, 3, 7, 8, 9] {
            let expected = (1.0 - f64::from(k) / 8.0).max(0.0);
            let got = correlation(40_000, |t| {
                let gain = counted.gains(SimTime::ZERO, t)[(1, 0)];
                (gain, counted.gains(SimTime::ZERO, t + k as u64)[(1, 0)])
            });
            assert!((got - expected).norm() < 0.05, "{k}: {got}");
        }
        let none = Motion::Blocks { length: 0, clock };
        let stream = RunSeed { seed: 3, run: 1 }.stream("channel.dl");
        let refused = MatrixFading::new((1, 1), none, AntennaCorrelation::None, stream, Simd::widest());
        assert_eq!(refused.unwrap_err().to_string(), "block_length = 0.0: must be at least 1");
    }

    #[test]
    fn moving_gains_have_jakes_autocorrelation_and_any_order() {
        let fd_t = 0.05;
        let motion = Motion::Moving { fd_t, clock: Clock::Transmission };
        let mut fading = fading((2, 2), motion, AntennaCorrelation::None);
        for lag in [1, 4, 9] {
            let steps: Vec<_> =
                (0..40_000_u64 + lag).map(|t| fading.gains(SimTime::ZERO, t)[(1, 0)]).collect();
            let got = correlation(40_000, |t| (steps[t as usize], steps[(t + lag) as usize]));
            let expected = libm::j0(std::f64::consts::TAU * fd_t * lag as f64);
            assert!((got.re - expected).abs() < 0.06, "lag {lag}: {got}, {expected}");
        }
        let far = fading.gains(SimTime::ZERO, 1 << 40);
        let near = fading.gains(SimTime::ZERO, 7);
        assert_eq!(fading.gains(SimTime::ZERO, 1 << 40), far);
        assert_eq!(fading.gains(SimTime::ZERO, 7), near);
    }

    #[test]
    fn an_estimate_has_its_error_orthogonal_to_it() {
        let mut fading = fading((2, 2), Motion::Independent, AntennaCorrelation::None);
        let nmse = 0.2;
        let n = 20_000;
        let mut pair = |t| {
            let gains = fading.gains(SimTime::ZERO, t);
            let estimate = fading.estimate(&gains, nmse, t);
            (gains[(0, 1)], estimate[(0, 1)])
        };
        let power = correlation(n, |t| (pair(t).1, pair(t).1));
        assert!((power.re - 0.8).abs() < 0.03, "{power}");
        let error = correlation(n, |t| {
            let (gain, estimate) = pair(t);
            (gain - estimate, gain - estimate)
        });
        assert!((error.re - nmse).abs() < 0.01, "{error}");
        let inner = correlation(n, |t| {
            let (gain, estimate) = pair(t);
            (gain - estimate, estimate)
        });
        assert!(inner.norm() < 0.02, "{inner}");
    }

    #[test]
    fn gains_do_not_depend_on_the_processor() {
        let of = |simd| {
            let stream = RunSeed { seed: 3, run: 1 }.stream("channel.dl");
            let mut fading =
                MatrixFading::new((4, 3), Motion::Independent, AntennaCorrelation::Urban, stream, simd)
                    .unwrap();
            (0..50).map(|t| fading.gains(SimTime::ZERO, t)).collect::<Vec<_>>()
        };
        let all: Vec<_> = Simd::available().map(of).collect();
        assert!(all.iter().all(|other| *other == all[0]));
    }
}
