//! Keys of the channel knowledge of a cell's base station, and of its choice of modulation.

use super::base::{absent, json, named, positive_time};
use crate::error::{ScenarioError, join};
use crate::quantity::{Share, Span};
use crossfade_cell::{FrameSuccess, LevelRule, Levels, PredictedSinr};
use crossfade_channel::wiener_nmse;
use crossfade_core::{SimTime, from_db};
use crossfade_phy::{BlockSizes, ErrorRateTable, Modulation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Channel prediction at the base station.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Prediction {
    /// Normalised mean square error of the predicted complex gain, below 1.
    #[schemars(range(min = 0, max = 1), extend("x-default" = "0; with cell.prediction.horizon, the error that follows from it"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nmse: Option<f64>,

    /// Prediction horizon: time ahead, predicted from 32 TTIs observed at the mean SNR. Without
    /// cell.prediction.nmse it determines the prediction error of each user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<Span>,

    /// Bias of the predicted SNR: unbiased predictions add the power of the prediction error.
    #[schemars(extend("x-default" = "unbiased"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sinr: Option<SinrWord>,
}

/// Switch levels: the predicted SNR from which each modulation is used. By default they are optimal for the
/// prediction error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LevelKeys {
    /// Prediction NMSE for which the levels are optimised.
    #[schemars(range(min = 0, max = 1), extend("x-default" = "the NMSE of the predictions"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_nmse: Option<f64>,

    /// Target frame error rate of the levels; without it they maximise the expected bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_fer: Option<Share>,

    /// Switch levels in dB: for 2 to 8 bits per symbol, or for 1 to 8. Contradicts the other keys of cell.levels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_db: Option<Vec<f64>>,

    /// Constellation of 3 bits per symbol.
    #[schemars(extend("x-default" = "star"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eight: Option<Eight>,
}

absent!(Prediction, LevelKeys);

/// Constellation of 3 bits per symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Eight {
    /// Two rings of four points.
    Star,
    /// 4 x 2 points.
    Rectangular,
}

/// SNR that a prediction gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SinrWord {
    /// Predicted gain corrected to be right in the mean.
    Unbiased,
    /// Predicted gain without correction: too low by the power of its error.
    Raw,
}

/// Measured error rates of a cell's frames, from a file.
pub(super) struct Measured {
    /// Name of the file with the error rates.
    pub(super) name: String,
    pub(super) table: Arc<ErrorRateTable>,
    pub(super) sizes: BlockSizes,
}

/// Number of slots that a channel predictor observes; it determines the prediction error of a horizon.
const OBSERVATIONS: usize = 32;

impl Prediction {
    /// Fills in the defaults of the channel prediction.
    pub(super) fn resolve(&mut self, slot: SimTime) -> Result<PredictionSetup, ScenarioError> {
        let horizon = self.horizon.map(|horizon| positive_time("cell.prediction.horizon", horizon, slot));
        let horizon_slots =
            horizon.transpose()?.map(|horizon| horizon.as_nanos() as f64 / slot.as_nanos() as f64);
        if let Some(nmse) = self.nmse.filter(|nmse| *nmse >= 1.0) {
            let problem = "must be at least 0 and below 1";
            return Err(ScenarioError::value("cell.prediction.nmse", &json(nmse), problem));
        }
        let is_given = horizon_slots.is_some() || self.nmse.is_some_and(|nmse| nmse > 0.0);
        if horizon_slots.is_none() {
            self.nmse.get_or_insert(0.0);
        }
        Ok(PredictionSetup { nmse: self.nmse, horizon_slots, is_given })
    }
}

/// Resolved quality of channel prediction.
pub(super) struct PredictionSetup {
    nmse: Option<f64>,
    /// Prediction horizon in slots; `None` if the scenario gives none.
    pub(super) horizon_slots: Option<f64>,
    /// True if the scenario gives a prediction error or a horizon.
    pub(super) is_given: bool,
}

impl PredictionSetup {
    /// Normalised mean square error of a user's predictions: the common one, or that of the horizon at this Doppler and
    /// SNR.
    pub(super) fn nmse_of(&self, fd_t: f64, mean_snr_db: f64) -> f64 {
        let snr = from_db(mean_snr_db);
        self.nmse.unwrap_or_else(|| {
            wiener_nmse(fd_t, self.horizon_slots.unwrap_or(0.0), snr, OBSERVATIONS).min(0.999)
        })
    }
}

impl LevelKeys {
    /// Fills in the defaults of switch levels, for frames of `symbols` symbols.
    pub(super) fn resolve(
        &mut self,
        prediction: &mut Prediction,
        symbols: u32,
        measured: Option<&Measured>,
    ) -> Result<LevelsByError, ScenarioError> {
        let usual = prediction.nmse;
        let Self { target_nmse, target_fer, custom_db, eight } = &mut *self;
        let refuse = |key: &str| {
            let (one, other) = (join("cell.levels", key), "cell.levels.custom_db");
            Err(ScenarioError::contradiction(&one, other, "the levels are given"))
        };
        match custom_db {
            Some(_) if target_fer.is_some() => return refuse("target_fer"),
            Some(_) if target_nmse.is_some() => return refuse("target_nmse"),
            Some(_) => {}
            None => *target_nmse = target_nmse.or(usual),
        }
        let eight = match *eight.get_or_insert(Eight::Star) {
            Eight::Star => Modulation::Star8,
            Eight::Rectangular => Modulation::Rect8,
        };
        let kind = match *prediction.sinr.get_or_insert(SinrWord::Unbiased) {
            SinrWord::Unbiased => PredictedSinr::Unbiased,
            SinrWord::Raw => PredictedSinr::Raw,
        };
        let success = match measured {
            None => FrameSuccess::new(symbols, eight),
            Some(Measured { name, table, sizes }) => FrameSuccess::measured(symbols, eight, table, *sizes)
                .map_err(|error| ScenarioError::value("cell.table", &json(name), error.to_string()))?,
        };
        let keys = self.clone();
        Ok(LevelsByError { keys, kind, success, made: Vec::new() })
    }
}

/// Switch levels by prediction error: by default those that are optimal for the error of each user's predictions.
pub(super) struct LevelsByError {
    keys: LevelKeys,
    kind: PredictedSinr,
    success: FrameSuccess,
    made: Vec<(f64, Arc<Levels>)>,
}

impl LevelsByError {
    /// Switch levels for predictions of the error `nmse`.
    pub(super) fn of(&mut self, nmse: f64) -> Result<Arc<Levels>, ScenarioError> {
        let LevelKeys { target_nmse, target_fer, custom_db, .. } = &self.keys;
        let target_nmse = target_nmse.unwrap_or(nmse);
        if let Some((_, levels)) = self.made.iter().find(|(made_for, _)| *made_for == target_nmse) {
            return Ok(Arc::clone(levels));
        }
        let rule = match (custom_db, target_fer) {
            (Some(levels), _) => LevelRule::Custom(levels.clone()),
            (None, Some(target)) => LevelRule::TargetFer { target: target.0, target_nmse },
            (None, None) => LevelRule::Optimal { target_nmse },
        };
        let levels = Levels::new(rule, self.kind, self.success.clone()).map(Arc::new);
        let levels = levels.map_err(|error| named("cell", &error))?;
        self.made.push((target_nmse, Arc::clone(&levels)));
        Ok(levels)
    }
}
