//! Statistics of a link after the warm-up.

use crossfade_core::SimTime;
use crossfade_link::arq::ArqStatistics;
use crossfade_link::{LinkReport, LinkStatistics, NodeStatistics, StationStatistics, UserStatistics};

/// Statistics of one link after the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSummary {
    /// Name of the link in results.
    pub name: String,
    /// Statistics of packets.
    pub counts: LinkStatistics,
    /// Statistics of each user, where several share the link.
    pub users: Vec<UserStatistics>,
    /// Statistics of each data radio bearer, where some user has several.
    pub bearers: Vec<UserStatistics>,
    /// Statistics of nodes, on a medium with nodes.
    pub nodes: Vec<NodeStatistics>,
    /// Statistics of each station of an access point.
    pub stations: Vec<StationStatistics>,
    /// Counts of each link of multi-link devices, for all stations together.
    pub by_link: Vec<StationStatistics>,
    /// Counts of its frames, if it sends packets as frames.
    pub arq: Option<ArqStatistics>,
    /// Mean number of packets in the queue over time, without the packet in transmission.
    pub queue_mean_packets: f64,
    /// Share of the time in which the link was sending packets or frames with a payload; `None` without a rate.
    pub utilisation: Option<f64>,
}

impl LinkSummary {
    /// Statistics of a link in `duration` between two reports.
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
