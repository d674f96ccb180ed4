//! Resolution of a scenario to the objects that the models need: fills in defaults, and checks ranges and
//! contradictions.
//!
//! Defaults are written into the scenario itself. A scenario with a spelt-out default thus becomes equal to one without
//! the key, and has equal results.

use crate::error::ScenarioError;
use crate::files::Files;
use crate::flows::{OnNetwork, add_custom_controls};
use crate::networks::{self, NetworkSetup, WirelessLink};
use crate::setup::Setup;
use crate::stop::End;
use crate::tables::{FlowSetup, Method, Scenario, TrafficSetup, json};

/// Fills in the defaults of `scenario` and returns its model objects.
///
/// # Errors
/// A key that is missing, out of range or contradictory.
pub(crate) fn resolve(scenario: &mut Scenario, files: &Files<'_>) -> Result<Setup, ScenarioError> {
    check_methods(scenario)?;
    scenario.tcp.forget_unlimited();
    let (OnNetwork { slot, packet_size, mut flows }, network) = networks::resolve(scenario, files)?;
    let (warmup, end) = scenario.run.resolve(slot)?;
    let sample = scenario.run.resolve_sample(slot)?;
    if matches!(end, End::Delivered(_)) {
        refuse_endless(&flows, &network)?;
    }
    add_custom_controls(scenario, &mut flows, files)?;
    Ok(Setup { slot, packet_size, flows, network, warmup, end, sample })
}

const AVAILABLE: &str = "available: analysis, analysis:bounds, analysis:paper-bounds, formula, formula:square-root, phy, simulation, \
     live";

fn check_methods(scenario: &mut Scenario) -> Result<(), ScenarioError> {
    let methods = scenario.methods.get_or_insert_with(|| vec![Method::Simulation]);
    if methods.is_empty() {
        return Err(ScenarioError::key("methods = []", format!("must name at least one; {AVAILABLE}")));
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

/// Error for a run that ends after a number of segments on a channel which delivers none: it would never end.
fn refuse_endless(flows: &[FlowSetup], network: &NetworkSetup) -> Result<(), ScenarioError> {
    let has_no_end =
        |flow: &FlowSetup| matches!(flow.traffic, TrafficSetup::Tcp(_, None) | TrafficSetup::PacedTcp(..));
    if !flows.iter().any(has_no_end) {
        let reason = "without a bulk flow the segments may never come; use run.duration";
        return Err(ScenarioError::contradiction("run.segments", "flows", reason));
    }
    for WirelessLink { channel, hop, .. } in network.wireless_links() {
        if hop.ends_in_loss() {
            let reason =
                "in the long run this channel loses everything, so the run might never end; use run.duration";
            return Err(ScenarioError::contradiction("run.segments", channel, reason));
        }
    }
    Ok(())
}
