//! Error rates of a physical layer by closed form.

use crate::closed_forms::{attempts, diversity};
use crate::metrics::{Metrics, NOT_ACCEPTED};
use crossfade_link::RadioConfig;
use crossfade_scenario::{HopSetup, ScenarioError};

/// Error rates of the physical layer `radio`: those of a first transmission, and also residual ones if frames fade
/// independently and are not combined.
///
/// # Errors
/// If the scheme's symbols interfere, antennas are correlated, or the channel is estimated: no closed form exists.
pub(super) fn error_rates(hop: &HopSetup, radio: &RadioConfig) -> Result<Metrics, ScenarioError> {
    let (diversity, phy) = (diversity(radio)?, radio.phy);
    let fer = diversity.frame_error(phy.modulation, phy.frame_bits);
    let mut metrics = Metrics::from([("frame_error_rate".to_owned(), fer)]);
    metrics.extend(diversity.bit_error(phy.modulation).map(|ber| ("bit_error_rate".to_owned(), ber)));
    let attempts = attempts(hop);
    if attempts > 1 && (phy.combining.is_some() || !radio.is_independent()) {
        metrics.insert(format!("{NOT_ACCEPTED}1"), fer);
        return Ok(metrics);
    }
    let residual = |n: u32| libm::pow(fer, f64::from(n));
    metrics.extend((1..=attempts).map(|n| (format!("{NOT_ACCEPTED}{n}"), residual(n))));
    let rate_bps = hop.rate_bps().unwrap_or_default();
    let sent: f64 = (0..attempts).map(residual).sum();
    metrics.extend(
        [
            ("residual_frame_error_rate", residual(attempts)),
            ("frame_transmissions_per_frame", sent),
            ("effective_rate_bps", rate_bps * (1.0 - residual(attempts)) / sent),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    Ok(metrics)
}
