//! Rows of results as Python tuples, in the form of `crossfade.results.rows.Row`.

use crossfade_experiment::{MetricNames, NameSets, Row, RowMetrics};
use crossfade_scenario::Method;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::collections::HashMap;
use std::sync::Arc;

/// A row as a tuple: key, point, method, seed, run, names, values followed by distributions, failure, seconds.
type PackedRow<'py> =
    (String, String, &'static str, u64, u64, Bound<'py, PyString>, Bound<'py, PyBytes>, Option<String>, f64);

/// Converts rows into tuples; rows with the same names share one Python string of names.
#[derive(Default)]
pub(crate) struct Packer {
    /// Strings of names by the address of the names, which are kept so that the address stays valid.
    texts: HashMap<usize, (Arc<MetricNames>, Py<PyString>)>,
}

impl Packer {
    pub(crate) fn pack<'py>(&mut self, py: Python<'py>, row: Row) -> PackedRow<'py> {
        let names = row.metrics.names();
        let (_, text) = self
            .texts
            .entry(Arc::as_ptr(names).addr())
            .or_insert_with(|| (Arc::clone(names), PyString::new(py, names.joined()).unbind()));
        let names = text.bind(py).clone();
        let values = row.metrics.values().iter().flat_map(|value| value.to_le_bytes());
        let bytes: Vec<u8> = values.chain(row.metrics.distributions().iter().copied()).collect();
        let values = PyBytes::new(py, &bytes);
        (row.key, row.point, row.method.name(), row.seed, row.run, names, values, row.failure, row.seconds)
    }
}

/// A row as Python passes it, in the order of [`PackedRow`].
#[derive(FromPyObject)]
pub(crate) struct GivenRow<'py>(
    String,
    String,
    String,
    u64,
    u64,
    Bound<'py, PyString>,
    Bound<'py, PyBytes>,
    Option<String>,
    f64,
);

/// Converts rows that Python kept.
///
/// # Errors
/// `ValueError` for an unknown method, or for values that do not fit their names.
pub(crate) fn unpack(rows: Vec<GivenRow<'_>>) -> PyResult<Vec<Row>> {
    let mut sets = NameSets::default();
    rows.into_iter().map(|row| row.unpack(&mut sets)).collect()
}

impl GivenRow<'_> {
    /// Converts one row, like [`unpack`] for many; `sets` shares names among rows.
    pub(crate) fn unpack(self, sets: &mut NameSets) -> PyResult<Row> {
        let Self(key, point, method, seed, run, names, values, failure, seconds) = self;
        let method = method_of(&method)?;
        let names = names.to_str()?;
        let count = if names.is_empty() { 0 } else { names.split('\n').count() };
        let parts = values.as_bytes().split_at_checked(8 * count);
        let metrics = parts.and_then(|(values, distributions)| {
            let numbers = values.chunks_exact(8);
            let numbers = numbers.map(|chunk| f64::from_le_bytes(chunk.try_into().unwrap_or_default()));
            RowMetrics::from_parts(names, numbers.collect(), distributions.to_vec(), sets)
        });
        let metrics = metrics
            .ok_or_else(|| PyValueError::new_err(format!("row {key}: values do not fit their names")))?;
        Ok(Row { key, point, method, seed, run, metrics, failure, seconds })
    }
}

/// The method called `name` in scenarios.
pub(crate) fn method_of(name: &str) -> PyResult<Method> {
    serde_json::from_value(name.into()).map_err(|_| PyValueError::new_err(format!("{name}: no such method")))
}
