//! The downlink of a 5G NR cell: `[nr]`.

use super::around::{self, Around, Forward};
use crate::error::ScenarioError;
use crate::files::Files;
use crate::flows::{OnNetwork, USUAL_HEADERS, resolve_flows, resolve_packet_size};
use crate::quantity::{Limit, Room};
use crate::tables::{
    Channel, FlowSetup, Link, NrModel, Packets, Phy, Queue, Radio, Scenario, USUAL_LIMIT, json,
};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use crossfade_nr::NrConfig;

/// An NR downlink; each user has a link of its own on the way back.
#[derive(Clone, Debug)]
pub struct NrSetup {
    /// The downlink.
    pub model: NrModel,
    /// The links on the way back, and the wired segment that users share.
    pub around: Around,
}

impl NrSetup {
    /// How long a packet takes that waits for a slot with data alone, at most.
    pub fn way_of_data(&self) -> SimTime {
        way_of_data(&self.model.config)
    }

    pub(super) fn round_trip(&self, flow: &FlowSetup) -> SimTime {
        let around = self.around.transit(flow.packet_size, flow.ack_size());
        self.way_of_data() + around + flow.access_delay * 2
    }
}

/// The longest wait for a slot with data, and that.
fn way_of_data(config: &NrConfig) -> SimTime {
    let period = config.duplex.period();
    let with_data: Vec<u64> = (0..2 * period).filter(|slot| config.data_symbols(*slot) > 0).collect();
    let gap = with_data.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(period);
    config.numerology.slot() * (gap + 1)
}

/// Fills in the defaults of an NR cell, which stands in the place of the link.
pub(super) fn resolve(
    scenario: &mut Scenario,
    files: &Files<'_>,
) -> Result<(OnNetwork, NrSetup), ScenarioError> {
    let Scenario { phy, channel, link, cell, mesh, .. } = &*scenario;
    let queue = Queue { limit: link.queue.limit, ..Queue::default() };
    let bare = Link { packet_size: link.packet_size, queue, ..Link::default() };
    for (key, is_given) in [
        ("cell", !cell.is_absent()),
        ("mesh", !mesh.is_absent()),
        ("phy", *phy != Phy::default()),
        ("channel", *channel != Channel::default()),
        ("link", *link != bare),
    ] {
        if is_given {
            let reason = "the NR cell carries the data; of link it takes packet_size and queue.limit alone";
            return Err(ScenarioError::contradiction(key, "nr", reason));
        }
    }
    let numerology = scenario.nr.resolve_numerology()?;
    let slot = numerology.slot();
    scenario.run.resolve_frames(false)?;
    let usual = resolve_packet_size(scenario)?.0;
    let mut flows = resolve_flows(scenario, usual, slot, false, None, files)?;
    let mut users = 0;
    for flow in &mut flows {
        flow.ends = (users..users + flow.count.max(1)).map(|user| [0, user + 1]).collect();
        users += flow.count.max(1);
    }
    let usual_room = Limit(Room::Of(QueueLimit::Packets(USUAL_LIMIT)));
    let room = *scenario.link.queue.limit.get_or_insert(usual_room);
    if matches!(room.0, Room::Time(_) | Room::Products(_)) {
        let problem = "must be packets, bytes or \"unlimited\": a cell has no rate of its own";
        return Err(ScenarioError::value("link.queue.limit", &json(room), problem));
    }
    let limit = room.0.limit();
    let largest = flows.iter().map(|flow| flow.packet_size).fold(usual, u32::max);
    if limit.is_some_and(|limit| !limit.admits(0, 0, largest)) {
        let problem = format!("must let in a packet of {largest} B");
        return Err(ScenarioError::value("link.queue.limit", &json(room), problem));
    }
    let mut alone = Radio::default();
    let named = scenario.flows.iter_mut().zip(&flows);
    let mut radios: Vec<(String, &mut Radio, usize)> = named
        .map(|((name, flow), setup)| (format!("flows.{name}.radio"), &mut flow.radio, setup.ends.len()))
        .collect();
    if radios.is_empty() {
        radios.push(("nr.radio".to_owned(), &mut alone, 1));
    }
    let model = scenario.nr.resolve(numerology, &mut radios, limit, files)?;
    // What the flows say stands with them.
    scenario.nr.radio = if scenario.flows.is_empty() { alone } else { Radio::default() };
    let data = Packets { usual, largest, headers: USUAL_HEADERS.min(usual), few: true, round_trip: None };
    let ahead = Forward { ways: [way_of_data(&model.config), SimTime::ZERO], limit, data, satellite: None };
    let around = around::resolve(scenario, &mut flows, ahead, slot, files)?;
    Ok((OnNetwork { slot, packet_size: usual, flows }, NrSetup { model, around }))
}
