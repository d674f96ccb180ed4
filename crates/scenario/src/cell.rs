//! A cell in the terms of the models.

use crossfade_cell::CellConfig;

/// A slotted downlink with many users.
#[derive(Clone, Debug)]
pub struct CellSetup {
    /// Everything about it but its seed.
    pub config: CellConfig,
    /// How many slots ahead channels are predicted, where that was said.
    pub horizon_slots: Option<f64>,
}
