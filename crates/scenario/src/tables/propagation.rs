//! Keys of the channels of a cell: power delay profile, and shadowing along the path of a user.

use super::base::{absent, json, named, time};
use crate::error::ScenarioError;
use crate::quantity::{Length, Span};
use crossfade_channel::{DelayProfile, NamedProfile, ShadowingConfig};
use crossfade_core::SimTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Log-normal shadowing: a first-order autoregressive process in distance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Shadowing {
    /// Standard deviation of shadowing in dB; 0 is none.
    #[schemars(range(min = 0, max = 40), extend("x-default" = "4"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sigma_db: Option<f64>,

    /// Correlation of neighbouring shadowing samples.
    #[schemars(range(min = 0, max = 1), extend("x-default" = "0.74"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pole: Option<f64>,

    /// Distance between shadowing samples.
    #[schemars(extend("x-default" = "2 m"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Length>,

    /// Interpolation between shadowing samples.
    #[schemars(extend("x-default" = "linear"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpolation: Option<Interpolation>,
}

absent!(Shadowing);

/// Power delay profile of the channels of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProfileWord {
    /// Typical urban of the Wireless IP proposal, ten paths up to 2.2 us.
    #[serde(rename = "typical-urban")]
    TypicalUrban,
    /// Extended Pedestrian A (3GPP TS 36.104).
    #[serde(rename = "EPA")]
    Epa,
    /// Extended Vehicular A (3GPP TS 36.104).
    #[serde(rename = "EVA")]
    Eva,
    /// Extended Typical Urban (3GPP TS 36.104).
    #[serde(rename = "ETU")]
    Etu,
    /// Tapped delay line A (3GPP TR 38.901), scaled by cell.delay_spread.
    #[serde(rename = "TDL-A")]
    TdlA,
    /// Tapped delay line B (3GPP TR 38.901), scaled by cell.delay_spread.
    #[serde(rename = "TDL-B")]
    TdlB,
    /// Tapped delay line C (3GPP TR 38.901), scaled by cell.delay_spread.
    #[serde(rename = "TDL-C")]
    TdlC,
}

/// Interpolation between shadowing samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// Linear in dB between samples.
    Linear,
    /// Constant until the next sample.
    Hold,
}

/// Keys of the power delay profile in the table `cell`.
pub(super) struct ProfileKeys<'a> {
    pub(super) profile: &'a mut Option<ProfileWord>,
    pub(super) delay_spread: &'a mut Option<Span>,
    pub(super) delays_ns: Option<&'a [f64]>,
    pub(super) powers_db: Option<&'a [f64]>,
}

impl ProfileKeys<'_> {
    /// Fills in the defaults of the power delay profile, and returns the profile.
    pub(super) fn resolve(self, slot: SimTime) -> Result<DelayProfile, ScenarioError> {
        let (delays, powers) = match (self.delays_ns, self.powers_db) {
            (None, None) => return self.resolve_named(slot),
            (Some(delays), Some(powers)) => (delays, powers),
            (Some(_), None) => {
                return Err(ScenarioError::missing(
                    "cell.powers_db",
                    "a list such as [0, -3, -6], one for each delay",
                ));
            }
            (None, Some(_)) => {
                return Err(ScenarioError::missing(
                    "cell.delays_ns",
                    "a list such as [0, 200, 600], one for each power",
                ));
            }
        };
        if self.profile.is_some() {
            let reason = "the lists are the profile";
            return Err(ScenarioError::contradiction("cell.profile", "cell.delays_ns", reason));
        }
        let seconds: Vec<f64> = delays.iter().map(|delay| delay * 1e-9).collect();
        DelayProfile::new(&seconds, powers).map_err(|error| named("cell", &error))
    }

    fn resolve_named(self, slot: SimTime) -> Result<DelayProfile, ScenarioError> {
        let word = *self.profile.get_or_insert(ProfileWord::TypicalUrban);
        let is_tdl = matches!(word, ProfileWord::TdlA | ProfileWord::TdlB | ProfileWord::TdlC);
        let spread_s = if is_tdl {
            let spread = *self.delay_spread.get_or_insert(Span::exactly(SimTime::from_nanos(100)));
            let time = time("cell.delay_spread", spread, slot)?;
            if time > SimTime::from_micros(10) {
                let problem = "must be at most 10 us";
                return Err(ScenarioError::value("cell.delay_spread", &json(spread), problem));
            }
            time.as_secs_f64()
        } else {
            // A sweep over the profiles has this key in all of its points.
            *self.delay_spread = None;
            0.0
        };
        let name = match word {
            ProfileWord::TypicalUrban => NamedProfile::TypicalUrban,
            ProfileWord::Epa => NamedProfile::Epa,
            ProfileWord::Eva => NamedProfile::Eva,
            ProfileWord::Etu => NamedProfile::Etu,
            ProfileWord::TdlA => NamedProfile::TdlA(spread_s),
            ProfileWord::TdlB => NamedProfile::TdlB(spread_s),
            ProfileWord::TdlC => NamedProfile::TdlC(spread_s),
        };
        DelayProfile::named(name).map_err(|error| named("cell", &error))
    }
}

impl Shadowing {
    /// Fills in the defaults of the shadowing in the table called `table`; `None` without shadowing.
    pub(super) fn resolve(&mut self, table: &str) -> Result<Option<ShadowingConfig>, ScenarioError> {
        let config = ShadowingConfig {
            std_db: *self.sigma_db.get_or_insert(4.0),
            pole: *self.pole.get_or_insert(0.74),
            spacing_m: self.spacing.get_or_insert(Length(2.0)).0,
            hold: *self.interpolation.get_or_insert(Interpolation::Linear) == Interpolation::Hold,
        };
        config.check().map_err(|error| named(table, &error))?;
        Ok((config.std_db > 0.0).then_some(config))
    }
}
