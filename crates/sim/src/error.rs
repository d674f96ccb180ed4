//! Errors of simulations: a file of its own, since networks and engines both return them.

use thiserror::Error;

/// Error of a run that was cancelled before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Reason for which a simulation has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimulationError {
    /// The simulation was cancelled before its end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The network is invalid.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// Error of an invalid network, in one line: what was given, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NetworkError(pub(crate) String);
