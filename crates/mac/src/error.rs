//! Errors of a mesh.

use thiserror::Error;

/// A mesh that cannot be. The message is one line: what was given, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MeshError {
    /// A number outside its range.
    #[error("{parameter} = {value}: must be {allowed}")]
    OutOfRange {
        /// The parameter, named as everywhere: `hops`, `antennas`, `interference`, ...
        parameter: &'static str,
        /// Given value.
        value: String,
        /// Allowed values, to follow "must be".
        allowed: String,
    },
    /// Two nodes at one place.
    #[error(
        "nodes {first} and {second} are both at ({x_m}, {y_m}) m: every node must have a place of its own"
    )]
    SamePlace {
        /// The one.
        first: usize,
        /// The second of the nodes.
        second: usize,
        /// Coordinate of the place that two nodes share, in metres.
        x_m: f64,
        /// Coordinate of the place that two nodes share, in metres.
        y_m: f64,
    },
    /// No chain of nodes within range joins two nodes.
    #[error("no route from node {from} to node {to}: no chain of nodes within range joins them")]
    NoRoute {
        /// First node.
        from: usize,
        /// Last node.
        to: usize,
    },
    /// A hop of a static route is longer than the range.
    #[error("route {route}: nodes {from} and {to} are {distance_m} m apart, beyond range = {range_m} m")]
    HopTooLong {
        /// Index of the route, from 0.
        route: usize,
        /// First node of the hop.
        from: usize,
        /// Last node of the hop.
        to: usize,
        /// Length of the hop in metres.
        distance_m: f64,
        /// The longest allowed.
        range_m: f64,
    },
    /// Two static routes disagree.
    #[error(
        "route {route}: from node {from} to node {to} the next node is {next}, but an earlier route says {earlier}"
    )]
    ContradictingRoutes {
        /// Index of the route, from 0.
        route: usize,
        /// First node of the missing route.
        from: usize,
        /// to there
        to: usize,
        /// this route goes over this node,
        next: usize,
        /// and an earlier one over that.
        earlier: usize,
    },
    /// A positions file that cannot be read.
    #[error("line {line}: {problem}")]
    Positions {
        /// The line, from 1.
        line: usize,
        /// Problem of the entry.
        problem: String,
    },
}

/// An error of `parameter`.
pub(crate) fn out_of_range<T>(
    parameter: &'static str,
    value: impl std::fmt::Display,
    allowed: impl Into<String>,
) -> Result<T, MeshError> {
    Err(MeshError::OutOfRange { parameter, value: value.to_string(), allowed: allowed.into() })
}

/// Error for a value that is not positive and finite.
pub(crate) fn positive(parameter: &'static str, value: f64) -> Result<(), MeshError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { out_of_range(parameter, value, "above 0") }
}
