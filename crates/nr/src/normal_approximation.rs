//! Error rates of code blocks without a table: the normal approximation for finite block lengths, plus a loss of the
//! decoder.
//!
//! The lowest error rate of a code with n symbols and k bits over a memoryless channel is about
//!
//! ```text
//! Q((n C - k + log2(n) / 2) / sqrt(n V))     (Polyanskiy, Poor and Verdu 2010, for bit-interleaved coded modulation)
//! ```
//!
//! C and V are the mean and the variance of the information density of a symbol, i = sum over its bits of `log2(2 S_b /
//! S)`, S the sum of the likelihoods of all points and `S_b` that of the points with the transmitted bit. Gray-labelled
//! square constellations are two pulse-amplitude modulations of half the energy each; expectations over the noise are
//! trapezoidal sums.
//!
//! NR's LDPC codes with layered sum-product decoding of 20 iterations need on average 0.84, 0.63 and 0.57 dB more for
//! 320, 2000 and 8424 bits at an error rate of 0.1 ([`decoder_loss_db`]). [`crate::Awgn`] simulates them.

use crossfade_core::from_db;
use std::sync::OnceLock;

/// Lowest Es/N0 of the grid in dB; it has `ENTRIES` points, `PER_DB` per dB.
const LOWEST_DB: f64 = -25.0;
const PER_DB: f64 = 2.0;
const ENTRIES: usize = 131;
/// Step of the sums over the noise, in standard deviations; they extend `STEPS` steps to both sides.
const STEP: f64 = 0.25;
const STEPS: i32 = 34;

/// Error rate over Es/N0 in dB: Q((Es/N0 - middle) / width).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorCurve {
    /// Es/N0 in dB at which half of the blocks fail.
    pub middle_db: f64,
    /// Width of the curve in dB: standard deviation of the normal distribution.
    pub width_db: f64,
}

impl ErrorCurve {
    /// Error rate at Es/N0 = `snr_db`.
    pub fn error_rate(&self, snr_db: f64) -> f64 {
        tail((snr_db - self.middle_db) / self.width_db)
    }

    /// Es/N0 in dB at which the error rate is `p`, between 1e-12 and 0.999.
    pub fn required_db(&self, p: f64) -> f64 {
        self.middle_db + self.width_db * quantile(p)
    }
}

/// Probability Q(x) that a standard normal variable exceeds `x`.
pub(crate) fn tail(x: f64) -> f64 {
    0.5 * libm::erfc(x / std::f64::consts::SQRT_2)
}

/// Value that a standard normal variable exceeds with probability `p`.
fn quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-4.0, 8.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if tail(middle) > p { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Mean and variance of the information density, in bits and bits^2 per symbol, of constellations with 2, 4, 6, 8 or 10
/// bits at Es/N0 in dB.
fn information_density(bits_per_symbol: u32, snr_db: f64) -> (f64, f64) {
    // Each entry is computed when it is first needed.
    static GRIDS: [[OnceLock<(f64, f64)>; ENTRIES]; 5] = [const { [const { OnceLock::new() }; ENTRIES] }; 5];
    let bits = (bits_per_symbol / 2).clamp(1, 5);
    let entry = |i: usize| {
        let found = &GRIDS[bits as usize - 1][i];
        *found.get_or_init(|| moments(bits, from_db(LOWEST_DB + i as f64 / PER_DB)))
    };
    let place = ((snr_db - LOWEST_DB) * PER_DB).clamp(0.0, (ENTRIES - 1) as f64);
    // Cubic interpolation through four points of the grid.
    let first = (place as usize).saturating_sub(1).min(ENTRIES - 4);
    let t = place - first as f64;
    let weight = |i: usize| {
        (0..4).filter(|j| *j != i).fold(1.0, |weight, j| weight * (t - j as f64) / (i as f64 - j as f64))
    };
    let mut found = (0.0, 0.0);
    for i in 0..4 {
        let (mean, variance) = entry(first + i);
        found.0 += weight(i) * mean;
        found.1 += weight(i) * variance;
    }
    // Below the grid, information is proportional to Es/N0.
    let below = if place == 0.0 { from_db(snr_db - LOWEST_DB) } else { 1.0 };
    (found.0 * below, found.1.max(1e-12) * below)
}

/// Mean and variance of the information density of two pulse-amplitude modulations with `bits` bits each.
fn moments(bits: u32, snr: f64) -> (f64, f64) {
    let levels = 1_usize << bits;
    let energy = 2.0 * (libm::pow(4.0, f64::from(bits)) - 1.0) / 3.0;
    let unit = (2.0 * snr / energy).sqrt();
    let level = |i: usize| (2.0 * i as f64 - (levels as f64 - 1.0)) * unit;
    let gray = |i: usize| i ^ (i >> 1);
    let mut likelihoods = vec![0.0; levels];
    let (mut mean, mut square) = (0.0, 0.0);
    // By symmetry, half of the levels suffices.
    for sent in 0..levels / 2 {
        for step in -STEPS..=STEPS {
            let noise = f64::from(step) * STEP;
            let weight = STEP * libm::exp(-noise * noise / 2.0) / (2.0 * std::f64::consts::PI).sqrt();
            for (i, likelihood) in likelihoods.iter_mut().enumerate() {
                let distance = level(sent) - level(i) + noise;
                *likelihood = libm::exp((noise * noise - distance * distance) / 2.0);
            }
            let all: f64 = likelihoods.iter().sum();
            let of_bit = |bit: u32| {
                let same =
                    likelihoods.iter().enumerate().filter(|(i, _)| (gray(*i) ^ gray(sent)) >> bit & 1 == 0);
                1.0 + libm::log2(same.map(|(_, likelihood)| likelihood).sum::<f64>() / all)
            };
            let density: f64 = (0..bits).map(of_bit).sum();
            mean += weight * density;
            square += weight * density * density;
        }
    }
    let (mean, square) = (mean / (levels / 2) as f64, square / (levels / 2) as f64);
    (2.0 * mean, 2.0 * (square - mean * mean).max(0.0))
}

/// Normal approximation of the error curve of a block of `block_bits` on `symbols` symbols: a normal distribution over
/// dB that is exact at error rates of 1/2 and 0.1.
pub fn normal_approximation(bits_per_symbol: u32, block_bits: f64, symbols: f64) -> ErrorCurve {
    // n C - k + log2(n) / 2 in standard deviations increases with Es/N0.
    let margin = |snr_db: f64| {
        let (mean, variance) = information_density(bits_per_symbol, snr_db);
        (symbols * mean - block_bits + 0.5 * libm::log2(symbols)) / (symbols * variance).sqrt()
    };
    let at = |wanted: f64| {
        let (mut low, mut high) = (-60.0, 40.0);
        for _ in 0..48 {
            let middle = f64::midpoint(low, high);
            if margin(middle) < wanted { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    };
    let (middle_db, tenth_db) = (at(0.0), at(TENTH));
    ErrorCurve { middle_db, width_db: ((tenth_db - middle_db) / TENTH).max(1e-3) }
}

/// Quantile of the standard normal distribution at 90 %.
const TENTH: f64 = 1.281_551_565_544_6;

/// Loss in dB of NR's codes against the normal approximation: measured at three sizes, linear in the inverse square
/// root of the size between and outside them.
pub fn decoder_loss_db(block_bits: f64) -> f64 {
    const MEASURED: [(f64, f64); 3] = [(320.0, 0.84), (2000.0, 0.63), (8424.0, 0.57)];
    let x = |bits: f64| 1.0 / bits.sqrt();
    let pair =
        if block_bits < MEASURED[1].0 { [MEASURED[0], MEASURED[1]] } else { [MEASURED[1], MEASURED[2]] };
    let [(a, loss_a), (b, loss_b)] = pair;
    let share = (x(block_bits.max(24.0)) - x(b)) / (x(a) - x(b));
    (loss_b + share * (loss_a - loss_b)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_phy::MutualInformation;

    #[test]
    fn the_mean_is_the_mutual_information() {
        for (bits, name) in [(2, "qpsk"), (4, "16-qam"), (6, "64-qam"), (8, "256-qam"), (10, "1024-qam")] {
            let exact = MutualInformation::named(name).unwrap();
            for tenths in (-200..300).step_by(7) {
                let snr_db = f64::from(tenths) / 10.0;
                let (mean, variance) = information_density(bits, snr_db);
                assert!((mean - exact.at(from_db(snr_db))).abs() < 2e-4, "{name} {snr_db}: {mean}");
                assert!((0.0..10.0).contains(&variance));
            }
        }
    }

    /// Bits per symbol, 1024 R, and Es/N0 in dB at an error rate of 0.1 for 2000 bits: the formula computed by numpy
    /// with Gauss-Hermite sums of 81 points.
    const AT_2000: [(u32, f64, f64); 7] = [
        (2, 449.0, -0.455),
        (4, 616.0, 7.129),
        (6, 466.0, 8.764),
        (6, 772.0, 14.698),
        (6, 948.0, 18.663),
        (8, 797.0, 20.184),
        (8, 948.0, 24.199),
    ];

    #[test]
    fn the_approximation_is_that_of_another_implementation() {
        for (bits, rate, expected) in AT_2000 {
            let symbols = (2000.0 * 1024.0 / rate / f64::from(bits)).ceil();
            let found = normal_approximation(bits, 2000.0, symbols).required_db(0.1);
            assert!((found - expected).abs() < 0.003, "{bits} {rate}: {found} for {expected}");
        }
    }

    #[test]
    fn curves_fall_and_losses_shrink_with_the_size() {
        let curve = normal_approximation(4, 2000.0, 1045.0);
        assert!((curve.error_rate(curve.required_db(0.1)) - 0.1).abs() < 1e-9);
        assert!((curve.error_rate(curve.middle_db) - 0.5).abs() < 1e-12);
        assert!(curve.error_rate(curve.middle_db + 1.0) < 1e-3);
        let losses = [100.0, 320.0, 1000.0, 2000.0, 5000.0, 8424.0].map(decoder_loss_db);
        assert!(losses.windows(2).all(|pair| pair[0] > pair[1]), "{losses:?}");
        assert!(
            (losses[1] - 0.84).abs() < 1e-12
                && (losses[3] - 0.63).abs() < 1e-12
                && (losses[5] - 0.57).abs() < 1e-12
        );
    }
}
