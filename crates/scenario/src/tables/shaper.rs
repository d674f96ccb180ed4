//! Keys of token-bucket shapers, in which packets wait.

use super::base::{absent, json};
use crate::error::{ScenarioError, join};
use crate::quantity::{Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shaper: a token bucket in front of a link (RFC 2697) in which packets wait for their tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Shaper {
    /// Committed information rate, at which tokens arrive. Needs burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,

    /// Committed burst size: the most tokens the bucket holds. Needs rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Size>,
}

absent!(Shaper);

/// Resolved token bucket of a shaper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShaperSetup {
    /// Committed information rate in bit/s, at which tokens arrive.
    pub rate_bps: f64,
    /// Committed burst size in bytes: the most tokens that the bucket holds.
    pub burst: u32,
}

impl Shaper {
    /// Resolves the token bucket in the table called `table`, in front of a link that sends packets of up to
    /// `largest_packet` bytes at `link_bps` bit/s.
    pub(crate) fn resolve(
        &self,
        table: &str,
        link_bps: Option<f64>,
        largest_packet: u32,
    ) -> Result<Option<ShaperSetup>, ScenarioError> {
        let bucket = bucket(table, (self.rate, self.burst), link_bps, largest_packet, "shapes")?;
        Ok(bucket.map(|(rate_bps, burst)| ShaperSetup { rate_bps, burst }))
    }
}

/// Rate in bit/s and size in bytes of the token bucket in the table called `table`, in front of a link that sends
/// packets of up to `largest_packet` bytes at `link_bps` bit/s; `does` names the bucket's function in errors.
pub(super) fn bucket(
    table: &str,
    given: (Option<Rate>, Option<Size>),
    link_bps: Option<f64>,
    largest_packet: u32,
    does: &str,
) -> Result<Option<(f64, u32)>, ScenarioError> {
    let (rate, burst) = match given {
        (None, None) => return Ok(None),
        (Some(rate), Some(burst)) => (rate, burst),
        (rate, _) => {
            let missing = if rate.is_some() { ("burst", "10 kB") } else { ("rate", "1 Mbit/s") };
            let needs = format!("the size of the bucket and its rate, such as \"{}\"", missing.1);
            return Err(ScenarioError::missing(&join(table, missing.0), &needs));
        }
    };
    if link_bps.is_some_and(|link_bps| rate.0 > link_bps) {
        let problem = format!("must be at most the rate of the link, or the bucket {does} nothing");
        return Err(ScenarioError::value(join(table, "rate"), &json(rate), problem));
    }
    if burst.0 < largest_packet {
        let problem = format!("must hold a packet of \"{largest_packet} B\"");
        return Err(ScenarioError::value(join(table, "burst"), &json(burst), problem));
    }
    Ok(Some((rate.0, burst.0)))
}
