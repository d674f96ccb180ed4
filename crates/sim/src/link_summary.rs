//! What a run counted of one link.

use crossfade_core::SimTime;
use crossfade_link::arq::ArqStatistics;
use crossfade_link::{LinkReport, LinkStatistics, NodeStatistics, StationStatistics, UserStatistics};

/// What was counted of one link after the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSummary {
    /// Name of the link in results.
    pub name: String,
    /// What the link counted.
    pub counts: LinkStatistics,
    /// What it counted of each user, where several share it.
    pub users: Vec<UserStatistics>,
    /// What its nodes counted, if it has any.
    pub nodes: Vec<NodeStatistics>,
    /// What it counted of each station of an access point.
    pub stations: Vec<StationStatistics>,
    /// What it counted of each link of multi-link devices, with all stations together.
    pub by_link: Vec<StationStatistics>,
    /// What it counted of its frames, if it sends packets as frames.
    pub arq: Option<ArqStatistics>,
    /// The mean over the time of the number of packets in the queue, without the one that is being sent.
    pub queue_mean_packets: f64,
    /// The share of the time in which the link was sending packets, or frames with a payload; `None` without
    /// a rate.
    pub utilisation: Option<f64>,
}

impl LinkSummary {
    /// What a link did in `duration` between two reports.
    pub fn between(name: &str, warm: &LinkReport, end: &LinkReport, duration: SimTime) -> Self {
        let counts = end.statistics.since(&warm.statistics);
        Self {
            name: name.to_owned(),
            users: end.users.iter().zip(&warm.users).map(|(end, warm)| end.since(warm)).collect(),
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
