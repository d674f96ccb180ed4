//! Counts at the end of the warm-up: a file of its own, since `mod.rs` and `counts.rs` both use them.

use crate::statistics::FlowStatistics;
use crossfade_core::SimTime;
use crossfade_link::LinkReport;

/// Counts of flows and links at the end of the warm-up, and its time.
pub(super) struct WarmUp {
    pub(super) at: SimTime,
    pub(super) flows: Vec<FlowStatistics>,
    pub(super) links: Vec<LinkReport>,
}
