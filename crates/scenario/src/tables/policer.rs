//! Token-bucket policers.

use super::base::absent;
use super::shaper::bucket;
use crate::error::ScenarioError;
use crate::quantity::{Rate, Size};
use crossfade_link::PolicerConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A token bucket in front of a link (RFC 2697): a packet passes at once where it holds as many tokens as that has bytes, and is
/// dropped otherwise, which counts in queue_drops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Policer {
    /// The committed information rate, at which tokens come. With burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// The committed burst size: how many tokens the bucket holds. With rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Size>,
}

absent!(Policer);

impl Policer {
    /// The bucket of the table called `table`, before a link that sends packets of up to `largest_packet` at `link_bps`.
    pub(crate) fn resolve(
        &self,
        table: &str,
        link_bps: Option<f64>,
        largest_packet: u32,
    ) -> Result<Option<PolicerConfig>, ScenarioError> {
        let bucket = bucket(table, (self.rate, self.burst), link_bps, largest_packet, "polices")?;
        Ok(bucket.map(|(rate_bps, burst)| PolicerConfig { rate_bps, burst }))
    }
}
