//! Error rates of transport blocks by scheme, size, and mutual information of all transmissions.

use crate::config::NrConfig;
use crate::error_table::{ErrorTable, of_copies};
use crate::ldpc::BaseGraph;
use crate::mcs::CodedModulation;
use crate::normal_approximation::{ErrorCurve, decoder_loss_db};
use crate::transport_block::CodeBlocks;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Error curves of code blocks, each computed once per size and number of symbols.
#[derive(Debug, Default)]
pub(crate) struct ErrorRates {
    implementation_loss_db: f64,
    /// Soft buffer of a receiver in coded bits, shared by all code blocks of a transport block; `None` if it is
    /// unlimited.
    buffer_bits: Option<f64>,
    table: Option<Arc<ErrorTable>>,
    /// Computed curves by their key.
    curves: BTreeMap<Key, ErrorCurve>,
    /// Direct-mapped cache before `curves`, as few sizes and schemes alternate from slot to slot.
    recent: Vec<Option<(Key, ErrorCurve)>>,
}

/// Parameters of a curve: bits per symbol, 2048 times the code rate (0 without an error table), bits of a code block,
/// symbols of all its transmissions, and number of transmissions in hundredths (0 without an error table).
type Key = (u32, u32, u32, u32, u32);

/// Size of the cache of recent curves, well above the 784 of 28 schemes on 14 sizes in two kinds of slots.
const RECENT: usize = 4096;

/// Index of a key in the cache, by multiplicative hashing.
fn place_of(key: Key) -> usize {
    let parts = [key.0, key.1, key.2, key.3, key.4];
    let hash = parts.iter().fold(0_u32, |hash, part| (hash ^ part).wrapping_mul(0x9E37_79B1).rotate_left(15));
    hash as usize % RECENT
}

impl ErrorRates {
    /// Error rates of receivers with an implementation loss of `implementation_loss_db`.
    pub(crate) fn new(implementation_loss_db: f64) -> Self {
        Self { implementation_loss_db, ..Self::default() }
    }

    /// Error rates of a cell with this configuration.
    pub(crate) fn of_config(config: &NrConfig) -> Self {
        let one = CodeBlocks { base_graph: BaseGraph::One, count: 1, bits: 0 };
        Self {
            table: config.error_table.clone(),
            buffer_bits: config.buffer_bits(one).map(f64::from),
            ..Self::new(config.implementation_loss_db)
        }
    }

    /// Error curve of a code block over Es/N0. Its `transmissions`, each with other coded bits, have `symbols` symbols
    /// together.
    fn curve(
        &mut self,
        scheme: CodedModulation,
        blocks: CodeBlocks,
        symbols: f64,
        transmissions: f64,
    ) -> ErrorCurve {
        // Symbols are divided evenly among code blocks.
        let each = (symbols / f64::from(blocks.count)).round().max(1.0) as u32;
        let loss_db = self.implementation_loss_db;
        let (table, buffer_bits) = (self.table.as_deref(), self.buffer_bits);
        // Only an error table distinguishes rates and numbers of transmissions.
        let hundredths = (transmissions * 100.0).round().clamp(0.0, 1e9) as u32;
        let (rate, hundredths) = table.map_or((0, 0), |_| (scheme.rate_times_2048, hundredths));
        let key = (scheme.bits_per_symbol, rate, blocks.bits, each, hundredths);
        self.recent.resize(RECENT, None);
        let place = place_of(key);
        if let Some((_, curve)) = self.recent[place].filter(|(of, _)| *of == key) {
            return curve;
        }
        let curve = *self.curves.entry(key).or_insert_with(|| {
            let bits = f64::from(blocks.bits);
            let kept = buffer_bits.map(|kept| kept / f64::from(blocks.count));
            let (curve, gain_db) =
                of_copies(scheme.bits_per_symbol, blocks.base_graph, bits, f64::from(each), kept);
            let transmissions = f64::from(hundredths) / 100.0;
            let known =
                table.and_then(|table| table.distance(scheme, blocks.base_graph, bits, transmissions));
            let (distance_db, wider) = known.unwrap_or_else(|| (decoder_loss_db(bits), 1.0));
            ErrorCurve {
                middle_db: curve.middle_db + distance_db + loss_db - gain_db,
                width_db: curve.width_db * wider,
            }
        });
        self.recent[place] = Some((key, curve));
        curve
    }

    /// Error rate of a transport block after `transmissions` copies with other bits (1 if all have the same bits),
    /// which have `symbols` symbols together, each at `snr_db`.
    pub(crate) fn of_transmissions(
        &mut self,
        scheme: CodedModulation,
        blocks: CodeBlocks,
        symbols: f64,
        transmissions: f64,
        snr_db: f64,
    ) -> f64 {
        blocks.error_rate(self.curve(scheme, blocks, symbols, transmissions).error_rate(snr_db))
    }

    /// Error rate of the first transmission of a transport block on `symbols` symbols at `snr_db`.
    pub(crate) fn of(
        &mut self,
        scheme: CodedModulation,
        blocks: CodeBlocks,
        symbols: f64,
        snr_db: f64,
    ) -> f64 {
        self.of_transmissions(scheme, blocks, symbols, 1.0, snr_db)
    }

    /// Es/N0 in dB at which the first transmission of a transport block has error rate `target`.
    pub(crate) fn required_db(
        &mut self,
        scheme: CodedModulation,
        blocks: CodeBlocks,
        symbols: f64,
        target: f64,
    ) -> f64 {
        // Error rate per code block that gives `target` for the transport block.
        let each = -libm::expm1(libm::log1p(-target) / f64::from(blocks.count));
        self.curve(scheme, blocks, symbols, 1.0).required_db(each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_beyond_the_mother_code_are_repetitions() {
        let scheme = CodedModulation { bits_per_symbol: 2, rate_times_2048: 2 * 449 };
        let blocks = CodeBlocks::of(1984, scheme.rate());
        let mut rates = ErrorRates::new(0.0);
        // With base graph 2 the code rate is at least 1/5: beyond it, twice the symbols gain 3.01 dB.
        let mother = f64::from(blocks.bits) * 5.0 / 2.0;
        let [once, twice] = [1.0, 2.0].map(|times| rates.required_db(scheme, blocks, mother * times, 0.1));
        assert!((once - twice - 3.0103).abs() < 0.01, "{once} {twice}");
        // New bits gain more than repeated ones.
        let sent = f64::from(blocks.bits) / scheme.efficiency();
        let gain =
            rates.required_db(scheme, blocks, sent, 0.1) - rates.required_db(scheme, blocks, 2.0 * sent, 0.1);
        assert!((3.1..5.0).contains(&gain), "{gain}");
        let at = rates.required_db(scheme, blocks, sent, 0.1);
        assert!((rates.of(scheme, blocks, sent, at) - 0.1).abs() < 1e-6);
        let mut worse = ErrorRates::new(2.0);
        assert!((worse.required_db(scheme, blocks, sent, 0.1) - at - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_small_buffer_repeats_sooner() {
        let scheme = CodedModulation { bits_per_symbol: 6, rate_times_2048: 2 * 873 };
        let blocks = CodeBlocks::of(8400, scheme.rate());
        let sent = f64::from(blocks.bits) / scheme.efficiency();
        let second = |buffer_bits| {
            let mut rates = ErrorRates { buffer_bits, ..ErrorRates::new(0.0) };
            rates.curve(scheme, blocks, 2.0 * sent, 2.0).required_db(0.1)
        };
        let (whole, two_thirds) = (second(None), second(Some(f64::from(blocks.bits) * 1.5)));
        // Of 2.35 coded bits per information bit 1.5 are different; the others repeat and add energy.
        assert!(two_thirds > whole + 0.5, "{whole} {two_thirds}");
        assert_eq!(second(Some(1e9)), whole);
    }

    #[test]
    fn ten_code_blocks_need_more_than_one() {
        let scheme = CodedModulation { bits_per_symbol: 6, rate_times_2048: 2 * 666 };
        let required = |bits: u32| {
            let blocks = CodeBlocks::of(bits, scheme.rate());
            ErrorRates::new(0.0).required_db(scheme, blocks, f64::from(bits) / scheme.efficiency(), 0.1)
        };
        let (one, ten) = (required(8424 - 24), required(10 * 8400 - 24));
        assert!(ten > one + 0.05 && ten < one + 0.4, "{one} {ten}");
    }
}
