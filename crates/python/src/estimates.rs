//! Means over the runs of many points at once: `summarise` for the arrays of a results file.

use crossfade_core::{DelayHistogram, student_t_quantile};
use crossfade_experiment::{Runs, distribution, estimate};
use crossfade_scenario::StopRule;
use numpy::ndarray::{Array1, Array2, ArrayView2, s};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;

type Arrays<'py> = (
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<bool>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<bool>>,
);

/// Runs of one group of rows: one point by one method.
struct Group<'a> {
    rows: ArrayView2<'a, f64>,
    column_of: &'a HashMap<&'a str, usize>,
    distributions: &'a [&'a [u8]],
}

impl Runs for Group<'_> {
    fn column(&self, name: &str) -> Vec<f64> {
        let column = self.column_of.get(name).map(|&column| self.rows.column(column).to_vec());
        column.unwrap_or_else(|| vec![f64::NAN; self.rows.nrows()])
    }

    fn distributions(&self, name: &str) -> Vec<Option<DelayHistogram>> {
        self.distributions.iter().map(|packed| distribution(packed, name)).collect()
    }
}

/// Student's t with `degrees` degrees of freedom whose absolute value is exceeded with probability 1 - `coverage`.
#[pyfunction]
#[pyo3(signature = (degrees, coverage = 0.95))]
pub(crate) fn student_quantile(degrees: u32, coverage: f64) -> PyResult<f64> {
    if degrees == 0 || !(0.0..1.0).contains(&coverage) {
        return Err(PyValueError::new_err("needs a degree of freedom, and a coverage below 1"));
    }
    Ok(student_t_quantile(f64::midpoint(1.0, coverage), f64::from(degrees)))
}

/// Estimates of the metrics `names[columns]` of each group of rows: mean, half-width of the 95 % Student interval, lower
/// and upper end of the interval that also covers rare events, number of runs in which the metric is defined, and true
/// if the mean is only a lower bound. For each group also its number of runs, and true if they satisfy the stop rule,
/// which is `precision` or `count`, with the column of its metric. `distributions` are the packed distributions of each
/// row; `ranges` are the bounds of the mean of each metric of each group ([`crossfade_experiment::Support`]), by default
/// 0 and infinity.
#[pyfunction]
#[pyo3(signature = (values, starts, names, columns, precision = None, count = None, distributions = None, ranges = None))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn estimates<'py>(
    py: Python<'py>,
    values: PyReadonlyArray2<'py, f64>,
    starts: PyReadonlyArray1<'py, i64>,
    names: Vec<String>,
    columns: Vec<usize>,
    precision: Option<(f64, usize)>,
    count: Option<(u64, usize)>,
    distributions: Option<Vec<Bound<'py, PyBytes>>>,
    ranges: Option<PyReadonlyArray3<'py, f64>>,
) -> PyResult<Arrays<'py>> {
    let (values, starts) = (values.as_array(), starts.as_array());
    let ends = starts.iter().skip(1).copied().chain([values.nrows() as i64]);
    let groups: Vec<_> = starts.iter().zip(ends).map(|(&start, end)| start as usize..end as usize).collect();
    if groups.iter().any(|group| group.start > group.end || group.end > values.nrows()) {
        return Err(PyIndexError::new_err("starts: must rise, and end within the rows"));
    }
    if names.len() != values.ncols() || columns.iter().any(|&column| column >= values.ncols()) {
        return Err(PyIndexError::new_err("names, columns: there is no such column"));
    }
    if distributions.as_ref().is_some_and(|packed| packed.len() != values.nrows()) {
        return Err(PyIndexError::new_err("distributions: must be one for each row"));
    }
    let ranges = ranges.as_ref().map(PyReadonlyArray3::as_array);
    if ranges.is_some_and(|ranges| ranges.dim() != (groups.len(), columns.len(), 2)) {
        return Err(PyIndexError::new_err("ranges: must be two ends for each group and metric"));
    }
    let distributions: Vec<&[u8]> = match &distributions {
        Some(packed) => packed.iter().map(|packed| packed.as_bytes()).collect(),
        None => vec![&[]; values.nrows()],
    };
    let metric = String::new();
    let (rule, column) = match (precision, count) {
        (Some((relative, column)), _) => {
            (Some(StopRule::Precision { metric, relative, max_runs: u64::MAX }), column)
        }
        (None, Some((count, column))) => {
            (Some(StopRule::Count { metric, count, max_runs: u64::MAX }), column)
        }
        (None, None) => (None, 0),
    };
    if rule.is_some() && column >= values.ncols() {
        return Err(PyIndexError::new_err("the stop rule: there is no such column"));
    }
    let (means, ci95, low, high, defined, at_least, runs, precise) = py.detach(|| {
        let nothing = || Array2::from_elem((groups.len(), columns.len()), f64::NAN);
        let [mut means, mut ci95, mut low, mut high] = [(); 4].map(|()| nothing());
        let mut defined = Array2::zeros((groups.len(), columns.len()));
        let mut at_least = Array2::from_elem((groups.len(), columns.len()), false);
        let mut runs = Array1::zeros(groups.len());
        let mut precise = Array1::from_elem(groups.len(), true);
        let column_of: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
        for (index, group) in groups.into_iter().enumerate() {
            let rows = values.slice(s![group.clone(), ..]);
            let (count, is_precise) = runs_that_count(rows, rule.as_ref(), column);
            let rows = rows.slice(s![..count, ..]);
            (runs[index], precise[index]) = (count as i64, is_precise);
            let distributions = &distributions[group][..count];
            let group = Group { rows, column_of: &column_of, distributions };
            for (metric, &column) in columns.iter().enumerate() {
                let range =
                    ranges.map_or([0.0, f64::INFINITY], |ends| [0, 1].map(|end| ends[[index, metric, end]]));
                if let Some(found) = estimate(&names[column], &group, range) {
                    means[[index, metric]] = found.value;
                    ci95[[index, metric]] = found.ci95.unwrap_or(f64::NAN);
                    low[[index, metric]] = found.low.unwrap_or(f64::NAN);
                    high[[index, metric]] = found.high.unwrap_or(f64::NAN);
                    defined[[index, metric]] = found.n as f64;
                    at_least[[index, metric]] = found.at_least;
                }
            }
        }
        (means, ci95, low, high, defined, at_least, runs, precise)
    });
    let [means, ci95, low, high, defined] =
        [means, ci95, low, high, defined].map(|array| array.into_pyarray(py));
    let (runs, precise) = (runs.into_pyarray(py), precise.into_pyarray(py));
    Ok((means, ci95, low, high, defined, at_least.into_pyarray(py), runs, precise))
}

/// Number of a point's first runs that count for its means, and true if they satisfy the stop rule.
fn runs_that_count(rows: ArrayView2<'_, f64>, rule: Option<&StopRule>, column: usize) -> (usize, bool) {
    let Some(rule) = rule else { return (rows.nrows(), true) };
    let values = rows.column(column).to_vec();
    let count = rule.runs_that_count(values.iter().copied());
    (count, rule.is_met(&values[..count]))
}
