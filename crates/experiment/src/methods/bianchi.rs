//! Formula for a star of saturated 802.11 stations: Bianchi's model.

use super::assumptions;
use crate::metrics::Metrics;
use crossfade_mac::bianchi::{Retries, saturation};
use crossfade_mac::{Mac, MeshError, Reception};
use crossfade_scenario::{FlowSetup, MeshSetup, Point, ScenarioError, TrafficSetup};
use std::collections::BTreeSet;

/// Description of the formula in a warning of the result.
pub(crate) const FORM: &str = "formula is Bianchi's saturation throughput with finite retries: his model of 2000 with \
                               attempts up to mesh.retries.short (Wu et al. 2002), a collision lasting its longest \
                               frame and EIFS";

/// Throughput of stations that all hear each other and always have a packet for the same node.
///
/// # Errors
/// The first assumption of the model that the scenario violates.
pub(super) fn saturated_star(point: &Point, mesh: &MeshSetup) -> Result<Metrics, ScenarioError> {
    let setup = &point.setup;
    let unmet = |key: &str, assumed: &str| Err(assumptions::unmet(key, "Bianchi's model assumes", assumed));
    let config = &mesh.config;
    if config.mac != Mac::Plain {
        return unmet("mesh.mac", "802.11 with one antenna");
    }
    if !matches!(config.reception, Reception::Range) {
        return unmet("mesh.reception", "that nothing but collisions loses frames");
    }
    let is_saturated = |traffic: &TrafficSetup| matches!(traffic, TrafficSetup::Saturated);
    let is_alone = |flow: &&FlowSetup| flow.count as usize == flow.ends.len();
    if let Some(flow) = setup.flows.iter().find(|flow| !is_saturated(&flow.traffic) || !is_alone(flow)) {
        let key = if flow.name.is_empty() { "flows".to_owned() } else { format!("flows.{}", flow.name) };
        return unmet(&key, "saturated traffic, one source a station");
    }
    let ends: Vec<[u32; 2]> = setup.flows.iter().flat_map(|flow| flow.ends.iter().copied()).collect();
    let senders: BTreeSet<u32> = ends.iter().map(|[from, _]| *from).collect();
    let receivers: BTreeSet<u32> = ends.iter().map(|[_, to]| *to).collect();
    if senders.len() != ends.len() || receivers.len() != 1 {
        return unmet("flows", "a source at each of several stations, all for the same node");
    }
    let nodes: Vec<u32> = senders.union(&receivers).copied().collect();
    let place = |node: u32| config.positions[node as usize];
    let hear = |&a: &u32| nodes.iter().all(|&b| place(a).distance_m(place(b)) <= config.range_m);
    if !nodes.iter().all(hear) {
        return unmet("mesh.range", "stations that all hear each other");
    }
    let refuse = |error: MeshError| ScenarioError::key("mesh", error.to_string());
    let found = saturation(&config.dcf, senders.len(), setup.packet_size, Retries::Finite).map_err(refuse)?;
    let per_slot = found.packets_per_s * setup.slot.as_secs_f64();
    let metrics = [
        ("goodput_bps", found.throughput_bps),
        ("ip_goodput_bps", found.throughput_bps),
        ("throughput_per_slot", per_slot),
    ];
    Ok(metrics.map(|(name, value)| (name.to_owned(), value)).into())
}
