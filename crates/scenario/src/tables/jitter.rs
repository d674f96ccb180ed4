//! Random delays of packets.

use super::base::{absent, json, positive_time};
use crate::error::{ScenarioError, join};
use crate::quantity::{Rate, Span};
use crossfade_core::SimTime;
use crossfade_link::JitterConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Random delay of each packet behind a link (RFC 8868 section 4.5): the magnitude of a Gaussian, bounded. Packets of
/// a flow stay in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Jitter {
    /// Standard deviation of the random Gaussian delay of a packet, such as "5 ms".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<Span>,

    /// Largest random delay of a packet, in multiples of std. Needs std.
    #[schemars(extend("x-default" = "3, with std"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_std: Option<f64>,

    /// Bit rate at which packets of a flow leave after one that was delayed longer. At the rate of the link a delay
    /// never falls while the link is busy. Needs std.
    #[schemars(extend("x-default" = "none: packets follow a delayed one at once"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

absent!(Jitter);

impl Jitter {
    /// Model of the jitter in the table `table`.
    pub(crate) fn resolve(
        &mut self,
        table: &str,
        slot: SimTime,
    ) -> Result<Option<JitterConfig>, ScenarioError> {
        let Some(std) = self.std else {
            if self.is_absent() {
                return Ok(None);
            }
            let needs = "the standard deviation of the delays, such as \"5 ms\"";
            return Err(ScenarioError::missing(&join(table, "std"), needs));
        };
        let std = positive_time(&join(table, "std"), std, slot)?;
        let n_std = *self.n_std.get_or_insert(3.0);
        if !(n_std > 0.0 && n_std <= 100.0) {
            let problem = "must be above 0 and at most 100";
            return Err(ScenarioError::value(join(table, "n_std"), &json(n_std), problem));
        }
        Ok(Some(JitterConfig { std, n_std, rate_bps: self.rate.map(|rate| rate.0) }))
    }
}
