//! Tables about antennas and space-time codes that need no scenario.

use crossfade_channel::AntennaCorrelation;
use crossfade_channel::modulus;
use crossfade_phy::printed_codes;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Correlation of neighbouring antennas in urban and rural environments as JSON text: Table 1 of the paper on TCP over
/// MIMO channels.
#[pyfunction]
pub(crate) fn antenna_correlations() -> String {
    let mut rows = Vec::new();
    for (scenario, correlation) in
        [("urban", AntennaCorrelation::Urban), ("rural", AntennaCorrelation::Rural)]
    {
        let ends = correlation.spreads().into_iter().flat_map(|(t, r)| [("transmitter", t), ("receiver", r)]);
        for (end, spread) in ends {
            let neighbours = spread.correlation(2).map(|matrix| modulus(matrix[(0, 1)]));
            rows.push(json!({
                "scenario": scenario,
                "end": end,
                "mean_angle_deg": spread.mean_angle.to_degrees().round(),
                "spread_deg": spread.spread.to_degrees().round(),
                "spacing_wavelengths": spread.spacing,
                "correlation": neighbours.ok(),
            }));
        }
    }
    Value::Array(rows).to_string()
}

/// Noise-free decisions with the space-time codes as printed in the paper, with four receive antennas, as JSON text:
/// they show which printed matrices are wrong.
#[pyfunction]
pub(crate) fn printed_codes_judged(py: Python<'_>) -> String {
    const BLOCKS: u64 = 10_000;
    let judged = py.detach(|| printed_codes::judge(BLOCKS, 4));
    let row = |of: printed_codes::Judgement| {
        json!({
            "scheme": of.scheme.name(),
            "sent": of.sent,
            "received": of.received,
            "wrong": of.wrong,
            "symbols": of.symbols,
            "gram_error": of.gram_error,
        })
    };
    Value::Array(judged.into_iter().map(row).collect()).to_string()
}
