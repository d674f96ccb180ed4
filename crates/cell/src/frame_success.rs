//! Success probability of frames: that of uncoded symbols, or by a user's error-rate table.

use crossfade_core::{square, to_db};
use crossfade_link::MOST_BITS;
use crossfade_phy::symbol_error::symbol_error;
use crossfade_phy::{BlockSizes, ErrorRateTable, ErrorRates, Modulation, NoCurve};
use std::sync::{Arc, OnceLock};

/// Step of the success table over the square root of the SNR, in which the curves of all modulations have similar
/// slopes.
const STEP: f64 = 0.005;
/// Number of entries of the success table for each modulation. They reach 39 dB, where 256-QAM has no errors.
const ENTRIES: usize = 18_000;

/// Success probability of frames with 1 to 8 bits per symbol, by SNR: (1 - symbol error rate)^symbols, or by a user's
/// error-rate table. It is interpolated linearly in a table that is computed at first use: the error is at most
/// 1.23e-5, for a curvature of up to 3.92.
#[derive(Clone, Debug)]
pub struct FrameSuccess {
    symbols: u32,
    modulations: [Modulation; MOST_BITS],
    /// Error rates from a user's table; `None` for uncoded symbols.
    measured: Option<Measured>,
    /// Success probabilities, all of one modulation together so that the range in which a modulation is used stays in
    /// the cache; clones share the table.
    table: Arc<OnceLock<Vec<f32>>>,
}

/// Error rate of each modulation from a user's table.
#[derive(Clone, Debug)]
struct Measured {
    /// Error rates for 1, 2, ... 8 bits per symbol; `None` if the user's table lacks the modulation.
    rates: [Option<Arc<ErrorRates>>; MOST_BITS],
    sizes: BlockSizes,
}

impl FrameSuccess {
    /// Success probability of uncoded frames of `symbols` symbols; `eight` is the constellation for 3 bits per symbol.
    pub fn new(symbols: u32, eight: Modulation) -> Self {
        use Modulation::{Bpsk, Cross32, Cross128, Qam16, Qam64, Qam256, Qpsk};
        let modulations = [Bpsk, Qpsk, eight, Qam16, Cross32, Qam64, Cross128, Qam256];
        Self { symbols, modulations, measured: None, table: Arc::default() }
    }

    /// Success probability of frames of `symbols` symbols by a table of error rates. A mode of the table is the
    /// modulation with its name, and a frame is a block of as many bytes as its bits fill, sent once. Modulations
    /// missing in the table are not used.
    ///
    /// # Errors
    /// No mode of the table is one of the cell's modulations, or modes differ by columns other than `mode`.
    pub fn measured(
        symbols: u32,
        eight: Modulation,
        table: &ErrorRateTable,
        sizes: BlockSizes,
    ) -> Result<Self, NoCurve> {
        let uncoded = Self::new(symbols, eight);
        let names = table.names();
        let of = |modulation: Modulation| {
            let name = modulation.name();
            names.contains(&name).then(|| table.mode(Some(name))).transpose()
        };
        let mut rates = [const { None }; MOST_BITS];
        for (rates, modulation) in rates.iter_mut().zip(uncoded.modulations) {
            *rates = of(modulation)?;
        }
        if rates.iter().all(Option::is_none) {
            // This error names the modes of the table, or the columns in which they differ.
            table.mode(Some(uncoded.modulations[0].name()))?;
        }
        Ok(Self { measured: Some(Measured { rates, sizes }), ..uncoded })
    }

    /// True if frames of `bits` bits per symbol (1 to 8) can be sent.
    pub fn has(&self, bits: u32) -> bool {
        self.measured.as_ref().is_none_or(|measured| measured.rates[bits as usize - 1].is_some())
    }

    /// Least and greatest number of bits per symbol that can be sent.
    pub fn range(&self) -> (u32, u32) {
        let all = || (1..=MOST_BITS as u32).filter(|&bits| self.has(bits));
        (all().next().unwrap_or(1), all().next_back().unwrap_or(MOST_BITS as u32))
    }

    /// A number of bits per symbol that the rest of a split frame may need but for which there is no modulation; `None`
    /// if every rest can be sent.
    pub fn missing_rest(&self) -> Option<u32> {
        let has = |bits: &u32| self.has(*bits);
        let pairs = (1..=MOST_BITS as u32).filter(has).flat_map(|f| (1..f).filter(has).map(move |k| f - k));
        pairs.into_iter().find(|rest| !self.has(*rest))
    }

    /// Success probability of a frame by the user's table at the SNR `sinr` (not in dB); `None` without a table.
    fn of_table(&self, bits: u32, sinr: f64) -> Option<f64> {
        let measured = self.measured.as_ref()?;
        let Some(rates) = &measured.rates[bits as usize - 1] else { return Some(0.0) };
        let bytes = (bits * self.symbols).div_ceil(8);
        Some(1.0 - rates.error_rate(to_db(sinr), bytes, measured.sizes))
    }

    /// Success probabilities over the square root of the SNR, for 1, 2, ... 8 bits per symbol; computed at first use.
    fn table(&self) -> &[f32] {
        let column = |modulation: Modulation| {
            let sinr = |i: usize| square(i as f64 * STEP);
            let bits = modulation.bits();
            let of = move |sinr| {
                self.of_table(bits, sinr).unwrap_or_else(|| exact(modulation, sinr, self.symbols))
            };
            (0..ENTRIES).map(move |i| of(sinr(i)) as f32)
        };
        self.table.get_or_init(|| self.modulations.into_iter().flat_map(column).collect())
    }

    /// Constellation of `bits` bits per symbol (1 to 8).
    pub fn modulation(&self, bits: u32) -> Modulation {
        self.modulations[bits as usize - 1]
    }

    /// Interpolated success probability of a frame of `bits` bits per symbol at an SNR of `root` squared.
    #[inline]
    fn at_root(&self, bits: u32, root: f64) -> f64 {
        let (below, part) = place(root);
        between(self.table(), bits as usize - 1, below, part)
    }

    /// Interpolated success probabilities of frames of 1 to 8 bits per symbol at an SNR of `root` squared.
    pub(crate) fn all_at_root(&self, root: f64) -> [f64; MOST_BITS] {
        let (table, (below, part)) = (self.table(), place(root));
        std::array::from_fn(|modulation| between(table, modulation, below, part))
    }

    /// Probability that a frame of `bits` bits per symbol is received without an error at the SNR `sinr` (not in dB).
    /// It is exact for an error-rate table, and interpolated for uncoded symbols.
    #[inline]
    pub fn at(&self, bits: u32, sinr: f64) -> f64 {
        self.of_table(bits, sinr).unwrap_or_else(|| self.at_root(bits, sinr.sqrt()))
    }
}

/// Index of the table entry below `root` (square root of the SNR), and the distance of `root` from it in steps.
#[inline]
fn place(root: f64) -> (usize, f64) {
    let place = root / STEP;
    let below = (place as usize).min(ENTRIES - 2);
    (below, (place - below as f64).min(1.0))
}

/// Linear interpolation between the table entries `below` and `below` + 1 of a modulation.
#[inline]
fn between(table: &[f32], modulation: usize, below: usize, part: f64) -> f64 {
    let at = modulation * ENTRIES + below;
    let (lower, upper) = (f64::from(table[at]), f64::from(table[at + 1]));
    lower + (upper - lower) * part
}

fn exact(modulation: Modulation, sinr: f64, symbols: u32) -> f64 {
    let wrong = symbol_error(modulation, sinr).min(1.0);
    libm::exp(f64::from(symbols) * libm::log1p(-wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_formula() {
        let success = FrameSuccess::new(108, Modulation::Star8);
        for bits in 1..=8 {
            let modulation = success.modulation(bits);
            assert_eq!(modulation, Modulation::of_bits(bits).unwrap());
            for i in 0..4000 {
                let sinr = libm::pow(10.0, -1.0 + f64::from(i) * 0.00123);
                let (got, exact) = (success.at(bits, sinr), exact(modulation, sinr, 108));
                assert!((got - exact).abs() < 1.23e-5, "{modulation:?} {sinr}: {got} {exact}");
            }
            assert_eq!(success.at(bits, 0.0), f64::from(success.table()[(bits as usize - 1) * ENTRIES]));
            assert!(success.at(bits, 1e9) > 0.999_99);
        }
    }
}
