//! Keys of ACK aggregation in front of a link.

use super::base::{absent, positive_time};
use crate::error::{ScenarioError, join};
use crate::quantity::Span;
use crossfade_core::SimTime;
use crossfade_link::AggregationConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// ACK aggregation before a link: ACKs wait and are released together, as at a Wi-Fi station or a cable modem that
/// has to request its turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Aggregation {
    /// Time between two releases of waiting ACKs, such as "60 ms". Releases fall on its multiples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,

    /// ACK thinning factor of a flow. Of each group of this many ACKs released together, one is sent (RFC 3449 section
    /// 5.2.1), counted back from the newest: 1 keeps all ACKs, 1000 the newest alone. Dropped ACKs count in
    /// queue_drops. Needs period.
    #[schemars(range(min = 1), extend("x-default" = "1, with period"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinning: Option<u32>,
}

absent!(Aggregation);

impl Aggregation {
    /// Model of the ACK aggregation in the table called `table`; `None` if the table is absent.
    pub(crate) fn resolve(
        &mut self,
        table: &str,
        slot: SimTime,
    ) -> Result<Option<AggregationConfig>, ScenarioError> {
        let Some(period) = self.period else {
            if self.thinning.is_none() {
                return Ok(None);
            }
            let needs = "the time from one release to the next, such as \"60 ms\"";
            return Err(ScenarioError::missing(&join(table, "period"), needs));
        };
        let period = positive_time(&join(table, "period"), period, slot)?;
        let thinning = *self.thinning.get_or_insert(1);
        Ok(Some(AggregationConfig { period, thinning }))
    }
}
