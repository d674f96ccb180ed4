//! Demapper for the square constellations of TS 38.211 section 5.1, per dimension, with exact log-likelihood ratios.

/// Maximum number of levels of a dimension.
const MOST_LEVELS: usize = 32;

/// One dimension of a square constellation.
#[derive(Clone, Debug)]
pub(crate) struct Dimension {
    /// Levels by their bits, the first the most significant; mean energy 1/2.
    levels: Vec<f64>,
}

impl Dimension {
    /// Dimension of a constellation with this number of bits per symbol: 2, 4, 6, 8 or 10.
    pub(crate) fn of(bits_per_symbol: u32) -> Self {
        let bits = bits_per_symbol / 2;
        let scale = (2.0 * (libm::pow(4.0, f64::from(bits)) - 1.0) / 3.0).sqrt();
        let level = |label: u32| {
            // (1 - 2 b0) (2^(n-1) - (1 - 2 b1) (2^(n-2) - ... )), evaluated from the last bit.
            let sign = |bit: u32| 1.0 - 2.0 * f64::from(label >> (bits - 1 - bit) & 1);
            let inner = |value: f64, bit: u32| sign(bit) * (f64::from(1_u32 << (bits - 1 - bit)) - value);
            (0..bits).rev().fold(0.0, inner)
        };
        Self { levels: (0..1 << bits).map(|label| level(label) / scale).collect() }
    }

    /// Number of bits per level.
    pub(crate) fn bits(&self) -> usize {
        self.levels.len().ilog2() as usize
    }

    /// Level of the bits `label`, the first the most significant.
    pub(crate) fn level(&self, label: usize) -> f64 {
        self.levels[label]
    }

    /// Exact LLR ln(P(0) / P(1)) of each bit, stored in `ratios`, of a received level with noise variance `noise_power`
    /// / 2.
    pub(crate) fn demap(&self, received: f64, noise_power: f64, ratios: &mut [f32]) {
        let levels = &self.levels;
        let mut exponents = [0.0_f64; MOST_LEVELS];
        let mut greatest = f64::NEG_INFINITY;
        for (exponent, level) in exponents.iter_mut().zip(levels) {
            *exponent = -(received - level) * (received - level) / noise_power;
            greatest = greatest.max(*exponent);
        }
        let exponents = &mut exponents[..levels.len()];
        let mut likelihoods = [0.0_f64; MOST_LEVELS];
        for (likelihood, exponent) in likelihoods.iter_mut().zip(exponents) {
            *exponent -= greatest;
            *likelihood = libm::exp(*exponent);
        }
        let bits = ratios.len();
        for (bit, ratio) in ratios.iter_mut().enumerate() {
            let mut sums = [0.0_f64; 2];
            for (label, likelihood) in likelihoods[..levels.len()].iter().enumerate() {
                sums[label >> (bits - 1 - bit) & 1] += likelihood;
            }
            // If all likelihoods of one bit value underflow, the nearest level represents them.
            let log = |value: usize| {
                if sums[value] > 1e-290 {
                    return libm::log(sums[value]);
                }
                let of_value = |label: &usize| label >> (bits - 1 - bit) & 1 == value;
                let exponent = |label: usize| -(received - levels[label]) * (received - levels[label]);
                let nearest =
                    (0..levels.len()).filter(of_value).map(exponent).fold(f64::NEG_INFINITY, f64::max);
                nearest / noise_power - greatest
            };
            *ratio = (log(0) - log(1)) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constellations_are_those_of_the_standard() {
        for bits in [2, 4, 6, 8, 10] {
            let levels = Dimension::of(bits).levels;
            let energy: f64 = levels.iter().map(|level| level * level).sum::<f64>() / levels.len() as f64;
            assert!((energy - 0.5).abs() < 1e-12, "{bits}");
            let mut by_level: Vec<usize> = (0..levels.len()).collect();
            by_level.sort_by(|a, b| levels[*a].total_cmp(&levels[*b]));
            assert!(by_level.windows(2).all(|pair| (pair[0] ^ pair[1]).is_power_of_two()), "Gray");
        }
        // 64-QAM, 38.211 section 5.1.5: bits 000 are 3/sqrt(42), 011 5, 111 -5 ... of 7 - 4 - 2.
        let units: Vec<i32> =
            Dimension::of(6).levels.iter().map(|level| (level * 42.0_f64.sqrt()).round() as i32).collect();
        assert_eq!(units, [3, 1, 5, 7, -3, -1, -5, -7]);
    }

    #[test]
    fn ratios_of_qpsk_are_linear() {
        let mut found = [0.0];
        for received in [-1.3, 0.01, 0.7, 9.0] {
            Dimension::of(2).demap(received, 0.2, &mut found);
            let exact = 4.0 * received * 0.5_f64.sqrt() / 0.2;
            assert!((f64::from(found[0]) / exact - 1.0).abs() < 1e-6, "{} {exact}", found[0]);
        }
    }

    #[test]
    fn ratios_far_from_every_level_stay_finite() {
        let mut found = [0.0; 3];
        Dimension::of(6).demap(1.2, 1e-6, &mut found);
        // The nearest levels with the other value: 7 against -1 units of 1/sqrt(42), 7 against 3, 7 against 5.
        let unit = 42.0_f64.sqrt();
        let square = |level: f64| (1.2 - level / unit).powi(2) * 1e6;
        let exact = [square(-1.0) - square(7.0), square(3.0) - square(7.0), square(5.0) - square(7.0)];
        for (found, exact) in found.iter().zip(exact) {
            assert!((f64::from(*found).abs() / exact - 1.0).abs() < 1e-4, "{found} {exact}");
        }
    }
}
