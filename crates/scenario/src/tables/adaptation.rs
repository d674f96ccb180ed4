//! How a cell's link adaptation learns: reports of users, and what becomes of frames.

use super::base::{absent, json, positive_time, time};
use crate::error::{ScenarioError, join};
use crate::quantity::{Share, Span};
use crossfade_cell::{FeedbackConfig, OuterLoopConfig, Quantiser};
use crossfade_core::SimTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reports of channel quality: the predicted ratio of each bin now and then, late, and in steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CellFeedback {
    /// From report to report, in whole slots.
    #[schemars(extend("x-default" = "1 slot, with feedback"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,

    /// From the slot that a report is about to the first that it serves, in whole slots.
    #[schemars(extend("x-default" = "0 s, with feedback"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,

    /// Ratios are told in steps of so many dB, rounded down.
    #[schemars(range(min = 0.01, max = 40), extend("x-default" = "none: as they are"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_db: Option<f64>,

    /// The lowest ratio that can be told, which is also told of lower ones. Taken with step_db.
    #[schemars(range(min = -100, max = 100), extend("x-default" = "-6, with step_db"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest_db: Option<f64>,

    /// Of a report of one bin, which is one of 2^bits ratios. Taken with step_db.
    #[schemars(range(min = 1, max = 8), extend("x-default" = "4, with step_db"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<u32>,
}

/// Outer-loop link adaptation: an offset to predicted ratios, which new frames move: down when they fail, up when they get
/// through.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OuterLoop {
    /// The share of new frames that are to fail.
    #[schemars(extend("x-default" = "cell.levels.target_fer, or 10 %; with outer_loop"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_fer: Option<Share>,

    /// How far a failure moves the offset, in dB.
    #[schemars(range(min = 1e-6, max = 40), extend("x-default" = "1, with outer_loop"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_down_db: Option<f64>,

    /// How far a frame that got through moves it. Contradicts target_fer, which is step_up_db / (step_up_db + step_down_db).
    #[schemars(
        range(min = 1e-6, max = 40),
        extend("x-default" = "step_down_db target_fer / (1 - target_fer)")
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_up_db: Option<f64>,

    /// The offset keeps within so many dB, to both sides.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100, "x-default" = "20, with outer_loop"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_db: Option<f64>,
}

absent!(CellFeedback, OuterLoop);

impl CellFeedback {
    /// Fills in the defaults; `None` where nothing is said.
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
    /// Fills in the defaults; `None` where nothing is said.
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
