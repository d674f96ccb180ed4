//! Keys of token-bucket policers, which drop packets.

use super::base::absent;
use super::shaper::bucket;
use crate::error::ScenarioError;
use crate::quantity::{Rate, Size};
use crossfade_link::PolicerConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Policer: a token bucket in front of a link (RFC 2697) that drops a packet for which it lacks tokens. Drops count
/// in queue_drops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Policer {
    /// Committed information rate, at which tokens arrive. Needs burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Committed burst size: the most tokens the bucket holds. Needs rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Size>,
}

absent!(Policer);

impl Policer {
    /// Model of the token bucket in the table called `table`, in front of a link that sends packets of up to
    /// `largest_packet` bytes at `link_bps` bit/s.
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
