//! Errors in the configuration of meshes and Wi-Fi networks.

use thiserror::Error;

/// Error in a configuration of a mesh or Wi-Fi network. Its text is one line: parameter, given value, allowed values.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MeshError {
    /// A parameter is outside its range.
    #[error("{parameter} = {value}: must be {allowed}")]
    OutOfRange {
        /// Name of the parameter as in scenarios: `hops`, `antennas`, `interference`, ...
        parameter: &'static str,
        /// Given value.
        value: String,
        /// Allowed values, which follow "must be" in the text.
        allowed: String,
    },
    /// Two nodes have the same position.
    #[error(
        "nodes {first} and {second} are both at ({x_m}, {y_m}) m: every node must have a place of its own"
    )]
    SamePlace {
        /// Number of the first node.
        first: usize,
        /// Number of the second node.
        second: usize,
        /// East coordinate of both nodes in metres.
        x_m: f64,
        /// North coordinate of both nodes in metres.
        y_m: f64,
    },
    /// No chain of nodes within range connects two nodes.
    #[error("no route from node {from} to node {to}: no chain of nodes within range joins them")]
    NoRoute {
        /// Number of the first node of the missing route.
        from: usize,
        /// Number of its last node.
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
        /// Range of reception in metres.
        range_m: f64,
    },
    /// Two static routes have different next hops from one node to one destination, or a route visits a node twice.
    #[error(
        "route {route}: from node {from} to node {to} the next node is {next}, but an earlier route says {earlier}"
    )]
    ContradictingRoutes {
        /// Index of the later route, from 0.
        route: usize,
        /// Node from which the next hops differ.
        from: usize,
        /// Destination.
        to: usize,
        /// Next hop of the later route.
        next: usize,
        /// Next hop of an earlier route; `from` if the route itself returns to this node.
        earlier: usize,
    },
    /// A positions file cannot be read.
    #[error("line {line}: {problem}")]
    Positions {
        /// Line of the file, counted from 1.
        line: usize,
        /// What the line should be.
        problem: String,
    },
}

/// Error for a `parameter` whose `value` is outside the `allowed` range.
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
