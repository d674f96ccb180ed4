//! Resolution of a slotted cell with many users: table `cell`.

use super::around::{self, Around, Forward};
use super::users::Users;
use crate::error::ScenarioError;
use crate::files::Files;
use crate::flows::OnNetwork;
use crate::hop::HopSetup;
use crate::tables::{CellModel, Channel, FlowSetup, Link, Phy, Queue, Radio, Reverse, Scenario};
use crossfade_cell::{CellConfig, UplinkConfig};
use crossfade_core::SimTime;

/// Resolved cell, with acknowledgements on its uplink or on one reverse link for each user.
#[derive(Clone, Debug)]
pub struct CellSetup {
    /// Slotted downlink (and uplink) of the cell.
    pub model: CellModel,
    /// Reverse path of each user (without loss and delay if the cell has an uplink), and the wired segment that the
    /// users share.
    pub around: Around,
}

impl CellSetup {
    /// Longest transit time of a packet over the downlink that waits only for a slot.
    pub fn way_of_data(&self) -> SimTime {
        way_of_data(&self.model.config)
    }

    /// Longest transit time of a packet over the uplink that waits only for its grant and a slot; zero without an
    /// uplink.
    pub fn way_of_acks(&self) -> SimTime {
        way_of_acks(&self.model.config)
    }

    /// Reverse link of each user; `None` if the cell has an uplink.
    pub fn reverse(&self) -> Option<&HopSetup> {
        self.model.config.uplink.is_none().then_some(&self.around.reverse)
    }

    pub(super) fn round_trip(&self, flow: &FlowSetup) -> SimTime {
        let around = self.around.transit(flow.packet_size, flow.ack_size());
        self.way_of_data() + self.way_of_acks() + around + flow.access_delay * 2
    }
}

/// Longest wait for a slot of the downlink, plus this slot.
fn way_of_data(config: &CellConfig) -> SimTime {
    let gap = config.uplink.as_ref().map_or(1, |uplink| uplink.pattern.longest_gap(false));
    config.slot * (gap + 1)
}

/// Grant delay, plus longest wait for a slot of the uplink, plus this slot; zero without an uplink.
fn way_of_acks(config: &CellConfig) -> SimTime {
    let way =
        |uplink: &UplinkConfig| uplink.grant_delay + config.slot * (uplink.pattern.longest_gap(true) + 1);
    config.uplink.as_ref().map_or(SimTime::ZERO, way)
}

/// Fills in the defaults of a cell, which replaces the link.
pub(super) fn resolve(
    scenario: &mut Scenario,
    files: &Files<'_>,
) -> Result<(OnNetwork, CellSetup), ScenarioError> {
    let Scenario { phy, channel, link, .. } = &*scenario;
    let queue = Queue { limit: link.queue.limit, ..Queue::default() };
    let bare = Link { packet_size: link.packet_size, queue, ..Link::default() };
    for (key, is_given) in [
        ("phy", *phy != Phy::default()),
        ("channel", *channel != Channel::default()),
        ("link", *link != bare),
    ] {
        if is_given {
            let reason = "the cell carries the data; of link it takes packet_size and queue.limit alone";
            return Err(ScenarioError::contradiction(key, "cell", reason));
        }
    }
    if !scenario.cell.uplink.is_absent() && scenario.reverse != Reverse::default() {
        let reason = "acknowledgements take the uplink of the cell";
        return Err(ScenarioError::contradiction("reverse", "cell.uplink", reason));
    }
    let slot = scenario.cell.resolve_slot()?;
    let mut users = Users::resolve(scenario, slot, files)?;
    let mut alone = Radio::default();
    let mut radios = users.radios(&mut scenario.flows, "cell.radio", &mut alone);
    let model = scenario.cell.resolve(slot, &mut radios, users.limit, files)?;
    // The flows now hold the values of the common radio.
    scenario.cell.radio = if scenario.flows.is_empty() { alone } else { Radio::default() };
    let ways = [way_of_data(&model.config), way_of_acks(&model.config)];
    let ahead = Forward { ways, limit: users.limit, data: users.packets(), satellite: None };
    let around = around::resolve(scenario, &mut users.flows, ahead, slot, files)?;
    Ok((OnNetwork { slot, packet_size: users.usual, flows: users.flows }, CellSetup { model, around }))
}
