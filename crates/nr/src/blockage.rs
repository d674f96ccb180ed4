//! Blockage of the path between a user and the base station.

use crossfade_cell::CellError;
use crossfade_core::{OutOfRange, SimTime};

/// Blockage of the line of sight as a two-state Markov model, which MacCartney, Rappaport and Rangan fit to pedestrians
/// at 73.5 GHz (GLOBECOM 2017): times with and without a blocker are exponential.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blockage {
    /// Mean time without a blocker.
    pub clear: SimTime,
    /// Mean duration of a blockage.
    pub blocked: SimTime,
    /// Attenuation by a blocker in dB.
    pub depth_db: f64,
}

impl Blockage {
    /// Checks all parameters.
    ///
    /// # Errors
    /// If a time is outside 1 ms to 1 h, or the attenuation outside 0 to 60 dB.
    pub(crate) fn check(&self) -> Result<(), CellError> {
        for (key, time) in [("blockage.clear", self.clear), ("blockage.blocked", self.blocked)] {
            if !(SimTime::from_millis(1)..=SimTime::from_millis(3_600_000)).contains(&time) {
                return Err(OutOfRange::new(key, time, "between 1 ms and 1 h").into());
            }
        }
        if !(0.0..=60.0).contains(&self.depth_db) {
            return Err(OutOfRange::new("blockage.depth_db", self.depth_db, "between 0 and 60").into());
        }
        Ok(())
    }
}
