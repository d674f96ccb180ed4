//! Links whose capacity follows a record or a table.

use crate::quantity::{Share, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the capacity of a link follows: one of opportunities, rates and attenuation, a file beside the
/// scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Trace {
    /// A file of delivery opportunities: on each line a time in whole milliseconds at which 1500 bytes may
    /// leave. It begins again after its last time. The format of mahimahi and of many cellular traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opportunities: Option<String>,

    /// A table of what holds from when on: time_s, rate_bps, delay_s and loss, the probability that a packet
    /// is lost. The delay is added to that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rates: Option<String>,

    /// A table of how much the path attenuates beyond its loss under a clear sky, from when on: time_s and
    /// attenuation_db. With budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attenuation: Option<String>,

    /// After this time a table begins again. Taken by rates and attenuation.
    #[schemars(extend("x-default" = "none: the last row holds for ever"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,

    /// Which modulations and codes the link can use. Taken by attenuation.
    #[schemars(extend("x-default" = "dvb-s2, of attenuation"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modcod: Option<Modcod>,

    /// What makes a rate and a loss of an attenuation. Taken by attenuation.
    #[serde(skip_serializing_if = "Budget::is_absent")]
    pub budget: Budget,
}

/// A table of modulations and codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Modcod {
    /// The 28 of DVB-S2 with long frames (ETSI EN 302 307-1, table 13).
    DvbS2,
}

/// The power budget of a link that adapts its modulation and code to the signal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Budget {
    /// Transmit power with the gains of both antennas. Required for attenuation.
    #[schemars(range(min = -1000, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmit_power_dbm: Option<f64>,

    /// Attenuation of the path under a clear sky. Required for attenuation.
    #[schemars(range(min = -1000, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_loss_db: Option<f64>,

    /// Noise figure of the receiver, at 290 K. Required for attenuation.
    #[schemars(range(min = -100, max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_figure_db: Option<f64>,

    /// Noise bandwidth; the symbol rate is the same number. Required for attenuation.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e15))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_hz: Option<f64>,

    /// How far above its threshold a modulation must be before it is used.
    #[schemars(range(min = -100, max = 100), extend("x-default" = "0, of attenuation"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin_db: Option<f64>,

    /// How old the attenuation is that the choice relies on. What is lost in the meantime is lost.
    #[schemars(extend("x-default" = "0 s, of attenuation"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptation_delay: Option<Span>,

    /// The share of packets that is lost at the threshold.
    #[schemars(extend("x-default" = "1e-7, of attenuation: what the thresholds of dvb-s2 mean"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_at_threshold: Option<Share>,

    /// How many dB make the loss ten times as large or as small: 0.1 or less for LDPC codes.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "x-default" = "0.1, of attenuation"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub db_per_decade: Option<f64>,
}

impl Trace {
    /// Whether nothing is said.
    pub fn is_absent(&self) -> bool {
        *self == Self::default()
    }
}

impl Budget {
    /// Whether nothing is said.
    pub fn is_absent(&self) -> bool {
        *self == Self::default()
    }
}
