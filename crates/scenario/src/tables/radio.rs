//! Keys of the radio of users of a cell.

use super::base::{absent, json, positive_time};
use crate::error::{ScenarioError, join};
use crate::files::Files;
use crate::per_user::PerUser;
use crate::quantity::{FileName, Span, Speed};
use crossfade_cell::SinrTrace;
use crossfade_core::SimTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Radio of a user: mean SNR and speed, or a recorded SNR.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Radio {
    /// Mean SNR in dB, with shadowing at its median. A range is spread evenly from the first user of the flow to the
    /// last.
    #[schemars(extend("x-default" = "16"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_snr_db: Option<PerUser<f64>>,

    /// Speed of the user. A range is spread evenly from the first user of the flow to the last.
    #[schemars(extend("x-default" = "75 km/h"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<PerUser<Speed>>,

    /// File of recorded SNR in place of a channel. On each line are a time in seconds and the SNR in dB from then on,
    /// for all bins or one per bin. After the last line its values hold, unless there is a trace_period. Contradicts
    /// the other keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<FileName>,

    /// Time after which the recorded SNR begins again.
    #[schemars(extend("x-default" = "none: the last line holds for ever"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_period: Option<Span>,
}

absent!(Radio);

/// Resolved radio of a flow's users.
pub(crate) enum RadioSetup {
    /// The channel has the recorded SNR of a file.
    Recorded { key: String, trace: SinrTrace },
    /// The channel is drawn from a model.
    Modelled(Modelled),
}

/// Users with modelled channels: their mean SNR and speed.
pub(crate) struct Modelled {
    mean_snr_db: PerUser<f64>,
    speed: PerUser<Speed>,
}

/// Speed of light in m/s.
const SPEED_OF_LIGHT: f64 = 299_792_458.0;

impl Radio {
    /// Error if the table called `table` gives keys that contradict each other.
    pub(crate) fn check(&self, table: &str) -> Result<(), ScenarioError> {
        let trace = join(table, "trace");
        for (key, is_given) in [("mean_snr_db", self.mean_snr_db.is_some()), ("speed", self.speed.is_some())]
        {
            if is_given && self.trace.is_some() {
                let reason = "the ratios are in the file";
                return Err(ScenarioError::contradiction(&join(table, key), &trace, reason));
            }
        }
        if self.trace_period.is_some() && self.trace.is_none() {
            return Err(ScenarioError::missing(&trace, "the file that begins again after trace_period"));
        }
        Ok(())
    }

    /// Fills in the keys that `usual` gives, then the defaults, and returns the resolved radio.
    pub(crate) fn resolve(
        &mut self,
        table: &str,
        usual: &Self,
        slot: SimTime,
        files: &Files<'_>,
    ) -> Result<RadioSetup, ScenarioError> {
        self.check(table)?;
        if self.is_absent() && usual.trace.is_some() {
            self.clone_from(usual);
        }
        if let Some(FileName(name)) = &self.trace {
            let key = join(table, "trace");
            let mut trace = files.sinr_trace(&key, name)?;
            if let Some(period) = self.trace_period {
                let key = join(table, "trace_period");
                let time = positive_time(&key, period, slot)?;
                trace = trace
                    .repeating(time)
                    .map_err(|error| ScenarioError::value(key, &json(period), error.problem))?;
            }
            return Ok(RadioSetup::Recorded { key, trace });
        }
        let mean_snr_db = *self.mean_snr_db.get_or_insert(usual.mean_snr_db.unwrap_or(PerUser::One(16.0)));
        let speed = *self.speed.get_or_insert(usual.speed.unwrap_or(PerUser::One(Speed(75.0 / 3.6))));
        Ok(RadioSetup::Modelled(Modelled { mean_snr_db, speed }))
    }
}

impl Modelled {
    /// Mean SNR in dB, speed in m/s and maximum Doppler shift in cycles per slot of user `i` of `count`.
    pub(crate) fn user(
        &self,
        table: &str,
        i: usize,
        count: usize,
        carrier_hz: f64,
        slot: SimTime,
    ) -> Result<(f64, f64, f64), ScenarioError> {
        let mean_snr_db = self.mean_snr_db.at(i, count, |x| x);
        let speed_mps = self.speed.at(i, count, |speed| speed.0);
        let fd_t = speed_mps * carrier_hz / SPEED_OF_LIGHT * slot.as_secs_f64();
        check_user(table, mean_snr_db, Speed(speed_mps), fd_t)?;
        // A user slower than about 0.001 km/h has a constant channel.
        Ok((mean_snr_db, speed_mps, if fd_t < 5e-5 { 0.0 } else { fd_t }))
    }
}

/// Error if a user has an SNR, speed or Doppler shift for which no channel can be modelled.
fn check_user(table: &str, mean_snr_db: f64, speed: Speed, fd_t: f64) -> Result<(), ScenarioError> {
    if !(-30.0..=60.0).contains(&mean_snr_db) {
        let key = join(table, "mean_snr_db");
        return Err(ScenarioError::value(key, &json(mean_snr_db), "must be between -30 and 60"));
    }
    if fd_t >= 0.5 {
        let problem = format!(
            "too fast: f_d T = {fd_t:.3}, the Doppler shift times the slot, must be below 0.5; a gain a slot says nothing \
             of what lies between"
        );
        let km_per_h = format!("{} km/h", (speed.0 * 3.6e6).round() / 1e6);
        return Err(ScenarioError::value(join(table, "speed"), &json(km_per_h), problem));
    }
    Ok(())
}
