//! What a cell takes the error rates of a simulated block for.

use crate::awgn::Combining;
use crate::config::NrConfig;
use crate::effective_sinr::Mapping;
use crate::error_rates::ErrorRates;
use crate::harq::Block;
use crate::simulated_block::{BlockFading, SimulatedBlockConfig};
use crossfade_core::from_db;

/// Quantiles that stand for a Rayleigh channel.
const QUANTILES: u32 = 200;

/// The error rates of a block after 1, 2, ... transmissions as the cell's fidelity `slot` has them: those of its table or of the normal
/// approximation, at the effective ratio of what symbols meet. `None` where one gain holds for a transmission, and where chase combining
/// adds up independent gains of a symbol: a cell has no number for these.
pub fn predicted_error_rates(
    cell: &NrConfig,
    block: &SimulatedBlockConfig,
    snr_db: f64,
    transmissions: u32,
) -> Option<Vec<f64>> {
    let power = |quantile: u32| -libm::log1p(-(f64::from(quantile) + 0.5) / f64::from(QUANTILES));
    let ratios: Vec<f64> = match block.fading {
        BlockFading::None => vec![from_db(snr_db)],
        BlockFading::PerSymbol if cell.harq.combining == Combining::Chase => return None,
        BlockFading::PerSymbol => (0..QUANTILES).map(|i| power(i) * from_db(snr_db)).collect(),
        BlockFading::PerTransmission => return None,
    };
    let groups: Vec<usize> = (0..ratios.len()).collect();
    let effective_db = Mapping::of(cell).db(&ratios, &groups, block.scheme);
    let mut rates = ErrorRates::of_config(cell);
    let mut sent = Block::new(0, 0, block.code, 0, (0, 0), 0.0);
    let after = |_| {
        let symbols = f64::from(block.symbols);
        sent.receive_copy(block.scheme, symbols, effective_db, cell.harq.combining, &mut rates);
        sent.error_rate
    };
    Some((0..transmissions).map(after).collect())
}
