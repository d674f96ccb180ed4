//! Positions of the nodes of a mesh, and routes between them.

use super::{Arrangement, Mesh, RoutingWord, refused};
use crate::error::ScenarioError;
use crate::files::Files;
use crate::quantity::Length;
use crate::tables::base::json;
use crossfade_core::{RunSeed, Stream};
use crossfade_mac::{MeshError, Position, Routing, Topology};

impl Mesh {
    /// Positions of the nodes of a mesh, by its topology or its file.
    pub(super) fn positions(&mut self, files: &Files<'_>) -> Result<Vec<Position>, ScenarioError> {
        let sizes = [
            ("hops", Arrangement::Chain, self.hops),
            ("rows", Arrangement::Grid, self.rows),
            ("columns", Arrangement::Grid, self.columns),
            ("stations", Arrangement::Star, self.stations),
            ("nodes", Arrangement::Random, self.nodes),
        ];
        let topology = match (self.topology, &self.file) {
            (Some(_), Some(_)) => {
                let reason = "the file says where the nodes stand";
                return Err(ScenarioError::contradiction("mesh.topology", "mesh.file", reason));
            }
            (None, None) => {
                return Err(ScenarioError::missing(
                    "mesh.topology",
                    "one of chain, grid, star, random, or mesh.file",
                ));
            }
            (topology, _) => topology,
        };
        let word = topology
            .map_or_else(|| "mesh.file".to_owned(), |topology| format!("mesh.topology = {}", json(topology)));
        if let Some((key, of, _)) = sizes.iter().find(|(_, of, size)| size.is_some() && topology != Some(*of))
        {
            let reason = format!("it is the size of a {}", json(of).as_str().unwrap_or_default());
            return Err(ScenarioError::contradiction(&format!("mesh.{key}"), &word, reason));
        }
        if self.placement.is_some() && topology != Some(Arrangement::Random) {
            return Err(ScenarioError::contradiction("mesh.placement", &word, "random takes it"));
        }
        let Some(topology) = topology else {
            if self.spacing.is_some() {
                let reason = "the file says where the nodes stand";
                return Err(ScenarioError::contradiction("mesh.spacing", "mesh.file", reason));
            }
            let name = self.file.as_ref().map_or("", |file| &file.0);
            let listed = files.positions("mesh.file", name)?;
            let problem =
                |error: MeshError| ScenarioError::value("mesh.file", &json(name), error.to_string());
            return Topology::Listed(listed).positions(&mut placement(1)).map_err(problem);
        };
        let size = |key: &str, size: Option<u32>| {
            let expected = format!("topology {} needs it", json(topology));
            let size = size.ok_or_else(|| ScenarioError::missing(&format!("mesh.{key}"), &expected))?;
            Ok::<_, ScenarioError>(size as usize)
        };
        let spacing_m = self.spacing.get_or_insert(Length(200.0)).0;
        let mut stream = placement(1);
        let arrangement = match topology {
            Arrangement::Chain => Topology::Chain { hops: size("hops", self.hops)?, spacing_m },
            Arrangement::Grid => {
                let (rows, columns) = (size("rows", self.rows)?, size("columns", self.columns)?);
                Topology::Grid { rows, columns, spacing_m }
            }
            Arrangement::Star => Topology::Star { stations: size("stations", self.stations)?, spacing_m },
            Arrangement::Random => {
                stream = placement(*self.placement.get_or_insert(1));
                Topology::Random { nodes: size("nodes", self.nodes)?, spacing_m }
            }
        };
        arrangement.positions(&mut stream).map_err(refused)
    }

    /// Fills in the routing of a mesh with this number of nodes, and returns its model.
    pub(super) fn resolve_routing(&mut self, nodes: usize) -> Result<Routing, ScenarioError> {
        let is_chain = self.topology == Some(Arrangement::Chain);
        let usual = match (&self.routes, is_chain) {
            (Some(_), _) => RoutingWord::Static,
            (None, true) => RoutingWord::Chain,
            (None, false) => RoutingWord::ShortestPath,
        };
        let routing = *self.routing.get_or_insert(usual);
        let word = format!("mesh.routing = {}", json(routing));
        match (routing, &self.routes) {
            (RoutingWord::Static, Some(routes)) => {
                let route = |route: &Vec<u32>| route.iter().map(|&node| node as usize).collect();
                Ok(Routing::Static(routes.iter().map(route).collect()))
            }
            (RoutingWord::Static, None) => {
                Err(ScenarioError::missing("mesh.routes", "a list of routes such as [[0, 1, 2]]"))
            }
            (_, Some(_)) => {
                Err(ScenarioError::contradiction("mesh.routes", &word, "routing \"static\" takes it"))
            }
            (RoutingWord::Chain, None) if !is_chain => {
                Err(ScenarioError::value("mesh.routing", &json(routing), "needs mesh.topology = \"chain\""))
            }
            (RoutingWord::Chain, None) => Ok(Routing::Static(vec![(0..nodes).collect()])),
            (RoutingWord::ShortestPath, None) => Ok(Routing::ShortestPath),
        }
    }
}

/// Random stream that places the nodes of a random topology. It does not depend on the run, since positions are fixed.
fn placement(seed: u64) -> Stream {
    RunSeed { seed, run: 0 }.stream("mac.topology")
}
