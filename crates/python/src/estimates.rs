//! Means over the runs of many points at once: what `summarise` does for a plan, on the arrays of a results
//! file.

use crossfade_core::{Estimate, Method};
use crossfade_scenario::StopRule;
use numpy::ndarray::{Array1, Array2, ArrayView2, s};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

type Arrays<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<bool>>,
);

/// Mean and half-width of the 95 % interval of each column of each group of rows, number of runs of each group
/// and whether they reach `precision`: that of the plan, and the column of the metric that it is about.
#[pyfunction]
#[pyo3(signature = (values, starts, precision = None))]
pub(crate) fn estimates<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    starts: PyReadonlyArray1<'py, i64>,
    precision: Option<(f64, usize)>,
) -> PyResult<Arrays<'py>> {
    let (values, starts) = (values.as_array(), starts.as_array());
    let ends = starts.iter().skip(1).copied().chain([values.nrows() as i64]);
    let groups: Vec<_> = starts.iter().zip(ends).map(|(&start, end)| start as usize..end as usize).collect();
    if groups.iter().any(|group| group.start > group.end || group.end > values.nrows()) {
        return Err(PyIndexError::new_err("starts: must rise, and end within the rows"));
    }
    if precision.is_some_and(|(_, column)| column >= values.ncols()) {
        return Err(PyIndexError::new_err("precision: there is no such column"));
    }
    let (means, ci95, runs, precise) = py.detach(|| {
        let mut means = Array2::from_elem((groups.len(), values.ncols()), f64::NAN);
        let mut ci95 = means.clone();
        let mut runs = Array1::zeros(groups.len());
        let mut precise = Array1::from_elem(groups.len(), true);
        for (index, group) in groups.into_iter().enumerate() {
            let rows = values.slice(s![group, ..]);
            let (count, is_precise) = runs_that_count(rows, precision);
            let rows = rows.slice(s![..count, ..]);
            (runs[index], precise[index]) = (count as i64, is_precise);
            let mut defined = Vec::with_capacity(rows.nrows());
            for (metric, column) in rows.columns().into_iter().enumerate() {
                defined.clear();
                defined.extend(column.iter().copied().filter(|value| !value.is_nan()));
                if let Some(estimate) = Estimate::from_runs(&defined, Method::Simulation) {
                    means[[index, metric]] = estimate.value;
                    ci95[[index, metric]] = estimate.ci95.unwrap_or(f64::NAN);
                }
            }
        }
        (means, ci95, runs, precise)
    });
    Ok((means.into_pyarray(py), ci95.into_pyarray(py), runs.into_pyarray(py), precise.into_pyarray(py)))
}

/// How many of a point's first runs its values are means of, and whether they reach the precision.
fn runs_that_count(rows: ArrayView2<'_, f64>, precision: Option<(f64, usize)>) -> (usize, bool) {
    let Some((relative, column)) = precision else { return (rows.nrows(), true) };
    let stop = StopRule::Precision { relative, max_runs: rows.nrows() as u64 };
    let values = rows.column(column).to_vec();
    let count = stop.runs_that_count(values.iter().copied());
    (count, stop.is_met(&values[..count]))
}
