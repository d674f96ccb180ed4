//! Keys of a flow's bearer in an NR cell, where it differs from its class and from the bearers of the cell.

use super::base::absent;
use super::nr_stack::{DISCARD, NrRlc, REORDERING, Steps, stepped};
use crate::error::{ScenarioError, join};
use crate::quantity::{PrioritisedRate, Span};
use crossfade_core::SimTime;
use crossfade_nr::{BearerConfig, LogicalChannel};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

/// Bearer of a flow in an NR cell with an uplink: parameters that replace those of the flow's quality class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrBearer {
    /// Whether the flow shares the bearer of the flow that it is beside. Then flows.NAME.bearer has no other key.
    #[schemars(extend("x-default" = "false"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<bool>,

    /// Priority of the logical channel among those of its user; the lowest number goes first. Bearers of one user
    /// have either all a priority or none.
    #[schemars(range(min = 1, max = 16), extend("x-default" = "that of the flow's five_qi; 90 without it"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,

    /// Prioritised bit rate: bytes served before any of bearers with lower priority. It is 0, 8, 16, 32 ... 65536 kB/s
    /// or "infinity".
    #[schemars(extend("x-default" = "infinity"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prioritised_rate: Option<PrioritisedRate>,

    /// Bucket size duration: time for which unused prioritised bit rate accumulates. It is 5, 10, 20, 50, 100, 150,
    /// 300, 500 or 1000 ms.
    #[schemars(extend("x-default" = "5 ms, with a finite prioritised_rate"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<Span>,

    /// RLC of the bearer, equal in both directions.
    #[schemars(transform = of_class)]
    #[serde(skip_serializing_if = "NrRlc::is_absent")]
    pub rlc: NrRlc,

    /// Longest wait of PDCP for missing packets (`t-Reordering`).
    #[schemars(extend("x-default" = "that of the flow's five_qi; nr.reordering without it"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering: Option<Span>,

    /// Longest wait of a packet of which nothing was sent yet (PDCP `discardTimer`). Then the packet is dropped.
    #[schemars(extend("x-default" = "that of the flow's five_qi; nr.discard without it"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discard: Option<Span>,
}

absent!(NrBearer);

/// Allowed bucket size durations in milliseconds (3GPP TS 38.331, information element LogicalChannelConfig).
const BUCKETS: Steps =
    &[(5, 5, 1), (10, 10, 1), (20, 20, 1), (50, 50, 1), (100, 150, 50), (300, 500, 200), (1000, 1000, 1)];

/// Writes the source of their defaults into the schema of the RLC keys of a bearer.
fn of_class(schema: &mut Schema) {
    let keys = schema.get_mut("properties").and_then(|keys| keys.as_object_mut());
    for property in keys.into_iter().flat_map(|keys| keys.values_mut()) {
        property["x-default"] = "that of the flow's five_qi; that of nr.rlc without it".into();
    }
}

impl NrBearer {
    /// Bearer with the values of the table `key`, and those of `usual` for absent keys. It fills in defaults that
    /// depend on given keys.
    pub(crate) fn resolve(
        &mut self,
        key: &str,
        usual: BearerConfig,
        slot: SimTime,
    ) -> Result<BearerConfig, ScenarioError> {
        // `shared = false` is the default and stays absent.
        self.shared = None;
        let BearerConfig { mut rlc, mut reordering, mut discard, mut channel } = usual;
        if !self.rlc.is_absent() {
            rlc = self.rlc.resolve_of_bearer(&join(key, "rlc"), &rlc, slot)?;
        }
        if let Some(span) = self.reordering {
            reordering = Some(stepped(&join(key, "reordering"), span, REORDERING, slot)?);
        }
        if let Some(span) = self.discard {
            discard = Some(stepped(&join(key, "discard"), span, DISCARD, slot)?);
        }
        channel.priority = self.priority.unwrap_or(channel.priority);
        if let Some(PrioritisedRate(kilobytes)) = self.prioritised_rate {
            channel.prioritised_rate = kilobytes.map(|kilobytes| u64::from(kilobytes) * 1000);
        }
        if let Some(span) = self.bucket {
            channel.bucket = stepped(&join(key, "bucket"), span, BUCKETS, slot)?;
        }
        match channel.prioritised_rate {
            // Without a prioritised rate nothing accumulates. In a sweep over rates this key is present at all points.
            None | Some(0) => self.bucket = None,
            Some(_) => {
                self.bucket.get_or_insert(Span::exactly(LogicalChannel::default().bucket));
            }
        }
        Ok(BearerConfig { rlc, reordering, discard, channel })
    }
}
