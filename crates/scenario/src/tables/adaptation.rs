//! Keys of link adaptation in a cell: channel reports of users, and feedback from frame outcomes.

use super::base::{absent, json, positive_time, time};
use crate::error::{ScenarioError, join};
use crate::quantity::{Share, Span};
use crossfade_cell::{FeedbackConfig, OuterLoopConfig, Quantiser};
use crossfade_core::SimTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reports of channel quality from user to base station. The base station learns the predicted SNR of each bin
/// periodically, late, and quantised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CellFeedback {
    /// Time between two reports of channel quality, in whole TTIs.
    #[schemars(extend("x-default" = "1 slot, with cell.feedback"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,

    /// Delay of a report of channel quality, in whole TTIs. It runs from the TTI it describes to the first that it
    /// serves.
    #[schemars(extend("x-default" = "0 s, with cell.feedback"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,

    /// Quantisation step of reported SNR in dB; values are rounded down.
    #[schemars(range(min = 0.01, max = 40), extend("x-default" = "none: reports are not quantised"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_db: Option<f64>,

    /// Lowest SNR that a report can state, in dB; lower values are reported as this one. Taken with step_db.
    #[schemars(range(min = -100, max = 100), extend("x-default" = "-6, with cell.feedback.step_db"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest_db: Option<f64>,

    /// Bits of a report for one bin, which states one of 2^bits SNR values. Taken with step_db.
    #[schemars(range(min = 1, max = 8), extend("x-default" = "4, with cell.feedback.step_db"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<u32>,
}

/// Outer-loop link adaptation: an offset added to predicted SNR. A failed new frame lowers the offset, a received one
/// raises it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OuterLoop {
    /// Target frame error rate of new frames, between 0 and 1.
    #[schemars(extend("x-default" = "cell.levels.target_fer, otherwise 10 %; with cell.outer_loop"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_fer: Option<Share>,

    /// Step by which a failed frame lowers the SNR offset, in dB.
    #[schemars(range(min = 1e-6, max = 40), extend("x-default" = "1, with cell.outer_loop"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_down_db: Option<f64>,

    /// Step by which a received frame raises the SNR offset, in dB. Contradicts target_fer, which is step_up_db /
    /// (step_up_db + step_down_db).
    #[schemars(
        range(min = 1e-6, max = 40),
        extend("x-default" = "step_down_db * target_fer / (1 - target_fer)")
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_up_db: Option<f64>,

    /// Largest absolute value of the SNR offset, in dB.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100, "x-default" = "20, with cell.outer_loop"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_db: Option<f64>,
}

absent!(CellFeedback, OuterLoop);

impl CellFeedback {
    /// Fills in the defaults of channel reports; `None` if the table is absent.
    pub(crate) fn resolve(&mut self, slot: SimTime) -> Result<Option<FeedbackConfig>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let in_slots = |time: SimTime| time.as_nanos().div_ceil(slot.as_nanos());
        let table = "cell.feedback";
        let period = *self.period.get_or_insert(Span::exactly(slot));
        let delay = *self.delay.get_or_insert(Span::ZERO);
        let period_slots = in_slots(positive_time(&join(table, "period"), period, slot)?);
        let delay_slots = in_slots(time(&join(table, "delay"), delay, slot)?);
        let quantiser = if let Some(step_db) = self.step_db {
            let lowest_db = *self.lowest_db.get_or_insert(-6.0);
            Some(Quantiser { lowest_db, step_db, bits: *self.bits.get_or_insert(4) })
        } else {
            for (key, is_given) in [("lowest_db", self.lowest_db.is_some()), ("bits", self.bits.is_some())] {
                if is_given {
                    let problem = format!("the steps of reports, such as 2; {key} goes with it");
                    return Err(ScenarioError::missing(&join(table, "step_db"), &problem));
                }
            }
            None
        };
        Ok(Some(FeedbackConfig { period_slots, delay_slots, quantiser }))
    }
}

impl OuterLoop {
    /// Fills in the defaults of outer-loop link adaptation; `None` if the table is absent.
    pub(crate) fn resolve(
        &mut self,
        of_levels: Option<Share>,
    ) -> Result<Option<OuterLoopConfig>, ScenarioError> {
        if self.is_absent() {
            return Ok(None);
        }
        let table = "cell.outer_loop";
        let step_down_db = *self.step_down_db.get_or_insert(1.0);
        let limit_db = *self.limit_db.get_or_insert(20.0);
        if let Some(step_up_db) = self.step_up_db {
            if self.target_fer.is_some() {
                let (key, other) = (join(table, "target_fer"), join(table, "step_up_db"));
                return Err(ScenarioError::contradiction(&key, &other, "each follows from the other"));
            }
            return Ok(Some(OuterLoopConfig { step_up_db, step_down_db, limit_db }));
        }
        let target = *self.target_fer.get_or_insert(of_levels.unwrap_or(Share(0.1)));
        if !(target.0 > 0.0 && target.0 < 1.0) {
            let key = join(table, "target_fer");
            return Err(ScenarioError::value(key, &json(target), "must be above 0 and below 1"));
        }
        Ok(Some(OuterLoopConfig::with_target(target.0, step_down_db, limit_db)))
    }
}
