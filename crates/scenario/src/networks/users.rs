//! Users of a cell: their numbering by flows, their queue limits and radios.

use crate::error::ScenarioError;
use crate::files::Files;
use crate::flows::{USUAL_HEADERS, resolve_flows, resolve_packet_size};
use crate::quantity::{Limit, Room};
use crate::tables::{
    Discipline, Flow, FlowSetup, Packets, Queue, Radio, Scenario, Traffic, TrafficSetup, USUAL_LIMIT, json,
};
use crossfade_core::SimTime;
use crossfade_link::QueueLimit;
use std::collections::BTreeMap;

/// Refuses a queue limit given as a time or in BDPs, since a cell has no rate of its own.
pub(super) fn refuse_times(table: &str, queue: &Queue) -> Result<(), ScenarioError> {
    match queue.limit {
        Some(room @ Limit(Room::Time(_) | Room::Products(_))) => {
            let problem = "must be packets, bytes or \"unlimited\": a cell has no rate of its own";
            Err(ScenarioError::value(format!("{table}.limit"), &json(room), problem))
        }
        _ => Ok(()),
    }
}

/// Finds the flow whose users each flow with a key `beside` shares.
fn find_others(scenario: &Scenario, flows: &mut [FlowSetup]) -> Result<(), ScenarioError> {
    for (place, (name, flow)) in scenario.flows.iter().enumerate() {
        let key = format!("flows.{name}.beside");
        let Some(other) = &flow.beside else {
            if flow.bearer.shared == Some(true) {
                let expected = format!("a flow, with flows.{name}.bearer.shared");
                return Err(ScenarioError::missing(&key, &expected));
            }
            continue;
        };
        let has_users = |flow: &Flow| flow.beside.is_none() && flow.traffic != Some(Traffic::Arrivals);
        let found = scenario.flows.iter().position(|(name, flow)| name == other && has_users(flow));
        let Some(found) = found else {
            let all = scenario.flows.iter().filter(|(_, flow)| has_users(flow));
            let all: Vec<&str> = all.map(|(name, _)| name.as_str()).collect();
            let problem = format!("must be a flow that has users of its own, of {}", all.join(", "));
            return Err(ScenarioError::value(key, &json(other), problem));
        };
        if scenario.nr.uplink.is_absent() {
            return Err(ScenarioError::missing("nr.uplink", &format!("a table, with {key}")));
        }
        if !flow.radio.is_absent() {
            let reason = format!("the radio is that of the users of {other}");
            return Err(ScenarioError::contradiction(&format!("flows.{name}.radio"), &key, reason));
        }
        flows[place].beside = Some(found);
        flows[place].is_on_shared_bearer = flow.bearer.shared == Some(true);
    }
    check_program(flows)
}

/// Refuses flows that stand for packets of a real program but have different users: both hosts of a live run are at one
/// place of the cell.
fn check_program(flows: &[FlowSetup]) -> Result<(), ScenarioError> {
    let outside =
        || flows.iter().enumerate().filter(|(_, flow)| matches!(flow.traffic, TrafficSetup::Outside));
    let Some((main, _)) = outside().find(|(_, flow)| flow.ports.is_empty()) else { return Ok(()) };
    let user = |place: usize| flows[place].beside.unwrap_or(place);
    let Some((_, other)) = outside().find(|(place, _)| user(*place) != user(main)) else { return Ok(()) };
    let key = format!("flows.{}.beside", other.name);
    let problem = format!("\"{}\": packets of one program are those of one user", flows[user(main)].name);
    Err(ScenarioError::missing(&key, &problem))
}

/// Users of a cell, in the order of the flows that they belong to.
pub(super) struct Users {
    pub(super) flows: Vec<FlowSetup>,
    /// Limit of the downlink queue of each user; `None` is without limit.
    pub(super) limit: Option<QueueLimit>,
    /// Number of frames in a run of method phy; 0 without frames.
    pub(super) frames: u64,
    /// Packet size in bytes of flows that give none.
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
        let frames = scenario.run.resolve_frames(!scenario.nr.block.is_absent())?;
        // Checked before the packet size is filled in.
        let has_no_transport = scenario.has_no_transport();
        let usual = resolve_packet_size(scenario)?.0;
        let mut flows = if has_no_transport {
            Vec::new()
        } else {
            resolve_flows(scenario, usual, slot, false, None, files)?
        };
        let mut users = 0;
        if !has_no_transport {
            find_others(scenario, &mut flows)?;
        }
        for flow in flows.iter_mut().filter(|flow| flow.beside.is_none()) {
            flow.ends = (users..users + flow.count.max(1)).map(|user| [0, user + 1]).collect();
            users += flow.count.max(1);
        }
        for place in 0..flows.len() {
            if let Some(other) = flows[place].beside {
                let shared = flows[other].ends.clone();
                flows[place].ends = shared;
            }
        }
        refuse_times("link.queue", &scenario.link.queue)?;
        let queue = &mut scenario.link.queue;
        if queue.discipline.is_none_or(|discipline| discipline == Discipline::DropTail) {
            queue.limit.get_or_insert(Limit(Room::Of(QueueLimit::Packets(USUAL_LIMIT))));
        }
        let room = queue.limit;
        let limit = room.and_then(|room| room.0.limit());
        let largest = flows.iter().map(|flow| flow.packet_size).fold(usual, u32::max);
        if limit.is_some_and(|limit| !limit.admits(0, 0, largest)) {
            let problem = format!("must let in a packet of {largest} B");
            return Err(ScenarioError::value("link.queue.limit", &json(room), problem));
        }
        Ok(Self { flows, limit, frames, usual, largest })
    }

    /// Radio of each flow, with its key and its number of users; without flows `alone`, the radio of the table `key`.
    pub(super) fn radios<'a>(
        &self,
        tables: &'a mut BTreeMap<String, Flow>,
        key: &str,
        alone: &'a mut Radio,
    ) -> Vec<(String, &'a mut Radio, usize)> {
        let named = tables.iter_mut().zip(&self.flows).filter(|(_, setup)| setup.beside.is_none());
        let mut radios: Vec<_> = named
            .map(|((name, flow), setup)| (format!("flows.{name}.radio"), &mut flow.radio, setup.ends.len()))
            .collect();
        if radios.is_empty() {
            radios.push((key.to_owned(), alone, 1));
        }
        radios
    }

    /// Properties of the packets of all flows.
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
