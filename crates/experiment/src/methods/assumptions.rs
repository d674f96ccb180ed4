//! What several methods assume of a scenario.

use crossfade_scenario::{Scenario, ScenarioError, Setup};
use serde_json::json;

/// A mesh, a cell, a link with frames or of another rate at another time, or a window rule of the user's own: `who`
/// assumes none of them.
pub(crate) fn unforeseen(scenario: &Scenario, setup: &Setup, who: &str) -> Option<ScenarioError> {
    if setup.flows.iter().any(|flow| flow.own_rule.is_some()) {
        let problem = format!("{who} knows no such rule; use method simulation");
        return Some(ScenarioError::value("tcp.congestion", &json!(scenario.tcp.congestion), problem));
    }
    if let Some(mesh) = &setup.mesh {
        let problem = format!(
            "{who} assumes one link in place of {} nodes; use method simulation",
            mesh.config.positions.len()
        );
        return Some(ScenarioError::key("mesh", problem));
    }
    if setup.cell.is_some() {
        let problem = format!("{who} assumes a link of constant rate; use method simulation");
        return Some(ScenarioError::key("cell", problem));
    }
    let links = [
        ("link", &setup.forward, scenario.link.frame_size),
        ("reverse", &setup.reverse, scenario.reverse.frame_size),
    ];
    links.into_iter().find_map(|(table, hop, given)| {
        if hop.frames().is_some() {
            let problem = format!("{who} assumes a link that loses whole packets; use method simulation");
            let key = format!("{table}.frame_size");
            return Some(ScenarioError::value(key, &json!(given), problem));
        }
        let problem = format!("{who} assumes a constant rate; use method simulation");
        hop.varies_by(table).map(|key| ScenarioError::key(key, problem))
    })
}
