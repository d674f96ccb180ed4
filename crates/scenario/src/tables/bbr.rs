//! BBR.

use super::base::{absent, json, time};
use crate::error::ScenarioError;
use crate::quantity::Span;
use crossfade_core::SimTime;
use crossfade_transport::{BbrConfig, WindowRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is open to a sender with congestion "bbr-v1" or "bbr-v3".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Bbr {
    /// How much of the excess of aggregated acknowledgements the window may add, in time at the estimated bandwidth; 0 s
    /// adds none.
    #[schemars(extend("x-default" = "100 ms; no limit for bbr-v3"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_acked_cap: Option<Span>,

    /// Version 1: look for token-bucket policers: two intervals with one loss in five deliveries or more and the same rate are taken
    /// for theirs.
    #[schemars(extend("x-default" = "true, of bbr-v1"))]
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
        let is_first = match rule {
            WindowRule::BbrV1 => true,
            WindowRule::BbrV3 => false,
            _ if self.is_absent() => return Ok(BbrConfig::default()),
            _ => {
                let problem = "needs tcp.congestion = \"bbr-v1\" or \"bbr-v3\"";
                return Err(ScenarioError::value("tcp.bbr", &json(&self), problem));
            }
        };
        if is_first {
            self.extra_acked_cap.get_or_insert(Span::millis(100));
            self.policer.get_or_insert(true);
        } else if self.policer.is_some() {
            let problem = "version 3 looks for none";
            return Err(ScenarioError::value("tcp.bbr.policer", &json(self.policer), problem));
        }
        let cap = self.extra_acked_cap.map(|cap| time("tcp.bbr.extra_acked_cap", cap, slot)).transpose()?;
        Ok(BbrConfig { mss, extra_acked_cap: cap, policer: self.policer == Some(true) })
    }
}
