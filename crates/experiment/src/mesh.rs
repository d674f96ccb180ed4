//! What can be said of a mesh without a run: where its nodes stand, how long exchanges last, and what a window of one
//! packet can reach.

use crossfade_core::SimTime;
use crossfade_scenario::{MeshSetup, Setup};
use serde::Serialize;

/// Times and bounds of a mesh.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeshFacts {
    /// How many nodes there are.
    pub nodes: usize,
    /// Where they stand, in metres.
    pub positions: Vec<[f64; 2]>,
    /// Up to here a frame can be understood, in metres.
    pub range_m: f64,
    /// Up to here it interferes, in metres.
    pub interference_m: f64,
    /// The hops on the routes of the flows.
    pub links: Vec<(usize, usize)>,
    /// From the first frame of an exchange for a data packet to the end of its ACK, in seconds.
    pub exchange_s: f64,
    /// The same with DIFS and the mean backoff before it.
    pub slot_s: f64,
    /// Of each entry of the flows.
    pub flows: Vec<FlowFacts>,
}

/// Of flows between two nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowFacts {
    /// Their name; empty where the scenario names no flows.
    pub name: String,
    /// Where they begin and end; of several the longest.
    pub ends: [u32; 2],
    /// How many hops there are there and back.
    pub round_trip_hops: u32,
    /// The mean round trip of a packet that is alone, in seconds; none of datagrams.
    pub round_trip_s: Option<f64>,
    /// What a window of one packet reaches, in bit/s of whole packets.
    pub window_1_bps: Option<f64>,
}

/// What can be said of the mesh of `setup`, if it has one.
pub(crate) fn facts(setup: &Setup) -> Option<MeshFacts> {
    let mesh = setup.mesh.as_ref()?;
    let flows = setup.flows.iter().filter_map(|flow| {
        let hops = |ends: &&[u32; 2]| mesh.round_trip_hops(**ends);
        let &ends = flow.ends.iter().max_by_key(hops)?;
        let round_trip_s = flow.tcp().map(|tcp| mesh.round_trip(ends, setup.packet_size, tcp.ack_size));
        let round_trip_s = round_trip_s.map(SimTime::as_secs_f64);
        Some(FlowFacts {
            name: flow.name.clone(),
            ends,
            round_trip_hops: mesh.round_trip_hops(ends)?,
            round_trip_s,
            window_1_bps: round_trip_s.map(|round_trip_s| f64::from(setup.packet_size) * 8.0 / round_trip_s),
        })
    });
    Some(MeshFacts {
        nodes: mesh.config.positions.len(),
        positions: mesh.config.positions.iter().map(|place| [place.x_m, place.y_m]).collect(),
        range_m: mesh.config.range_m,
        interference_m: mesh.config.interference_m,
        links: links(setup, mesh),
        exchange_s: mesh.timing.exchange(setup.packet_size).as_secs_f64(),
        slot_s: mesh.slot(setup.packet_size).as_secs_f64(),
        flows: flows.collect(),
    })
}

/// The hops on the routes of the flows, each once, whichever way it is taken.
pub(crate) fn links(setup: &Setup, mesh: &MeshSetup) -> Vec<(usize, usize)> {
    let ends = setup.flows.iter().flat_map(|flow| &flow.ends);
    let both_ways = ends.flat_map(|&[from, to]| [(from, to), (to, from)]);
    // Every flow was found to have a route.
    let routes = both_ways.filter_map(|(from, to)| mesh.routes.links(from as usize, to as usize).ok());
    let mut links: Vec<(usize, usize)> = routes.flatten().map(|(a, b)| (a.min(b), a.max(b))).collect();
    links.sort_unstable();
    links.dedup();
    links
}
