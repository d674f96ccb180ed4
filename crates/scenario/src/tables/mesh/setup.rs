//! Resolved mesh, in the terms of the models.

use crate::error::{ScenarioError, join};
use crossfade_core::SimTime;
use crossfade_mac::{MeshConfig, Routes, Timing};
use serde_json::json;

/// Resolved mesh: 802.11 stations that share the air.
#[derive(Clone, Debug)]
pub struct MeshSetup {
    /// Configuration of the mesh, apart from its seed.
    pub config: MeshConfig,
    /// Durations of frames and interframe spaces in the mesh.
    pub timing: Timing,
    /// Routes between the nodes of the mesh.
    pub routes: Routes,
}

impl MeshSetup {
    /// Numbers of the first and the last node of the mesh.
    pub(crate) fn outermost(&self) -> [u32; 2] {
        [0, self.config.positions.len() as u32 - 1]
    }

    /// Error if the nodes of a flow in `table` do not exist or have no route between them.
    pub(crate) fn check_ends(&self, table: &str, [from, to]: [u32; 2]) -> Result<(), ScenarioError> {
        let [_, last] = self.outermost();
        for (key, node) in [("from", from), ("to", to)] {
            if node > last {
                let problem = format!("must be at most {last}, the last node of the mesh");
                return Err(ScenarioError::value(join(table, key), &json!(node), problem));
            }
        }
        if from == to {
            return Err(ScenarioError::value(
                join(table, "to"),
                &json!(to),
                "must be another node than from",
            ));
        }
        let hops = [(from, to), (to, from)].map(|(from, to)| self.routes.hops(from as usize, to as usize));
        let error = hops.into_iter().find_map(Result::err);
        error.map_or(Ok(()), |error| Err(ScenarioError::key(table, error.to_string())))
    }

    /// Number of hops of the round trip between two nodes; `None` without a route.
    pub fn round_trip_hops(&self, [from, to]: [u32; 2]) -> Option<u32> {
        let hops = |from: u32, to: u32| self.routes.hops(from as usize, to as usize).ok();
        Some((hops(from, to)? + hops(to, from)?) as u32)
    }

    /// Number of hops of the round trip of several pairs of nodes if it is equal for all; otherwise `None`.
    pub(crate) fn common_round_trip_hops(&self, ends: &[[u32; 2]]) -> Option<u32> {
        let first = self.round_trip_hops(*ends.first()?)?;
        ends.iter().all(|&ends| self.round_trip_hops(ends) == Some(first)).then_some(first)
    }

    /// Mean RTT of a lone packet of `bytes` and its answer of `answer_bytes` between two nodes.
    pub fn round_trip(&self, ends: [u32; 2], bytes: u32, answer_bytes: u32) -> SimTime {
        let hops = self.round_trip_hops(ends).unwrap_or_default() as usize;
        let both_ways = self.timing.lone_round_trip_s(&self.config.dcf, hops, bytes, answer_bytes);
        SimTime::from_secs_f64(both_ways / 2.0)
    }

    /// Duration of an exchange for a packet of `bytes`, with the mean backoff before it: the slot of the scenario.
    pub fn slot(&self, bytes: u32) -> SimTime {
        let exchanges = self.timing.lone_round_trip_s(&self.config.dcf, 1, bytes, bytes);
        SimTime::from_secs_f64(exchanges / 2.0)
    }
}
