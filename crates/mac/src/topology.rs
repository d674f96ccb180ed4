//! Positions of the nodes of a mesh.

use crate::error::{MeshError, out_of_range, positive};
use crossfade_core::Stream;
use rand::RngExt;
use std::collections::HashMap;
use std::f64::consts::TAU;

/// Maximum number of nodes: routing tables need memory for each pair.
pub const MAX_NODES: usize = 1024;

/// Position of a node in the plane, in metres.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Position {
    /// East coordinate in metres.
    pub x_m: f64,
    /// North coordinate in metres.
    pub y_m: f64,
}

impl Position {
    /// Distance to another position in metres.
    pub fn distance_m(self, other: Self) -> f64 {
        libm::hypot(self.x_m - other.x_m, self.y_m - other.y_m)
    }
}

/// True if a distance is within a range, with a margin for rounding: 3 x 0.1 m is within 0.3 m.
pub(crate) fn within(distance_m: f64, range_m: f64) -> bool {
    distance_m <= range_m * (1.0 + 1e-12)
}

/// Arrangement of nodes. Node 0 is the first of a chain, a corner of a grid, the centre of a star.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// Chain: nodes 0 to `hops` on a line.
    Chain {
        /// Number of hops, one less than the number of nodes.
        hops: usize,
        /// Distance between neighbours in metres.
        spacing_m: f64,
    },
    /// Rectangular grid, numbered row by row.
    Grid {
        /// Number of rows.
        rows: usize,
        /// Number of nodes in each row.
        columns: usize,
        /// Distance between neighbours in metres.
        spacing_m: f64,
    },
    /// Star: nodes 1 to `stations` at equal angles on a circle around node 0.
    Star {
        /// Number of nodes on the circle.
        stations: usize,
        /// Radius of the circle in metres.
        spacing_m: f64,
    },
    /// Random: nodes uniformly in a square whose area is `spacing_m` squared times their number.
    Random {
        /// Number of nodes.
        nodes: usize,
        /// Side of the square divided by the square root of the number of nodes, in metres.
        spacing_m: f64,
    },
    /// Given positions, in order of node numbers.
    Listed(Vec<Position>),
}

impl Topology {
    /// Positions of all nodes. Only a random topology draws from `stream`.
    ///
    /// # Errors
    /// If a size is 0 or exceeds [`MAX_NODES`] nodes, the spacing is not positive, a coordinate is not finite, or two
    /// nodes have the same position.
    pub fn positions(&self, stream: &mut Stream) -> Result<Vec<Position>, MeshError> {
        let place = |x_m: f64, y_m: f64| Position { x_m, y_m };
        let positions: Vec<Position> = match *self {
            Self::Chain { hops, spacing_m } => {
                size("hops", hops, MAX_NODES - 1)?;
                positive("spacing", spacing_m)?;
                (0..=hops).map(|i| place(i as f64 * spacing_m, 0.0)).collect()
            }
            Self::Grid { rows, columns, spacing_m } => {
                size("rows", rows, MAX_NODES)?;
                size("columns", columns, MAX_NODES / rows)?;
                positive("spacing", spacing_m)?;
                (0..rows * columns)
                    .map(|i| place((i % columns) as f64 * spacing_m, (i / columns) as f64 * spacing_m))
                    .collect()
            }
            Self::Star { stations, spacing_m } => {
                size("stations", stations, MAX_NODES - 1)?;
                positive("spacing", spacing_m)?;
                let on_circle = |i: usize| {
                    let (sin, cos) = libm::sincos(TAU * i as f64 / stations as f64);
                    place(spacing_m * cos, spacing_m * sin)
                };
                std::iter::once(Position::default()).chain((0..stations).map(on_circle)).collect()
            }
            Self::Random { nodes, spacing_m } => {
                size("nodes", nodes, MAX_NODES)?;
                positive("spacing", spacing_m)?;
                let side = spacing_m * (nodes as f64).sqrt();
                let mut along = || side * stream.random::<f64>();
                (0..nodes).map(|_| place(along(), along())).collect()
            }
            Self::Listed(ref positions) => {
                size("nodes", positions.len(), MAX_NODES)?;
                positions.clone()
            }
        };
        apart(&positions)?;
        Ok(positions)
    }
}

fn size(parameter: &'static str, value: usize, most: usize) -> Result<(), MeshError> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    out_of_range(parameter, value, format!("between 1 and {most}"))
}

/// Checks that coordinates are finite and no two nodes have the same position.
pub(crate) fn apart(positions: &[Position]) -> Result<(), MeshError> {
    let mut taken = HashMap::new();
    for (second, place) in positions.iter().enumerate() {
        for (parameter, value) in [("x_m", place.x_m), ("y_m", place.y_m)] {
            if !value.is_finite() {
                return out_of_range(parameter, value, "finite");
            }
        }
        // Adding zero turns -0 into 0.
        let key = ((place.x_m + 0.0).to_bits(), (place.y_m + 0.0).to_bits());
        if let Some(first) = taken.insert(key, second) {
            return Err(MeshError::SamePlace { first, second, x_m: place.x_m, y_m: place.y_m });
        }
    }
    Ok(())
}

/// Reads a comma-separated file of positions: first line `node,x_m,y_m`, then one line per node in order from 0, in
/// metres.
///
/// # Errors
/// If the first line differs, a line does not have this form, nodes are out of order or more than [`MAX_NODES`], or
/// there are none.
pub fn parse_positions(text: &str) -> Result<Vec<Position>, MeshError> {
    let refuse = |line: usize, problem: String| MeshError::Positions { line, problem };
    let mut lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty());
    if lines.next().is_none_or(|(_, header)| header.replace(' ', "") != "node,x_m,y_m") {
        return Err(refuse(1, "expected the columns node,x_m,y_m".to_owned()));
    }
    let mut positions = Vec::new();
    for (line, text) in lines {
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        let number = |text: &str| text.parse().ok().filter(|x: &f64| x.is_finite());
        let position = match fields[..] {
            [node, x, y] if node.parse() == Ok(positions.len()) => {
                number(x).zip(number(y)).map(|(x_m, y_m)| Position { x_m, y_m })
            }
            _ => None,
        };
        let expected =
            format!("expected node {} and its place in metres, such as {0},200,0", positions.len());
        positions.push(position.ok_or_else(|| refuse(line, expected))?);
        if positions.len() > MAX_NODES {
            return Err(refuse(line, format!("more than {MAX_NODES} nodes")));
        }
    }
    if positions.is_empty() {
        return Err(refuse(2, "expected node 0 and its place in metres, such as 0,200,0".to_owned()));
    }
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossfade_core::RunSeed;

    fn positions(topology: &Topology) -> Result<Vec<Position>, String> {
        let mut stream = RunSeed { seed: 1, run: 0 }.stream("mac.topology");
        topology.positions(&mut stream).map_err(|error| error.to_string())
    }

    #[test]
    fn nodes_stand_where_the_names_say() {
        let chain = positions(&Topology::Chain { hops: 3, spacing_m: 200.0 }).unwrap();
        assert_eq!(chain.iter().map(|p| p.x_m).collect::<Vec<_>>(), [0.0, 200.0, 400.0, 600.0]);
        let grid = positions(&Topology::Grid { rows: 2, columns: 3, spacing_m: 10.0 }).unwrap();
        assert_eq!((grid.len(), grid[4]), (6, Position { x_m: 10.0, y_m: 10.0 }));
        let star = positions(&Topology::Star { stations: 7, spacing_m: 50.0 }).unwrap();
        assert!(star[1..].iter().all(|p| (p.distance_m(star[0]) - 50.0).abs() < 1e-9));
        let random = positions(&Topology::Random { nodes: 25, spacing_m: 10.0 }).unwrap();
        assert!(random.iter().all(|p| (0.0..50.0).contains(&p.x_m) && (0.0..50.0).contains(&p.y_m)));
    }

    #[test]
    fn what_is_no_arrangement_is_refused() {
        let error = |topology| positions(&topology).unwrap_err();
        let chain = |hops, spacing_m| Topology::Chain { hops, spacing_m };
        assert_eq!(error(chain(0, 200.0)), "hops = 0: must be between 1 and 1023");
        assert_eq!(error(chain(4, 0.0)), "spacing = 0: must be above 0");
        assert_eq!(error(chain(4, f64::NAN)), "spacing = NaN: must be above 0");
        assert_eq!(
            error(Topology::Grid { rows: 1024, columns: 2, spacing_m: 1.0 }),
            "columns = 2: must be between 1 and 1"
        );
        assert_eq!(error(Topology::Listed(Vec::new())), "nodes = 0: must be between 1 and 1024");
        let twice = vec![Position { x_m: 0.0, y_m: 5.0 }, Position { x_m: -0.0, y_m: 5.0 }];
        assert_eq!(
            error(Topology::Listed(twice)),
            "nodes 0 and 1 are both at (-0, 5) m: every node must have a place of its own"
        );
    }

    #[test]
    fn positions_are_read() {
        let text = "node, x_m, y_m\n0, 0, 0\n\n1,200,-3.5\n";
        assert_eq!(parse_positions(text).unwrap()[1], Position { x_m: 200.0, y_m: -3.5 });
        let error = |text: &str| parse_positions(text).unwrap_err().to_string();
        assert_eq!(error(""), "line 1: expected the columns node,x_m,y_m");
        for text in ["node,x_m,y_m\n1,0,0", "node,x_m,y_m\n0,zero,0", "node,x_m,y_m\n0,0", "node,x_m,y_m\n"] {
            assert_eq!(error(text), "line 2: expected node 0 and its place in metres, such as 0,200,0");
        }
    }
}
