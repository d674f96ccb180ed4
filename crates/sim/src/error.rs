//! Why a simulation has no result: a file of its own, since networks and engines both return it.

use thiserror::Error;

/// The run was cancelled before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Why a simulation has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimulationError {
    /// The simulation was cancelled before its end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The network is not a valid one.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// A network that cannot be. One line: what was given, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct NetworkError(pub(crate) String);
