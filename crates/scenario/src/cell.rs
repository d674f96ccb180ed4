//! A cell in the terms of the models.

use crossfade_cell::CellConfig;
use crossfade_core::SimTime;

/// A slotted downlink with many users.
#[derive(Clone, Debug)]
pub struct CellSetup {
    /// Everything about it but its seed.
    pub config: CellConfig,
    /// How many slots ahead channels are predicted, where that was said.
    pub horizon_slots: Option<f64>,
    /// Whether an error of predictions or a horizon was asked for.
    pub is_prediction_given: bool,
    /// What was recorded of channels, a flow each.
    pub recorded: Vec<Recorded>,
}

/// A recorded channel.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The key of the file, which messages name.
    pub key: String,
    /// Until when it says something.
    pub lasts: SimTime,
    /// Whether it begins again.
    pub repeats: bool,
}
