//! The channel of a user: modelled, or recorded.

use crate::config::{CellConfig, UserConfig};
use crate::error::CellError;
use crate::levels::{PredictedSinr, from_db};
use crossfade_channel::{FrequencyResponse, PredictedFading, TravelledShadowing, simd::Simd};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::trace::SinrTrace;
use std::sync::Arc;

/// A user's channel in a slot, with its prediction. The signal-to-noise ratio of a bin is the local mean times its
/// power.
#[derive(Clone)]
pub(crate) struct UserChannel {
    fading: Fading,
    /// Mean signal-to-noise ratio in dB without shadowing.
    mean_snr_db: f64,
    nmse: f64,
    kind: PredictedSinr,
    /// Slot of the fields below.
    slot: Option<u64>,
    mean: f64,
    mean_db: f64,
}

#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "one a user, and read for every frame")]
enum Fading {
    Modelled { fading: PredictedFading, shadowing: Option<TravelledShadowing>, metres_a_slot: f64 },
    Recorded { trace: SinrTrace, slot_time: SimTime },
}

impl UserChannel {
    /// The channel of user N, with random streams `channel.cell.N`, `prediction.cell.N` and `shadowing.cell.N`.
    pub(crate) fn new(
        number: usize,
        cell: &CellConfig,
        config: &UserConfig,
        response: &Arc<FrequencyResponse>,
        seed: RunSeed,
        simd: Simd,
    ) -> Result<Self, CellError> {
        let stream = |of: &str| seed.stream(&format!("{of}.cell.{number}"));
        let fading = if let Some(trace) = &config.trace {
            Fading::Recorded { trace: trace.clone(), slot_time: cell.slot }
        } else {
            let (streams, response) = ([stream("channel"), stream("prediction")], Arc::clone(response));
            let shadowing = cell.shadowing.map(|config| TravelledShadowing::new(config, stream("shadowing")));
            let profile = &cell.profile;
            Fading::Modelled {
                fading: PredictedFading::new(profile, response, config.fd_t, config.nmse, streams, simd)?,
                shadowing: shadowing.transpose()?,
                metres_a_slot: config.speed_mps * cell.slot.as_secs_f64(),
            }
        };
        let UserConfig { mean_snr_db, nmse, .. } = *config;
        let kind = config.levels.kind();
        Ok(Self { fading, mean_snr_db, nmse, kind, slot: None, mean: 0.0, mean_db: 0.0 })
    }

    /// Moves to `slot`.
    #[inline]
    pub(crate) fn go(&mut self, slot: u64) {
        if self.slot == Some(slot) {
            return;
        }
        self.slot = Some(slot);
        let mut mean_db = self.mean_snr_db;
        if let Fading::Modelled { fading, shadowing, metres_a_slot } = &mut self.fading {
            fading.go(slot);
            mean_db += shadowing.as_mut().map_or(0.0, |shadowing| shadowing.db(slot as f64 * *metres_a_slot));
        }
        if mean_db != self.mean_db || self.mean == 0.0 {
            (self.mean_db, self.mean) = (mean_db, from_db(mean_db));
        }
    }

    /// The current slot.
    #[inline]
    pub(crate) fn slot(&self) -> Option<u64> {
        self.slot
    }

    /// Local mean of the signal-to-noise ratio, no decibels.
    #[inline]
    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// Local mean of the signal-to-noise ratio in dB.
    #[inline]
    pub(crate) fn mean_db(&self) -> f64 {
        self.mean_db
    }

    /// Recorded ratio of a bin.
    fn recorded(&self, trace: &SinrTrace, slot_time: SimTime, bin: usize) -> f64 {
        let powers = trace.at(slot_time.saturating_mul(self.slot.unwrap_or_default()));
        f64::from(powers[bin.min(powers.len() - 1)])
    }

    /// Power gain |h|^2 of a bin.
    #[inline]
    pub(crate) fn power(&self, bin: usize) -> f64 {
        match &self.fading {
            Fading::Modelled { fading, .. } => fading.gain(bin).norm_sqr(),
            Fading::Recorded { trace, slot_time } => self.recorded(trace, *slot_time, bin),
        }
    }

    /// Predicted power gain of a bin, with the power of the prediction error where the estimate is unbiased.
    #[inline]
    pub(crate) fn predicted_power(&self, bin: usize) -> f64 {
        match (&self.fading, self.kind) {
            (Fading::Modelled { fading, .. }, PredictedSinr::Unbiased) => {
                fading.prediction(bin).norm_sqr() + self.nmse
            }
            (Fading::Modelled { fading, .. }, PredictedSinr::Raw) => fading.prediction(bin).norm_sqr(),
            (Fading::Recorded { trace, slot_time }, _) => self.recorded(trace, *slot_time, bin),
        }
    }

    /// Writes the predicted |p|^2 of all bins into the first entries.
    #[inline]
    pub(crate) fn predicted_powers(&self, powers: &mut [f32]) {
        match &self.fading {
            Fading::Modelled { fading, .. } => fading.predicted_powers(powers),
            Fading::Recorded { trace, slot_time } => {
                match trace.at(slot_time.saturating_mul(self.slot.unwrap_or_default())) {
                    [of_all] => powers.fill(*of_all),
                    each => powers[..each.len()].copy_from_slice(each),
                }
            }
        }
    }
}
