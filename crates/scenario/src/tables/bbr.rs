//! BBR.

use super::base::{absent, json, time};
use crate::error::ScenarioError;
use crate::quantity::Span;
use crossfade_core::SimTime;
use crossfade_transport::{BbrConfig, WindowRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is open to a sender with congestion "bbr-v1".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Bbr {
    /// How much of the excess of aggregated acknowledgements the window may add, in time at the estimated bandwidth; 0 s
    /// adds none.
    #[schemars(extend("x-default" = "100 ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_acked_cap: Option<Span>,

    /// Look for token-bucket policers: two intervals with one loss in five deliveries or more and the same rate are taken
    /// for theirs.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policer: Option<bool>,
}

absent!(Bbr);

impl Bbr {
    /// Fills in the defaults, if the rule is BBR's.
    pub(crate) fn resolve(
        &mut self,
        rule: WindowRule,
        mss: u32,
        slot: SimTime,
    ) -> Result<BbrConfig, ScenarioError> {
        if rule != WindowRule::BbrV1 {
            if self.is_absent() {
                return Ok(BbrConfig::default());
            }
            return Err(ScenarioError::value("tcp.bbr", &json(&self), "needs tcp.congestion = \"bbr-v1\""));
        }
        let cap = *self.extra_acked_cap.get_or_insert(Span::millis(100));
        let cap = time("tcp.bbr.extra_acked_cap", cap, slot)?;
        let policer = *self.policer.get_or_insert(true);
        Ok(BbrConfig { mss, extra_acked_cap: Some(cap), policer })
    }
}
