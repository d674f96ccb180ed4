//! Assumptions of several methods about a scenario: a file of its own, since no method knows another.

use crate::networks;
use crossfade_scenario::{Scenario, ScenarioError, Setup};
use serde_json::json;

/// A mesh, a cell, a link with frames or of another rate at another time, or a custom congestion control: `who`
/// assumes none of them.
pub(crate) fn unforeseen(scenario: &Scenario, setup: &Setup, who: &str) -> Option<ScenarioError> {
    if setup.flows.iter().any(|flow| flow.custom_control.is_some()) {
        let problem = format!("{who} knows no such congestion control; use method simulation");
        return Some(ScenarioError::value("tcp.congestion", &json!(scenario.tcp.congestion), problem));
    }
    networks::of(setup).unmet_assumption(scenario, who)
}
