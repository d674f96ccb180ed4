//! Errors of the engine as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(crossfade._crossfade, ScenarioError, PyException, "A scenario that is wrong; one line.");
create_exception!(
    crossfade._crossfade,
    GoldenError,
    PyException,
    "Golden traces that can't be read; one line."
);

create_exception!(
    crossfade._crossfade,
    TraceError,
    PyException,
    "A trace that can't be read, fitted or converted; one line."
);

create_exception!(
    crossfade._crossfade,
    ImpossibleResultError,
    PyException,
    "A run gave what cannot be: a bug; one line."
);

/// An impossible value of a run, which is a bug of the engine, as a Python exception.
pub(crate) fn impossible(error: crossfade_experiment::ImpossibleResult) -> PyErr {
    ImpossibleResultError::new_err(error.to_string())
}

/// An error of a scenario as a Python `ScenarioError`.
pub(crate) fn scenario_error(error: impl std::fmt::Display) -> PyErr {
    ScenarioError::new_err(error.to_string())
}
