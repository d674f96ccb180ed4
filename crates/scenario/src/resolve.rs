//! From what a scenario says to what the models need: defaults filled in, ranges and contradictions checked.
//!
//! Resolving writes each default into the scenario itself, so that a scenario which spells a default out
//! and one which leaves it away become the same, and have the same results.

use crate::error::ScenarioError;
use crate::files::Files;
use crate::quantity::{Rate, Size};
use crate::setup::{HopSetup, Setup};
use crate::stop::End;
use crate::tables::{FlowSetup, Gate, LONGEST_SLOT, Method, Scenario, Tcp, TcpSetup, TrafficSetup, json};
use crossfade_core::SimTime;

/// Fills in the defaults of `scenario` and gives its model objects.
///
/// # Errors
/// What is missing, out of range or contradictory.
pub(crate) fn resolve(scenario: &mut Scenario, files: &Files<'_>) -> Result<Setup, ScenarioError> {
    check_methods(scenario)?;
    let trace = scenario.link.trace.resolve("link.trace", files)?;
    let Scenario { phy, channel, link, .. } = scenario;
    let radio = phy.resolve(channel, &mut link.rate)?;
    let rate = match (&trace, link.rate) {
        (Some(trace), None) => Rate(trace.mean_rate_bps),
        (Some(trace), Some(_)) => {
            return Err(ScenarioError::contradiction("link.rate", &trace.key, "the trace has the rates"));
        }
        (None, Some(rate)) => rate,
        (None, None) => {
            return Err(ScenarioError::missing("link.rate", "a bit rate such as \"1.5 Mbit/s\""));
        }
    };
    let packet_size = match (link.packet_size, scenario.tcp.packet_size()) {
        (Some(packet_size), _) => packet_size,
        (None, Some(packet_size)) => packet_size?,
        (None, None) if scenario.is_phy_alone() => scenario.link.frame_size.unwrap_or(Size(1)),
        (None, None) => {
            return Err(ScenarioError::missing("link.packet_size", "a size such as \"1400 B\""));
        }
    };
    scenario.link.packet_size = Some(packet_size);
    let frames = scenario.run.resolve_frames(radio.is_some())?;
    if packet_size.0 == 0 {
        return Err(ScenarioError::key("link.packet_size = \"0 B\"", "must be at least 1 B"));
    }
    let slot = SimTime::to_transmit(packet_size.0, rate.0);
    if slot > LONGEST_SLOT {
        return Err(ScenarioError::value(
            "link.rate",
            &json(rate),
            "too slow: a packet would take more than 1 h",
        ));
    }
    let mut flows = resolve_flows(scenario, packet_size.0, slot)?;
    let Scenario { phy, channel, link, .. } = scenario;
    let radio = radio.map(|config| (phy, config));
    let forward = link.resolve(channel, radio, trace, packet_size.0, slot, files)?;
    let longest_ack = flows.iter().filter_map(FlowSetup::tcp).map(TcpSetup::longest_ack).max().unwrap_or(0);
    let reverse = scenario.reverse.resolve(longest_ack, packet_size.0, slot, files)?;
    let wired = scenario.wired.resolve(packet_size.0.max(longest_ack), slot)?;
    let hops = [&forward, &reverse].into_iter().chain(wired.iter().flatten());
    let idle_rtt = hops.fold(SimTime::ZERO, |sum, hop| sum.saturating_add(hop.transit(SYN_BYTES)));
    for flow in &mut flows {
        flow.shake_hands(idle_rtt);
    }
    let (warmup, end) = scenario.run.resolve(slot)?;
    if matches!(end, End::Delivered(_)) {
        refuse_endless(&flows, &forward, &reverse)?;
    }
    let gate = flows.first().and_then(FlowSetup::tcp).map_or(Gate::Queue, |tcp| tcp.gate);
    Ok(Setup { slot, packet_size: packet_size.0, flows, gate, wired, forward, reverse, warmup, end, frames })
}

/// The segments of a handshake: headers of IP and TCP with all options that are usual.
const SYN_BYTES: u32 = 60;

/// More flows than this take more memory than a laptop has.
const MOST_FLOWS: u32 = 100_000;

fn resolve_flows(
    scenario: &mut Scenario,
    packet_size: u32,
    slot: SimTime,
) -> Result<Vec<FlowSetup>, ScenarioError> {
    let link = &scenario.link;
    // A hop of whole packets at a constant rate: a sender can wait for its slots.
    let one_hop = scenario.wired.is_absent() && link.frame_size.is_none() && link.trace.is_absent();
    if scenario.flows.is_empty() {
        if scenario.is_phy_alone() && scenario.tcp == Tcp::default() {
            return Ok(Vec::new());
        }
        let tcp = scenario.tcp.resolve(packet_size, slot, one_hop)?;
        return Ok(vec![FlowSetup::bulk(tcp)]);
    }
    let alone = one_hop && scenario.flows.len() == 1;
    let mut flows = Vec::new();
    for (name, flow) in &mut scenario.flows {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            let problem = "a flow's name has letters, digits, - and _";
            return Err(ScenarioError::key(format!("flows.{name:?}"), problem));
        }
        flows.push(flow.resolve(name, &scenario.tcp, packet_size, slot, alone)?);
    }
    let total = flows.iter().fold(0_u32, |sum, flow| sum.saturating_add(flow.count));
    if total > MOST_FLOWS {
        let problem = format!("{total} flows are too many; at most {MOST_FLOWS} are allowed");
        return Err(ScenarioError::key("flows", problem));
    }
    Ok(flows)
}

const AVAILABLE: &str = "available: analysis, analysis:bounds, analysis:paper-bounds, formula, formula:square-root, phy, simulation";

fn check_methods(scenario: &mut Scenario) -> Result<(), ScenarioError> {
    let methods = scenario.methods.get_or_insert_with(|| vec![Method::Simulation]);
    if methods.is_empty() {
        return Err(ScenarioError::key("methods = []", format!("must name at least one; {AVAILABLE}")));
    }
    if let Some(other) = methods.iter().find(|&&method| method == Method::Live) {
        return Err(ScenarioError::value("methods", &json(other), format!("not available yet; {AVAILABLE}")));
    }
    for method in methods.iter_mut().filter(|method| **method == Method::Analysis) {
        *method = Method::AnalysisExact;
    }
    let mut seen = Vec::new();
    methods.retain(|method| {
        !seen.contains(method) && {
            seen.push(*method);
            true
        }
    });
    match &scenario.title {
        Some(title) if title.contains(char::is_control) => {
            Err(ScenarioError::value("title", &json(title), "must be one line"))
        }
        _ => Ok(()),
    }
}

/// A run that waits for segments would never end on a channel that lets none through.
fn refuse_endless(flows: &[FlowSetup], forward: &HopSetup, reverse: &HopSetup) -> Result<(), ScenarioError> {
    if !flows.iter().any(|flow| matches!(flow.traffic, TrafficSetup::Tcp(_, None))) {
        let reason = "without a bulk flow the segments may never come; use run.duration";
        return Err(ScenarioError::contradiction("run.segments", "flows", reason));
    }
    for (key, hop) in [("channel", forward), ("reverse.channel", reverse)] {
        if hop.ends_in_loss() {
            let reason =
                "in the long run this channel loses everything, so the run might never end; use run.duration";
            return Err(ScenarioError::contradiction("run.segments", key, reason));
        }
    }
    Ok(())
}
