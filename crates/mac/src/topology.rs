//! Positions of nodes.

use crate::error::{MeshError, out_of_range, positive};
use crossfade_core::Stream;
use rand::RngExt;
use std::collections::HashMap;
use std::f64::consts::TAU;

/// More nodes than this are refused: routes need memory for each pair.
pub const MAX_NODES: usize = 1024;

/// A place in the plane, in metres.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Position {
    /// Distance to the east, in metres.
    pub x_m: f64,
    /// Distance to the north, in metres.
    pub y_m: f64,
}

impl Position {
    /// The distance in metres.
    pub fn distance_m(self, other: Self) -> f64 {
        libm::hypot(self.x_m - other.x_m, self.y_m - other.y_m)
    }
}

/// Whether a distance is within a range, up to rounding: 3 x 0.1 m is within 0.3 m.
pub(crate) fn within(distance_m: f64, range_m: f64) -> bool {
    distance_m <= range_m * (1.0 + 1e-12)
}

/// An arrangement of nodes. Node 0 is the first of a chain, a corner of a grid, the centre of a star.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// Nodes 0 to `hops` on a line, `spacing_m` apart.
    Chain {
        /// Number of hops, one less than nodes.
        hops: usize,
        /// Distance between neighbours, in metres.
        spacing_m: f64,
    },
    /// `rows` lines of `columns` nodes, numbered along the lines.
    Grid {
        /// Number of lines.
        rows: usize,
        /// Number of nodes in each line.
        columns: usize,
        /// Distance between neighbours, in metres.
        spacing_m: f64,
    },
    /// Nodes 1 to `stations` evenly on a circle around node 0.
    Star {
        /// Number of nodes on the circle.
        stations: usize,
        /// Radius of the circle in metres.
        spacing_m: f64,
    },
    /// Nodes anywhere, uniformly, in a square with `spacing_m` squared of room for each.
    Random {
        /// Number of nodes.
        nodes: usize,
        /// The side of the square over the square root of their number.
        spacing_m: f64,
    },
    /// Positions as listed.
    Listed(Vec<Position>),
}

impl Topology {
    /// The place of every node. `stream` places those of a random topology; no other draws from it.
    ///
    /// # Errors
    /// A size of zero or more than [`MAX_NODES`] nodes; a spacing that is not positive; places that are not finite, or
    /// two nodes at one.
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

/// Refuses two nodes at one place.
pub(crate) fn apart(positions: &[Position]) -> Result<(), MeshError> {
    let mut taken = HashMap::new();
    for (second, place) in positions.iter().enumerate() {
        for (parameter, value) in [("x_m", place.x_m), ("y_m", place.y_m)] {
            if !value.is_finite() {
                return out_of_range(parameter, value, "finite");
            }
        }
        // Adding zero makes one zero of the two.
        let key = ((place.x_m + 0.0).to_bits(), (place.y_m + 0.0).to_bits());
        if let Some(first) = taken.insert(key, second) {
            return Err(MeshError::SamePlace { first, second, x_m: place.x_m, y_m: place.y_m });
        }
    }
    Ok(())
}

/// Reads a file of positions: comma-separated, the first line `node,x_m,y_m`, nodes numbered from 0 in order, metres.
///
/// # Errors
/// Another first line, a line that is not of this form, nodes out of order, or none.
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
