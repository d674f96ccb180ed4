//! A network under way, as it stands at some time.

use crate::statistics::FlowStatistics;
use crossfade_core::TcpSnapshot;
use crossfade_link::LinkReport;

/// What was counted since the start of a run, its warm-up included.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Of each flow of [`crate::Network::flows`].
    pub flows: Vec<FlowSnapshot>,
    /// Of each link and fabric, in the order of [`crate::Engine::link_names`].
    pub links: Vec<LinkReport>,
}

/// One flow.
#[derive(Clone, Debug)]
pub struct FlowSnapshot {
    /// What was counted of it.
    pub counts: FlowStatistics,
    /// The variables of its sender; zeros of UDP.
    pub tcp: TcpSnapshot,
}
