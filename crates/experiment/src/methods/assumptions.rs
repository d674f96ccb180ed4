//! Assumptions of methods about a scenario: a file of its own, since several methods share them.

use crate::networks;
use crossfade_scenario::{Scenario, ScenarioError, Setup};
use serde_json::json;

/// Error of a scenario whose `key` violates an assumption of a formula: `assumes` is the formula with its verb,
/// `assumed` the assumption.
pub(super) fn unmet(key: &str, assumes: &str, assumed: &str) -> ScenarioError {
    ScenarioError::key(key, format!("{assumes} {assumed}; use method simulation"))
}

/// Checks the common assumptions of method `who`: no mesh, no cell, no link with frames or with a changing rate, and no
/// custom congestion control. Returns the error of the first violation, `None` without one.
pub(crate) fn unforeseen(scenario: &Scenario, setup: &Setup, who: &str) -> Option<ScenarioError> {
    if setup.flows.iter().any(|flow| flow.custom_control.is_some()) {
        let problem = format!("{who} knows no such congestion control; use method simulation");
        return Some(ScenarioError::value("tcp.congestion", &json!(scenario.tcp.congestion), problem));
    }
    networks::of(setup).unmet_assumption(scenario, who)
}
