//! Routes of a mesh: next hop from each node to each destination.

use crate::error::{MeshError, out_of_range};
use crate::topology::{Position, within};
use std::collections::VecDeque;

/// Method by which routes are found.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// Shortest paths by number of hops over links within the range, known to all nodes from the start; of equal paths,
    /// that with the lowest node numbers.
    ShortestPath,
    /// Static routes: each is a chain of node numbers, used in both directions.
    Static(Vec<Vec<usize>>),
}

/// Routing table: next hop from each node to each destination.
#[derive(Clone, Debug, PartialEq)]
pub struct Routes {
    nodes: usize,
    /// Next hop by destination, then by node; [`NONE`] without a route.
    next: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Routes {
    /// Finds the routes between nodes at `positions` that decode each other within `range_m`.
    ///
    /// # Errors
    /// If a static route has a node that does not exist or a hop beyond the range, or if static routes contradict each
    /// other.
    pub fn new(routing: &Routing, positions: &[Position], range_m: f64) -> Result<Self, MeshError> {
        let nodes = positions.len();
        match routing {
            Routing::ShortestPath => {
                Ok(Self::over(nodes, |a, b| within(positions[a].distance_m(positions[b]), range_m)))
            }
            Routing::Static(paths) => {
                let mut routes = Self { nodes, next: vec![NONE; nodes * nodes] };
                for (route, path) in paths.iter().enumerate() {
                    routes.follow(route, path, positions, range_m)?;
                }
                Ok(routes)
            }
        }
    }

    /// Shortest paths between `nodes` nodes over the links for which `linked` returns true.
    pub fn over(nodes: usize, linked: impl Fn(usize, usize) -> bool) -> Self {
        let mut routes = Self { nodes, next: vec![NONE; nodes * nodes] };
        (0..nodes).for_each(|to| routes.search(to, &linked));
        routes
    }

    /// Breadth-first search from the destination `to`, which sets the next hops to it.
    fn search(&mut self, to: usize, linked: impl Fn(usize, usize) -> bool) {
        let next = &mut self.next[to * self.nodes..][..self.nodes];
        next[to] = to as u32;
        let mut reached = VecDeque::from([to]);
        while let Some(node) = reached.pop_front() {
            for (other, next) in next.iter_mut().enumerate() {
                if *next == NONE && linked(node, other) {
                    *next = node as u32;
                    reached.push_back(other);
                }
            }
        }
        next[to] = NONE;
    }

    fn follow(
        &mut self,
        route: usize,
        path: &[usize],
        positions: &[Position],
        range_m: f64,
    ) -> Result<(), MeshError> {
        if let Some(node) = path.iter().find(|&&node| node >= self.nodes) {
            return out_of_range(
                "route",
                format!("{path:?}"),
                format!("of nodes 0 to {}, not {node}", self.nodes - 1),
            );
        }
        for hop in path.windows(2) {
            let distance_m = positions[hop[0]].distance_m(positions[hop[1]]);
            if !within(distance_m, range_m) {
                return Err(MeshError::HopTooLong { route, from: hop[0], to: hop[1], distance_m, range_m });
            }
        }
        let backwards: Vec<usize> = path.iter().rev().copied().collect();
        for path in [path, &backwards] {
            for (i, &from) in path.iter().enumerate() {
                for &to in &path[i + 1..] {
                    let (entry, next) = (&mut self.next[to * self.nodes + from], path[i + 1]);
                    if from == to || (*entry != NONE && *entry != next as u32) {
                        let earlier = if *entry == NONE { from } else { *entry as usize };
                        return Err(MeshError::ContradictingRoutes { route, from, to, next, earlier });
                    }
                    *entry = next as u32;
                }
            }
        }
        Ok(())
    }

    /// Next hop from `from` to `to`; `None` without a route, or if both are the same node.
    pub fn next(&self, from: usize, to: usize) -> Option<usize> {
        let next = *self.next.get(to * self.nodes + from)?;
        (next != NONE).then_some(next as usize)
    }

    /// Number of hops from `from` to `to`.
    ///
    /// # Errors
    /// If there is no route, or a node does not exist.
    pub fn hops(&self, from: usize, to: usize) -> Result<usize, MeshError> {
        for node in [from, to] {
            if node >= self.nodes {
                return out_of_range("node", node, format!("between 0 and {}", self.nodes - 1));
            }
        }
        let (mut node, mut hops) = (from, 0);
        while node != to {
            node =
                self.next(node, to).filter(|_| hops < self.nodes).ok_or(MeshError::NoRoute { from, to })?;
            hops += 1;
        }
        Ok(hops)
    }

    /// Hops of the route from `from` to `to`, each with its two nodes.
    ///
    /// # Errors
    /// If there is no route, or a node does not exist.
    pub fn links(&self, from: usize, to: usize) -> Result<Vec<(usize, usize)>, MeshError> {
        self.hops(from, to)?;
        let mut node = from;
        let hop = || {
            let next = self.next(node, to)?;
            Some((std::mem::replace(&mut node, next), next))
        };
        Ok(std::iter::from_fn(hop).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(nodes: usize) -> Vec<Position> {
        (0..nodes).map(|i| Position { x_m: 200.0 * i as f64, y_m: 0.0 }).collect()
    }

    fn fixed(paths: &[&[usize]]) -> Result<Routes, String> {
        let paths = paths.iter().map(|path| path.to_vec()).collect();
        Routes::new(&Routing::Static(paths), &chain(5), 250.0).map_err(|error| error.to_string())
    }

    #[test]
    fn a_wider_range_makes_shorter_paths() {
        for (range, hops) in [(250.0, 4), (450.0, 2), (900.0, 1)] {
            let routes = Routes::new(&Routing::ShortestPath, &chain(5), range).unwrap();
            assert_eq!((routes.hops(0, 4), routes.hops(4, 0)), (Ok(hops), Ok(hops)));
        }
    }

    #[test]
    fn static_routes_lead_both_ways_and_nowhere_else() {
        let routes = fixed(&[&[0, 1, 2, 3]]).unwrap();
        assert_eq!(routes.links(3, 1), Ok(vec![(3, 2), (2, 1)]));
        assert_eq!(routes.hops(2, 2), Ok(0));
        assert_eq!(
            routes.hops(0, 4).unwrap_err().to_string(),
            "no route from node 0 to node 4: no chain of nodes within range joins them"
        );
        assert_eq!(routes.hops(0, 5).unwrap_err().to_string(), "node = 5: must be between 0 and 4");
    }

    #[test]
    fn a_gap_disconnects() {
        let mut positions = chain(4);
        positions[2].x_m = 1000.0;
        let routes = Routes::new(&Routing::ShortestPath, &positions, 250.0).unwrap();
        assert_eq!(routes.hops(0, 3), Err(MeshError::NoRoute { from: 0, to: 3 }));
        assert_eq!(routes.hops(0, 1), Ok(1));
    }

    #[test]
    fn static_routes_that_cannot_be_are_refused() {
        assert_eq!(
            fixed(&[&[0, 2]]).unwrap_err(),
            "route 0: nodes 0 and 2 are 400 m apart, beyond range = 250 m"
        );
        assert_eq!(fixed(&[&[0, 7]]).unwrap_err(), "route = [0, 7]: must be of nodes 0 to 4, not 7");
        assert!(fixed(&[&[0, 1, 0]]).is_err(), "a circle");
        let near: Vec<Position> = (0..3).map(|i| Position { x_m: f64::from(i), y_m: 0.0 }).collect();
        let both = Routing::Static(vec![vec![0, 1, 2], vec![0, 2]]);
        assert_eq!(
            Routes::new(&both, &near, 5.0).unwrap_err().to_string(),
            "route 1: from node 0 to node 2 the next node is 2, but an earlier route says 1"
        );
    }
}
