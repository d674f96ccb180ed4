//! Channel of one user of a cell: modelled fading, or a recorded trace.

use crate::config::{CellConfig, UserConfig};
use crate::error::CellError;
use crate::levels::{PredictedSinr, from_db};
use crossfade_channel::{FrequencyResponse, PredictedFading, TravelledShadowing, simd::Simd};
use crossfade_core::{RunSeed, SimTime};
use crossfade_link::trace::SinrTrace;
use std::sync::Arc;

/// A user's channel in the current slot, with its prediction. The SNR of a bin is the local mean SNR times its power
/// gain.
#[derive(Clone)]
pub(crate) struct UserChannel {
    fading: Fading,
    /// Mean SNR in dB at the median of the shadowing.
    mean_snr_db: f64,
    nmse: f64,
    kind: PredictedSinr,
    /// Slot to which the channel has been advanced; `None` before the first.
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
    /// Creates the channel of user N (`number`), with the random streams `channel.cell.N`, `prediction.cell.N` and
    /// `shadowing.cell.N`.
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

    /// Advances the channel to `slot`.
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

    /// Local mean SNR of the current slot (not in dB).
    #[inline]
    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// Local mean SNR of the current slot in dB.
    #[inline]
    pub(crate) fn mean_db(&self) -> f64 {
        self.mean_db
    }

    /// Recorded SINR of a bin, relative to the mean (not in dB).
    fn recorded(&self, trace: &SinrTrace, slot_time: SimTime, bin: usize) -> f64 {
        let powers = trace.at(slot_time.saturating_mul(self.slot.unwrap_or_default()));
        f64::from(powers[bin.min(powers.len() - 1)])
    }

    /// Power gain |h|^2 of a bin in the current slot.
    #[inline]
    pub(crate) fn power(&self, bin: usize) -> f64 {
        match &self.fading {
            Fading::Modelled { fading, .. } => fading.gain(bin).norm_sqr(),
            Fading::Recorded { trace, slot_time } => self.recorded(trace, *slot_time, bin),
        }
    }

    /// Predicted power gain of a bin, including the power of the prediction error if the estimate is
    /// [unbiased](PredictedSinr::Unbiased).
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

    /// Writes the predicted |p|^2 of all bins to the first entries of `powers`.
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
