//! Link adaptation: MCS of a block by quality reports, and by an offset that the outer loop learns from
//! acknowledgements.

use crate::config::NrConfig;
use crate::effective_sinr::{Mapping, Reported};
use crate::error_rates::ErrorRates;
use crate::mcs::CodedModulation;
use crate::transport_block::{Allocation, CodeBlocks};

/// Schemes in order of rising threshold and efficiency, without those that need at least the SNR of a more efficient
/// one.
struct Ladder {
    thresholds_db: Vec<f64>,
    indices: Vec<usize>,
}

/// SNR thresholds from which MCS and CQI keep their target error rates, for a block on the whole carrier.
pub(crate) struct Adaptation {
    schemes: &'static [CodedModulation],
    /// Thresholds in dB by MCS index for the target error rate, for each number of data symbols that a slot can have.
    from_db: Vec<(u32, Vec<f64>)>,
    /// Useful schemes for each of these numbers of symbols.
    ladders: Vec<Ladder>,
    /// Thresholds in dB, ascending, from which quality indicators 1, 2, ... keep their promised error rate; `None` if
    /// SINRs are reported.
    indicators_db: Option<Vec<f64>>,
    process_share: f64,
    mapping: Mapping,
}

impl Adaptation {
    pub(crate) fn new(config: &NrConfig, rates: &mut ErrorRates) -> Self {
        let NrConfig { dmrs_re, overhead_re, layers, prbs, table, .. } = *config;
        let mut required = |scheme: &CodedModulation, symbols: u32, target: f64| {
            let allocation = Allocation { symbols, dmrs_re, overhead_re, prbs, layers };
            let millionths = u64::from(scheme.rate_times_2048) * 500_000;
            let bits = allocation.transport_block_bits(scheme.bits_per_symbol, millionths, 0);
            let sent = f64::from(allocation.resource_elements() * layers);
            rates.required_db(*scheme, CodeBlocks::of(bits, scheme.rate()), sent, target)
        };
        let mut symbols: Vec<u32> =
            (0..config.duplex.period()).map(|slot| config.data_symbols(slot)).collect();
        symbols.sort_unstable_by(|a, b| b.cmp(a));
        symbols.dedup();
        symbols.retain(|symbols| *symbols > 0);
        let mut of = |symbols: u32| {
            let target = config.target_error_rate;
            (symbols, table.schemes().iter().map(|scheme| required(scheme, symbols, target)).collect())
        };
        let from_db: Vec<(u32, Vec<f64>)> = symbols.iter().map(|symbols| of(*symbols)).collect();
        let promised = table.promised_error_rate();
        let indicators_db = config.feedback.is_indicator.then(|| {
            let indicators = table.quality_indicators().iter();
            let mut all: Vec<f64> = indicators.map(|scheme| required(scheme, symbols[0], promised)).collect();
            all.sort_by(f64::total_cmp);
            all
        });
        let efficiency = |index: usize| table.schemes()[index].efficiency();
        let mut by_efficiency: Vec<usize> = (0..table.schemes().len()).rev().collect();
        by_efficiency.sort_by(|a, b| efficiency(*b).total_cmp(&efficiency(*a)));
        let ladders = from_db.iter().map(|(_, from_db)| Ladder::new(&by_efficiency, from_db)).collect();
        Self {
            schemes: table.schemes(),
            from_db,
            ladders,
            indicators_db,
            process_share: process_share(config),
            mapping: Mapping::of(config),
        }
    }

    /// Share of a saturated downlink that the HARQ processes can keep busy.
    pub(crate) fn process_share(&self) -> f64 {
        self.process_share
    }

    /// MCS index for a block on these groups by the quality report, in a slot with `symbols` data symbols; `offset_db`
    /// is that of the outer loop in dB.
    pub(crate) fn choose(
        &self,
        reported: &mut Reported,
        groups: &[usize],
        symbols: u32,
        offset_db: f64,
    ) -> usize {
        // First by the information of Gaussian symbols, then by that of the constellation which this suggests.
        let known_db = if let Some(of_all) = reported.of_all_db() {
            of_all
        } else {
            let guess = self.schemes[self.best(reported.rough_db(groups) + offset_db, symbols)];
            reported.db(self.mapping, groups, guess)
        };
        let told_db = match &self.indicators_db {
            None => known_db,
            Some(thresholds) => {
                // An indicator promises no more than is there; 0 promises nothing.
                let met = met(thresholds, known_db);
                if met == 0 { f64::NEG_INFINITY } else { thresholds[met - 1] }
            }
        };
        self.best(told_db + offset_db, symbols)
    }

    /// Index of the most efficient scheme with a threshold of at most `snr_db`; 0 if there is none.
    fn best(&self, snr_db: f64, symbols: u32) -> usize {
        let of_slot = self.from_db.iter().position(|(of, _)| *of == symbols).unwrap_or(0);
        let ladder = &self.ladders[of_slot];
        let met = met(&ladder.thresholds_db, snr_db);
        if met == 0 { 0 } else { ladder.indices[met - 1] }
    }

    /// SNR in dB from which a scheme is used, in slots with the most data symbols.
    pub(crate) fn threshold_db(&self, index: usize) -> f64 {
        self.from_db[0].1[index]
    }
}

/// Number of thresholds that an SNR reaches. Comparing all is faster than a binary search with its dependent steps.
fn met(thresholds_db: &[f64], snr_db: f64) -> usize {
    thresholds_db.iter().map(|threshold| usize::from(*threshold <= snr_db)).sum()
}

impl Ladder {
    /// Ladder of schemes, given in order of falling efficiency, with thresholds by MCS index.
    fn new(by_efficiency: &[usize], from_db: &[f64]) -> Self {
        let mut indices: Vec<usize> = Vec::new();
        for &index in by_efficiency {
            if indices.last().is_none_or(|last| from_db[index] < from_db[*last]) {
                indices.push(index);
            }
        }
        indices.reverse();
        Self { thresholds_db: indices.iter().map(|index| from_db[*index]).collect(), indices }
    }
}

/// Share of data symbols in which a user with endless data has a free HARQ process, if all blocks take equally many
/// transmissions.
fn process_share(config: &NrConfig) -> f64 {
    const PERIODS: u64 = 400;
    let processes = config.harq.processes as usize;
    let mut due: Vec<u64> = Vec::new();
    let (mut used, mut all) = (0_u64, 0_u64);
    for slot in 0..PERIODS * config.duplex.period() {
        let symbols = u64::from(config.data_symbols(slot));
        if symbols == 0 {
            continue;
        }
        due.retain(|due| *due > slot);
        let is_counted = slot >= PERIODS / 2 * config.duplex.period();
        all += if is_counted { symbols } else { 0 };
        if due.len() < processes {
            due.push(config.again(slot));
            used += if is_counted { symbols } else { 0 };
        }
    }
    used as f64 / all as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell_tests::config;
    use crate::mcs::McsTable;

    /// The ladder gives the most efficient scheme among all whose threshold the SNR reaches.
    #[test]
    fn a_ladder_has_the_most_efficient_scheme_that_a_ratio_is_enough_for() {
        for number in 1..=4 {
            let table = McsTable::numbered(number).unwrap();
            let config = NrConfig { table, ..config(20.0) };
            let adaptation = Adaptation::new(&config, &mut ErrorRates::new(0.0));
            let (symbols, from_db) = &adaptation.from_db[0];
            for step in -200..800 {
                let snr_db = f64::from(step) * 0.05;
                let enough = (0..table.schemes().len()).filter(|index| from_db[*index] <= snr_db);
                let efficiency = |index: &usize| table.schemes()[*index].efficiency();
                let best = enough.max_by(|a, b| efficiency(a).total_cmp(&efficiency(b))).unwrap_or(0);
                assert_eq!(adaptation.best(snr_db, *symbols), best, "table {number}, {snr_db} dB");
            }
            assert_eq!(adaptation.best(f64::NEG_INFINITY, *symbols), 0);
            let last = adaptation.ladders[0].indices.last().copied();
            assert_eq!(last, Some(table.schemes().len() - 1));
        }
    }
}
