//! Stations that a coordinator polls: `[polling]`.

use crate::error::ScenarioError;
use crate::files::Files;
use crate::flows::{OnNetwork, SYN_BYTES, resolve_flows, resolve_packet_size};
use crate::quantity::{Limit, Room};
use crate::tables::{
    Channel, FlowSetup, LONGEST_SLOT, Link, Phy, Queue, Reverse, Scenario, USUAL_LIMIT, json,
};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_mac::PollingConfig;

/// A polling medium.
#[derive(Clone, Debug)]
pub struct PollingSetup {
    /// Everything about it.
    pub config: PollingConfig,
}

impl PollingSetup {
    /// The mean of a packet there and one back that wait for the visit to their station alone: half a round of empty visits each.
    fn way(&self, bytes: u32) -> SimTime {
        let round = self.config.visit(&[]) * self.config.stations as u64;
        SimTime::from_nanos(round.as_nanos() / 2) + self.config.visit(&[bytes])
    }

    pub(super) fn round_trip(&self, flow: &FlowSetup) -> SimTime {
        self.way(flow.packet_size) + self.way(flow.ack_size()) + flow.access_delay * 2
    }
}

/// Fills in the defaults of a polling medium, which stands in the place of all links.
pub(super) fn resolve(
    scenario: &mut Scenario,
    files: &Files<'_>,
) -> Result<(OnNetwork, PollingSetup), ScenarioError> {
    let Scenario { phy, channel, link, reverse, wired, cell, mesh, .. } = &*scenario;
    let queue = Queue { limit: link.queue.limit, ..Queue::default() };
    let bare = Link { packet_size: link.packet_size, queue, ..Link::default() };
    for (key, is_given) in [
        ("cell", !cell.is_absent()),
        ("mesh", !mesh.is_absent()),
        ("phy", *phy != Phy::default()),
        ("channel", *channel != Channel::default()),
        ("link", *link != bare),
        ("reverse", *reverse != Reverse::default()),
        ("wired", !wired.is_absent()),
    ] {
        if is_given {
            let reason = "the medium carries the packets; of link it takes packet_size and queue.limit alone";
            return Err(ScenarioError::contradiction(key, "polling", reason));
        }
    }
    scenario.run.resolve_frames(false)?;
    let packet_size = resolve_packet_size(scenario)?.0;
    let (rate_bps, slot) = scenario.polling.slot(packet_size)?;
    if slot > LONGEST_SLOT {
        let problem = "too slow: a packet would take more than 1 h";
        return Err(ScenarioError::value("polling.rate", &json(scenario.polling.rate), problem));
    }
    let mut flows = resolve_flows(scenario, packet_size, slot, false, None, files)?;
    let mut stations = 0;
    for flow in &mut flows {
        flow.ends = (stations..stations + flow.count.max(1)).map(|station| [station + 1, 0]).collect();
        stations += flow.count.max(1);
    }
    let usual = Limit(Room::Of(QueueLimit::Packets(USUAL_LIMIT)));
    let room = *scenario.link.queue.limit.get_or_insert(usual);
    if matches!(room.0, Room::Time(_) | Room::Products(_)) {
        let problem = "must be packets, bytes or \"unlimited\"";
        return Err(ScenarioError::value("link.queue.limit", &json(room), problem));
    }
    let config = scenario.polling.resolve(stations as usize, (rate_bps, slot), room.0.limit())?;
    let polling = PollingSetup { config };
    for flow in &mut flows {
        flow.open(polling.way(SYN_BYTES) * 2, polling.way(flow.request), None);
    }
    Ok((OnNetwork { slot, packet_size, flows }, polling))
}
