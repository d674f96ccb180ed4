//! Keys of the antennas at both ends of a link.

use super::base::{absent, json};
use crate::error::{ScenarioError, join};
use crate::quantity::Angle;
use crossfade_channel::{AngularSpread, AntennaCorrelation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Antennas of transmitter and receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Antennas {
    /// Number of transmit antennas.
    #[schemars(range(min = 1, max = 8), extend("x-default" = "the number of phy.scheme: 1, 2 or 4"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_t: Option<u32>,

    /// Number of receive antennas.
    #[schemars(range(min = 1, max = 8), extend("x-default" = "4; 1 with phy.scheme = \"siso\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_r: Option<u32>,

    /// Correlation between the antennas of one end.
    #[schemars(extend("x-default" = "none, with channel.model \"block-rayleigh\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<Correlation>,

    /// Angles and spacing of the transmit antennas. Needs correlation = "custom".
    #[serde(skip_serializing_if = "Spread::is_absent")]
    pub transmitter: Spread,

    /// Angles and spacing of the receive antennas. Needs correlation = "custom".
    #[serde(skip_serializing_if = "Spread::is_absent")]
    pub receiver: Spread,
}

/// Correlation between the antennas of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Correlation {
    /// No correlation: gains are independent.
    None,
    /// Angular spread of 7 deg: neighbours half a wavelength apart have a correlation of 0.93 (transmit) and 0.95
    /// (receive).
    Urban,
    /// Angular spread of 2 deg: correlations of 0.994 (transmit) and 0.996 (receive).
    Rural,
    /// Angles and spacing given by transmitter and receiver.
    Custom,
}

/// Angles and spacing of a linear antenna array that faces one cluster of scatterers, with a Gaussian spread of
/// angles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Spread {
    /// Mean angle between the waves and the array, 0 to 180 deg.
    #[schemars(extend("x-default" = "none: required with correlation = \"custom\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_angle: Option<Angle>,

    /// Standard deviation of the angle of the waves, 0 to 90 deg.
    #[schemars(extend("x-default" = "none: required with correlation = \"custom\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Angle>,

    /// Distance of neighbouring antennas in wavelengths.
    #[schemars(range(min = 0, max = 1000), extend("x-default" = "0.5, with correlation = \"custom\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing_wavelengths: Option<f64>,
}

absent!(Antennas, Spread);

impl Antennas {
    /// Fills in the defaults of the antenna correlation, and returns its model.
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
