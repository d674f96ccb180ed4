//! Resolution of the flows of a scenario over a network of any kind.

use crate::error::ScenarioError;
use crate::files::Files;
use crate::quantity::Size;
use crate::tables::flow::AroundFlow;
use crate::tables::mesh::MeshSetup;
use crate::tables::{ControlName, FlowSetup, Scenario, TrafficSetup};
use crossfade_core::SimTime;

/// Slot, packet size and flows that a network resolves to.
pub(crate) struct OnNetwork {
    pub(crate) slot: SimTime,
    /// Size in bytes of the packet whose transmission time is a slot.
    pub(crate) packet_size: u32,
    pub(crate) flows: Vec<FlowSetup>,
}

/// Size in bytes of IP and TCP headers without options.
pub(crate) const USUAL_HEADERS: u32 = 40;

/// Size in bytes of a handshake segment: IP and TCP headers with all usual options.
pub(crate) const SYN_BYTES: u32 = 60;

/// Maximum number of flows, so that they fit the memory of a laptop.
const MOST_FLOWS: u32 = 100_000;

/// Fills in the size of packets (`link.packet_size`) of a scenario and returns it.
pub(crate) fn resolve_packet_size(scenario: &mut Scenario) -> Result<Size, ScenarioError> {
    let packet_size = match (scenario.link.packet_size, scenario.tcp.packet_size()) {
        (Some(packet_size), _) => packet_size,
        (None, Some(packet_size)) => packet_size?,
        // Scenarios of frames alone check the packet size themselves.
        (None, None) if scenario.is_phy_alone() || scenario.has_no_transport() => {
            Size(scenario.link.frame_size.map_or(1, |size| size.0.max(1)))
        }
        (None, None) => {
            return Err(ScenarioError::missing("link.packet_size", "a size such as \"1400 B\""));
        }
    };
    scenario.link.packet_size = Some(packet_size);
    if packet_size.0 == 0 {
        return Err(ScenarioError::key("link.packet_size = \"0 B\"", "must be at least 1 B"));
    }
    Ok(packet_size)
}

/// Fills in the defaults of the flows and returns them. If `one_hop`, the path is a single hop that carries whole
/// packets at a constant rate, where a sender may wait for its slots. Flows of a `mesh` go from node to node.
pub(crate) fn resolve_flows(
    scenario: &mut Scenario,
    packet_size: u32,
    slot: SimTime,
    one_hop: bool,
    mesh: Option<&MeshSetup>,
    files: &Files<'_>,
) -> Result<Vec<FlowSetup>, ScenarioError> {
    if scenario.flows.is_empty() {
        let ends: Vec<[u32; 2]> = mesh.map(MeshSetup::outermost).into_iter().collect();
        ends.iter().try_for_each(|&ends| mesh.map_or(Ok(()), |mesh| mesh.check_ends("mesh", ends)))?;
        let hops = mesh.and_then(|mesh| mesh.common_round_trip_hops(&ends));
        let tcp = scenario.tcp.resolve(packet_size, slot, one_hop, hops)?;
        return Ok(vec![FlowSetup::bulk(&tcp, packet_size, ends)]);
    }
    let alone = one_hop && scenario.flows.len() == 1;
    let mut flows = Vec::new();
    for (name, flow) in &mut scenario.flows {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            let problem = "a flow's name has letters, digits, - and _";
            return Err(ScenarioError::key(format!("flows.{name:?}"), problem));
        }
        let around = AroundFlow { tcp: &scenario.tcp, packet_size, slot, alone, mesh, files };
        flows.push(flow.resolve(name, &around)?);
    }
    if flows.iter().all(|flow| matches!(flow.traffic, TrafficSetup::Outside)) {
        let problem = "traffic \"outside\" has no simulated flow beside it; without flows a program has the links to itself";
        return Err(ScenarioError::key("flows", problem));
    }
    check_outside(&flows)?;
    let total = flows.iter().fold(0_u32, |sum, flow| sum.saturating_add(flow.count));
    if total > MOST_FLOWS {
        let problem = format!("{total} flows are too many; at most {MOST_FLOWS} are allowed");
        return Err(ScenarioError::key("flows", problem));
    }
    Ok(flows)
}

/// Refuses more than one flow for the same packets of a real program, and flows with ports if no flow has all other
/// packets.
fn check_outside(flows: &[FlowSetup]) -> Result<(), ScenarioError> {
    let outside = || flows.iter().filter(|flow| matches!(flow.traffic, TrafficSetup::Outside));
    let mut others = outside().filter(|flow| flow.ports.is_empty());
    let first = others.next();
    if let (Some(first), Some(second)) = (first, others.next()) {
        let problem = format!(
            "\"outside\" is flows.{} already, and one flow stands for the program; further ones have ports",
            first.name
        );
        return Err(ScenarioError::key(format!("flows.{}.traffic", second.name), problem));
    }
    let mut known: Vec<(u16, &str)> = Vec::new();
    for flow in outside().filter(|flow| !flow.ports.is_empty()) {
        let key = format!("flows.{}.ports", flow.name);
        if first.is_none() {
            let problem =
                "needs another flow with traffic = \"outside\" and without ports, for all other packets";
            return Err(ScenarioError::key(key, problem));
        }
        if let Some((port, other)) = known.iter().find(|(port, _)| flow.ports.contains(port)) {
            return Err(ScenarioError::key(key, format!("{port} is a port of flows.{other} already")));
        }
        known.extend(flow.ports.iter().map(|port| (*port, &*flow.name)));
    }
    Ok(())
}

/// Attaches custom congestion controls to the flows of `scenario`.
pub(crate) fn add_custom_controls(
    scenario: &Scenario,
    flows: &mut [FlowSetup],
    files: &Files<'_>,
) -> Result<(), ScenarioError> {
    for flow in flows.iter_mut().filter(|flow| flow.tcp().is_some()) {
        let of_flow = scenario.flows.get(&flow.name).and_then(|named| named.tcp.as_ref());
        if let Some(ControlName::Custom(name)) = &of_flow.unwrap_or(&scenario.tcp).congestion {
            let table = of_flow.map_or(String::new(), |_| format!("flows.{}.", flow.name));
            flow.custom_control = Some(files.control(&format!("{table}tcp.congestion"), name)?);
        }
    }
    Ok(())
}
