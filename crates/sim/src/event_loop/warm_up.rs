//! What a run had counted when its warm-up ended.

use crate::statistics::FlowStatistics;
use crossfade_core::SimTime;
use crossfade_link::LinkReport;

/// What was counted by the end of the warm-up.
pub(super) struct WarmUp {
    pub(super) at: SimTime,
    pub(super) flows: Vec<FlowStatistics>,
    pub(super) links: Vec<LinkReport>,
}
