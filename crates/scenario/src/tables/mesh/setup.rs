//! A mesh in the terms of the models.

use crate::error::{ScenarioError, join};
use crossfade_core::SimTime;
use crossfade_mac::{MeshConfig, Routes, Timing};
use serde_json::json;

/// Stations that share the air.
#[derive(Clone, Debug)]
pub struct MeshSetup {
    /// Everything about it but its seed.
    pub config: MeshConfig,
    /// How long things last.
    pub timing: Timing,
    /// The way from node to node.
    pub routes: Routes,
}

impl MeshSetup {
    /// The first and the last node.
    pub(crate) fn outermost(&self) -> [u32; 2] {
        [0, self.config.positions.len() as u32 - 1]
    }

    /// Refuses a flow of `table` whose nodes do not exist or have no route between them.
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

    /// How many hops there are there and back.
    pub fn round_trip_hops(&self, [from, to]: [u32; 2]) -> Option<u32> {
        let hops = |from: u32, to: u32| self.routes.hops(from as usize, to as usize).ok();
        Some((hops(from, to)? + hops(to, from)?) as u32)
    }

    /// Number of hops there and back of several flows, if they have it in common.
    pub(crate) fn common_round_trip_hops(&self, ends: &[[u32; 2]]) -> Option<u32> {
        let first = self.round_trip_hops(*ends.first()?)?;
        ends.iter().all(|&ends| self.round_trip_hops(ends) == Some(first)).then_some(first)
    }

    /// The mean round trip of a lone packet of `bytes` whose answer of `answer_bytes` comes back.
    pub fn round_trip(&self, ends: [u32; 2], bytes: u32, answer_bytes: u32) -> SimTime {
        let hops = self.round_trip_hops(ends).unwrap_or_default() as usize;
        let both_ways = self.timing.lone_round_trip_s(&self.config.dcf, hops, bytes, answer_bytes);
        SimTime::from_secs_f64(both_ways / 2.0)
    }

    /// An exchange for a packet of `bytes` and the mean wait before it.
    pub fn slot(&self, bytes: u32) -> SimTime {
        let exchanges = self.timing.lone_round_trip_s(&self.config.dcf, 1, bytes, bytes);
        SimTime::from_secs_f64(exchanges / 2.0)
    }
}
