//! Statistics of a link or fabric after the warm-up.

use crossfade_core::SimTime;
use crossfade_link::arq::ArqStatistics;
use crossfade_link::{LinkReport, LinkStatistics, NodeStatistics, StationStatistics, UserStatistics};

/// Statistics of one link or fabric after the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSummary {
    /// Name of the link or fabric in results.
    pub name: String,
    /// Counts of the packets on the link or fabric.
    pub counts: LinkStatistics,
    /// Statistics of each user; empty unless several users share the link.
    pub users: Vec<UserStatistics>,
    /// Statistics of each data radio bearer; empty unless some user has several.
    pub bearers: Vec<UserStatistics>,
    /// Statistics of each node of a medium with nodes; otherwise empty.
    pub nodes: Vec<NodeStatistics>,
    /// Statistics of each station of an access point; otherwise empty.
    pub stations: Vec<StationStatistics>,
    /// Statistics of each link of multi-link devices, over all stations; otherwise empty.
    pub by_link: Vec<StationStatistics>,
    /// Counts of link-layer frames; `None` unless the link sends packets as frames.
    pub arq: Option<ArqStatistics>,
    /// Mean number of packets in the queue over time, without the packet in transmission.
    pub queue_mean_packets: f64,
    /// Share of the measured time in which the link was sending packets or frames with a payload; `None` for a link
    /// without a rate.
    pub utilisation: Option<f64>,
}

impl LinkSummary {
    /// Statistics of link `name` over a period of `duration`, between the reports at its begin (`warm`) and `end`.
    pub fn between(name: &str, warm: &LinkReport, end: &LinkReport, duration: SimTime) -> Self {
        let counts = end.statistics.since(&warm.statistics);
        Self {
            name: name.to_owned(),
            users: end.users.iter().zip(&warm.users).map(|(end, warm)| end.since(warm)).collect(),
            bearers: end.bearers.iter().zip(&warm.bearers).map(|(end, warm)| end.since(warm)).collect(),
            nodes: end.nodes.iter().zip(&warm.nodes).map(|(end, warm)| end.since(warm)).collect(),
            stations: end.stations.iter().zip(&warm.stations).map(|(end, warm)| end.since(warm)).collect(),
            by_link: end.by_link.iter().zip(&warm.by_link).map(|(end, warm)| end.since(warm)).collect(),
            queue_mean_packets: counts.queue_mean_packets(duration),
            utilisation: end.utilisation(warm, duration),
            arq: end.frames.as_ref().zip(warm.frames.as_ref()).map(|(end, warm)| end.since(warm)),
            counts,
        }
    }
}
