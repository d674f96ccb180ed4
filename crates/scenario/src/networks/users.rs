//! What a cell needs of flows and of `link`: users in the order of the flows, the limit of their queues, their radios.

use crate::error::ScenarioError;
use crate::files::Files;
use crate::flows::{USUAL_HEADERS, resolve_flows, resolve_packet_size};
use crate::quantity::{Limit, Room};
use crate::tables::{Flow, FlowSetup, Packets, Radio, Scenario, USUAL_LIMIT, json};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use std::collections::BTreeMap;

/// The users of a cell, which are those of its flows.
pub(super) struct Users {
    pub(super) flows: Vec<FlowSetup>,
    /// Limit of the queue of each user.
    pub(super) limit: Option<QueueLimit>,
    /// Packet size of flows that give none, in bytes, and the largest of all.
    pub(super) usual: u32,
    largest: u32,
}

impl Users {
    /// Fills in the defaults of flows in a cell with slots of `slot`, and of `link.queue.limit`.
    pub(super) fn resolve(
        scenario: &mut Scenario,
        slot: SimTime,
        files: &Files<'_>,
    ) -> Result<Self, ScenarioError> {
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
        Ok(Self { flows, limit, usual, largest })
    }

    /// The radio of each flow, with its key and the number of its users; `alone`, of the table `key`, where no flow has a
    /// table.
    pub(super) fn radios<'a>(
        &self,
        tables: &'a mut BTreeMap<String, Flow>,
        key: &str,
        alone: &'a mut Radio,
    ) -> Vec<(String, &'a mut Radio, usize)> {
        let named = tables.iter_mut().zip(&self.flows);
        let mut radios: Vec<_> = named
            .map(|((name, flow), setup)| (format!("flows.{name}.radio"), &mut flow.radio, setup.ends.len()))
            .collect();
        if radios.is_empty() {
            radios.push((key.to_owned(), alone, 1));
        }
        radios
    }

    /// What is known of the packets of all flows.
    pub(super) fn packets(&self) -> Packets {
        Packets {
            usual: self.usual,
            largest: self.largest,
            headers: USUAL_HEADERS.min(self.usual),
            few: true,
            round_trip: None,
        }
    }
}
