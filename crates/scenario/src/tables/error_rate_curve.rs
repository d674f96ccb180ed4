//! Selection of a physical layer's error rates from a file with several schemes.

use super::antennas::Correlation;
use super::base::json;
use crate::error::ScenarioError;
use crossfade_phy::{Detector, ErrorRateCurve, ErrorRateTable, PhyConfig, Stage, StbcPower, Weights};
use std::sync::Arc;

/// Error-rate table from those lines of the file whose scheme and receiver match `phy`.
pub(super) fn error_rate_curve(
    curves: &ErrorRateTable,
    phy: &PhyConfig,
    correlation: Option<Correlation>,
) -> Result<Arc<ErrorRateCurve>, ScenarioError> {
    let word = |column: &str| match column {
        "scheme" => phy.scheme.name().to_owned(),
        "detector" => phy.detector.name().to_owned(),
        "correlation" => {
            json(correlation.unwrap_or(Correlation::None)).as_str().unwrap_or_default().to_owned()
        }
        "stbc_power" => match phy.stbc_power {
            StbcPower::Equal => "equal".to_owned(),
            StbcPower::Printed => "printed".to_owned(),
        },
        "combining" => combining(phy).0.to_owned(),
        "combining_stage" => combining(phy).1.to_owned(),
        "frame_bits" => phy.frame_bits.to_string(),
        "mode" => phy.modulation.name().to_owned(),
        other => unreachable!("{other} tells no tables apart"),
    };
    let rates = curves.rates(word).map_err(|error| ScenarioError::key("phy.table", error.to_string()))?;
    Ok(Arc::clone(rates.nearest(phy.frame_bits / 8)))
}

/// Values of the columns `combining` and `combining_stage` that select the lines for `phy`.
fn combining(phy: &PhyConfig) -> (&'static str, &'static str) {
    let Some(combining) = phy.combining else { return ("none", "") };
    let weights = match combining.weights {
        Weights::EqualGain => "equal-gain",
        Weights::MaximalRatio => "maximal-ratio",
    };
    match combining.stage {
        _ if matches!(phy.detector, Detector::Ml | Detector::Sphere) => ("", "ml"),
        Stage::Posthoc => (weights, "posthoc"),
        Stage::Joint => (weights, "joint"),
        Stage::Stacked => ("", "stacked"),
    }
}
