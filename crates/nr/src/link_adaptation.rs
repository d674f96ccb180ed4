//! Link adaptation: the MCS of a block by quality reports and an offset that acknowledgements teach.

use crate::config::NrConfig;
use crate::effective_sinr::{Mapping, Reported};
use crate::error_rates::ErrorRates;
use crate::mcs::CodedModulation;
use crate::transport_block::{Allocation, CodeBlocks};

/// The signal-to-noise ratios from which MCS and CQI keep their target error rates, for a block on the whole carrier.
pub(crate) struct Adaptation {
    schemes: &'static [CodedModulation],
    /// Thresholds in dB by MCS index for the target error rate, for each number of data symbols that a slot can have.
    from_db: Vec<(u32, Vec<f64>)>,
    /// MCS indices by falling efficiency; of equally efficient ones the greater index comes first.
    by_efficiency: Vec<usize>,
    /// Ratios in dB from which each quality indicator from 1 on keeps the error rate it promises; `None` where ratios
    /// are reported.
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
            table.quality_indicators().iter().map(|scheme| required(scheme, symbols[0], promised)).collect()
        });
        let efficiency = |index: usize| table.schemes()[index].efficiency();
        let mut by_efficiency: Vec<usize> = (0..table.schemes().len()).rev().collect();
        by_efficiency.sort_by(|a, b| efficiency(*b).total_cmp(&efficiency(*a)));
        Self {
            schemes: table.schemes(),
            from_db,
            by_efficiency,
            indicators_db,
            process_share: process_share(config),
            mapping: Mapping::of(config),
        }
    }

    /// Share of a full downlink that the HARQ processes can keep busy.
    pub(crate) fn process_share(&self) -> f64 {
        self.process_share
    }

    /// The MCS index for a block on these groups by the report, in a slot with `symbols` for data, with the outer
    /// loop's offset in dB.
    pub(crate) fn choose(
        &self,
        reported: &mut Reported,
        groups: &[usize],
        symbols: u32,
        offset_db: f64,
    ) -> usize {
        // By the information that Gaussian symbols would carry, then by that of the constellation which that suggests.
        let known_db = if let Some(of_all) = reported.of_all_db() {
            of_all
        } else {
            let guess = self.schemes[self.best(reported.rough_db(groups) + offset_db, symbols)];
            reported.db(self.mapping, groups, guess)
        };
        let told_db = match &self.indicators_db {
            None => known_db,
            Some(thresholds) => {
                // An indicator promises no more than there is; 0 promises nothing.
                let above = thresholds.iter().filter(|threshold| **threshold <= known_db);
                above.copied().fold(f64::NEG_INFINITY, f64::max)
            }
        };
        self.best(told_db + offset_db, symbols)
    }

    /// The index of the most efficient scheme with a threshold of at most `snr_db`; 0 where none has.
    fn best(&self, snr_db: f64, symbols: u32) -> usize {
        let of_slot = self.from_db.iter().find(|(of, _)| *of == symbols).unwrap_or(&self.from_db[0]);
        self.by_efficiency.iter().copied().find(|index| of_slot.1[*index] <= snr_db).unwrap_or(0)
    }

    /// The ratio in dB from which a scheme is used, in the slots with most data symbols.
    pub(crate) fn threshold_db(&self, index: usize) -> f64 {
        self.from_db[0].1[index]
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
