//! What a sender with BBR is told at the start.

use crossfade_core::SimTime;

/// The choices of BBR. The default is what Linux does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BbrConfig {
    /// Bytes of data in a segment: two bounds are in bit/s.
    pub mss: u32,
    /// How much of the excess of aggregated acknowledgements the window may add, in time at the estimated bandwidth; `None`
    /// has no bound.
    pub extra_acked_cap: Option<SimTime>,
    /// Version 1 looks for policers.
    pub policer: bool,
}

impl Default for BbrConfig {
    fn default() -> Self {
        Self { mss: 1448, extra_acked_cap: Some(SimTime::from_millis(100)), policer: true }
    }
}
