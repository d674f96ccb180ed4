//! Keys of link adaptation in an NR cell: channel quality reports, and outer loop by acknowledgements.

use super::base::{absent, positive_time, time};
use crate::error::ScenarioError;
use crate::quantity::Span;
use crossfade_cell::OuterLoopConfig;
use crossfade_core::SimTime;
use crossfade_nr::QualityReports;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Channel quality reports of users: periodic, late, and quantised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrFeedback {
    /// Time between two channel quality reports, in whole slots.
    #[schemars(extend("x-default" = "20 ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,

    /// Delay from the slot that a report describes to the first that it serves, in whole slots.
    #[schemars(extend("x-default" = "4 slots"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,

    /// Whether a report is a channel quality indicator (CQI); otherwise it is the SNR itself.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cqi: Option<bool>,
}

/// Outer-loop link adaptation: an offset added to reported SNR. A failed first transmission lowers it, a received one
/// raises it, so that nr.target_bler is met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NrOuterLoop {
    /// Step by which a failed first transmission lowers the SNR offset, in dB.
    #[schemars(range(min = 1e-6, max = 40), extend("x-default" = "1, with nr.outer_loop"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_down_db: Option<f64>,

    /// Largest absolute value of the SNR offset, in dB.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100, "x-default" = "20, with nr.outer_loop"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_db: Option<f64>,
}

absent!(NrFeedback, NrOuterLoop);

impl NrFeedback {
    /// Fills in the defaults of channel quality reports.
    pub(super) fn resolve(&mut self, slot: SimTime) -> Result<QualityReports, ScenarioError> {
        let in_slots = |time: SimTime| time.as_nanos().div_ceil(slot.as_nanos());
        let period = *self.period.get_or_insert(Span::exactly(SimTime::from_millis(20)));
        let delay = *self.delay.get_or_insert(Span::exactly(slot * 4));
        Ok(QualityReports {
            period_slots: in_slots(positive_time("nr.feedback.period", period, slot)?),
            delay_slots: in_slots(time("nr.feedback.delay", delay, slot)?),
            is_indicator: *self.cqi.get_or_insert(true),
        })
    }
}

impl NrOuterLoop {
    /// Fills in the defaults of outer-loop link adaptation; `None` if the table is absent.
    pub(super) fn resolve(&mut self, target: f64) -> Option<OuterLoopConfig> {
        if self.is_absent() {
            return None;
        }
        let step_down_db = *self.step_down_db.get_or_insert(1.0);
        let limit_db = *self.limit_db.get_or_insert(20.0);
        Some(OuterLoopConfig::with_target(target, step_down_db, limit_db))
    }
}
