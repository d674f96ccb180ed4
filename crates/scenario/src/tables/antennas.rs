//! Antennas at both ends of a link.

use super::base::{absent, json};
use crate::error::{ScenarioError, join};
use crate::quantity::Angle;
use crossfade_channel::{AngularSpread, AntennaCorrelation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The antennas at both ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Antennas {
    /// How many transmit.
    #[schemars(range(min = 1, max = 8), extend("x-default" = "what phy.scheme needs, of the paper's setting: 1, 2 or 4"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_t: Option<u32>,

    /// How many receive.
    #[schemars(range(min = 1, max = 8), extend("x-default" = "4; 1 with phy.scheme = \"siso\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_r: Option<u32>,

    /// How the antennas of an end are correlated.
    #[schemars(extend("x-default" = "none, of block-rayleigh"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<Correlation>,

    /// How waves leave the transmit antennas. With correlation = "custom".
    #[serde(skip_serializing_if = "Spread::is_absent")]
    pub transmitter: Spread,

    /// How waves meet the receive antennas. With correlation = "custom".
    #[serde(skip_serializing_if = "Spread::is_absent")]
    pub receiver: Spread,
}

/// How the antennas of an end are correlated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Correlation {
    /// Not at all.
    None,
    /// A spread of 7 deg: neighbours have a correlation of 0.93 (transmit) and 0.95 (receive), half a wavelength
    /// apart.
    Urban,
    /// A spread of 2 deg: 0.994 and 0.996.
    Rural,
    /// As transmitter and receiver say.
    Custom,
}

/// Waves of one cluster of scatterers at a linear array: mean angle, Gaussian spread around it, and the distance
/// of neighbours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Spread {
    /// The mean angle of the waves to the array, 0 to 180 deg.
    #[schemars(extend("x-default" = "none: required with correlation = \"custom\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_angle: Option<Angle>,

    /// The standard deviation of the angle, 0 to 90 deg.
    #[schemars(extend("x-default" = "none: required with correlation = \"custom\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Angle>,

    /// The distance of neighbours in wavelengths.
    #[schemars(range(min = 0, max = 1000), extend("x-default" = "0.5, with correlation = \"custom\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing_wavelengths: Option<f64>,
}

absent!(Antennas, Spread);

impl Antennas {
    /// Fills in the defaults of the correlation.
    pub(super) fn resolve_correlation(&mut self, table: &str) -> Result<AntennaCorrelation, ScenarioError> {
        let correlation = *self.correlation.get_or_insert(Correlation::None);
        let ends = [("transmitter", &mut self.transmitter), ("receiver", &mut self.receiver)];
        if correlation != Correlation::Custom
            && let Some((end, _)) = ends.iter().find(|(_, spread)| !spread.is_absent())
        {
            let word = format!("{} = {}", join(table, "correlation"), json(correlation));
            let reason = "only \"custom\" takes the spread of an end";
            return Err(ScenarioError::contradiction(&join(table, end), &word, reason));
        }
        Ok(match correlation {
            Correlation::None => AntennaCorrelation::None,
            Correlation::Urban => AntennaCorrelation::Urban,
            Correlation::Rural => AntennaCorrelation::Rural,
            Correlation::Custom => {
                let [transmitter, receiver] = ends.map(|(end, spread)| spread.resolve(&join(table, end)));
                AntennaCorrelation::Custom { transmitter: transmitter?, receiver: receiver? }
            }
        })
    }
}

impl Spread {
    fn resolve(&mut self, table: &str) -> Result<AngularSpread, ScenarioError> {
        let angle = |name: &str, angle: Option<Angle>, most: f64, allowed: &str| {
            let key = join(table, name);
            let missing =
                || ScenarioError::missing(&key, "an angle such as \"60 deg\", with correlation = \"custom\"");
            let found = angle.ok_or_else(missing)?;
            if (0.0..=most).contains(&found.0) {
                return Ok(found.0);
            }
            Err(ScenarioError::value(&key, &json(found), format!("must be {allowed}")))
        };
        let pi = std::f64::consts::PI;
        Ok(AngularSpread {
            mean_angle: angle("mean_angle", self.mean_angle, pi, "0 to 180 deg (pi rad)")?,
            spread: angle("spread", self.spread, pi / 2.0, "0 to 90 deg (pi / 2 rad)")?,
            spacing: *self.spacing_wavelengths.get_or_insert(0.5),
        })
    }
}
