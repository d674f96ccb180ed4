//! Number of exchanges of a mesh that can overlap in time: its spatial reuse.

use crate::experiment::Experiment;
use crate::networks::mesh_links as links;
use crossfade_mac::reuse::{Reuse, ReuseRules, largest};
use crossfade_mac::{Knowledge, Mac};
use crossfade_scenario::{MeshSetup, Point, ScenarioError};
use serde::Serialize;

/// Largest set of exchanges that can be under way at one time in the mesh of a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReuseFacts {
    /// Number of the point in the plan.
    pub point: usize,
    /// Number of links on the routes of the flows, from which the set is chosen.
    pub links: usize,
    /// Number of antennas of a node.
    pub antennas: usize,
    /// Number of exchanges in the set.
    pub exchanges: usize,
    /// True if no larger set exists; false if the search was cut short.
    pub is_exact: bool,
    /// Numbers of the two nodes of each exchange in the set.
    pub set: Vec<(usize, usize)>,
}

/// Largest set of exchanges that can be under way at one time, over the links on the routes of the flows, at each
/// point.
///
/// # Errors
/// If a point has no mesh.
pub fn reuse(experiment: &Experiment) -> Result<Vec<ReuseFacts>, ScenarioError> {
    experiment.points.iter().map(|point| of_point(&point)).collect()
}

fn of_point(point: &Point) -> Result<ReuseFacts, ScenarioError> {
    let Some(mesh) = point.setup.mesh() else {
        return Err(point.locate(ScenarioError::key("mesh", "missing; spatial reuse is about a mesh")));
    };
    let refuse =
        |error: crossfade_mac::MeshError| point.locate(ScenarioError::key("mesh", error.to_string()));
    let links = links(&point.setup, mesh);
    let rules = rules(mesh);
    let Reuse { exchanges, is_exact } = largest(&mesh.config.positions, &links, &rules).map_err(refuse)?;
    Ok(ReuseFacts {
        point: point.index,
        links: links.len(),
        antennas: rules.antennas,
        exchanges: exchanges.len(),
        is_exact,
        set: exchanges,
    })
}

fn rules(mesh: &MeshSetup) -> ReuseRules {
    let (antennas, knowledge) = match mesh.config.mac {
        Mac::Plain => (1, Knowledge::Overheard),
        Mac::Nulling(nulling) => (nulling.antennas, nulling.knowledge),
    };
    ReuseRules {
        range_m: mesh.config.range_m,
        interference_m: mesh.config.interference_m,
        antennas,
        knowledge,
    }
}
