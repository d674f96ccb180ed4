//! Python class `Known`: index of the known rows of a plan.

use crate::error::scenario_error;
use crate::rows::{GivenRow, method_of};
use crossfade_experiment::{Experiment, Found, Missing, NameSets, PointNumbers, Schedule, Shard};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Arc;

/// Missing runs in Python's types: point, method, first and last run, and number of runs.
type PlainMissing = (usize, &'static str, u64, u64, u64);

/// Index of the finished rows of a plan without their content, and results from rows that are passed in.
#[pyclass(module = "crossfade._crossfade")]
pub(crate) struct Known {
    experiment: Arc<Experiment>,
    numbers: PointNumbers,
    known: Arc<crossfade_experiment::Known>,
    sets: NameSets,
}

impl Known {
    /// Index without rows.
    pub(crate) fn none(experiment: Arc<Experiment>) -> Self {
        let numbers = PointNumbers::of(&experiment);
        Self { experiment, numbers, known: Arc::default(), sets: NameSets::default() }
    }

    /// Snapshot of the index, without rows that are added later.
    pub(crate) fn now(&self) -> Arc<crossfade_experiment::Known> {
        Arc::clone(&self.known)
    }
}

#[pymethods]
impl Known {
    fn __len__(&self) -> usize {
        self.known.len()
    }

    /// Adds rows to the index; returns the number of the point of each, `None` for a row that the plan does not need.
    fn add(&mut self, rows: Vec<GivenRow<'_>>) -> Vec<Option<u32>> {
        let add = |row: GivenRow<'_>| {
            // A damaged row of a cache is not known.
            let row = row.unpack(&mut self.sets).ok()?;
            let point = self.numbers.get(&row.point)?;
            Arc::make_mut(&mut self.known).add(&self.experiment, point as usize, &row).then_some(point)
        };
        rows.into_iter().map(add).collect()
    }

    /// Content of the index for another process: point, method, run, and value of the stop rule's metric.
    fn entries(&self) -> Vec<(u32, &'static str, u64, f64)> {
        self.known.entries().map(|(point, method, run, value)| (point, method.name(), run, value)).collect()
    }

    /// Adds entries that another index gave by `entries`.
    fn put(&mut self, entries: Vec<(u32, String, u64, f64)>) -> PyResult<()> {
        let known = Arc::make_mut(&mut self.known);
        for (point, method, run, value) in entries {
            known.put((point, method_of(&method)?, run, value));
        }
        Ok(())
    }

    /// Number of known rows of each point of the plan.
    fn counts(&self, py: Python<'_>) -> Vec<usize> {
        let of_point = |&method| move |point| self.known.runs(point, method).count();
        let count = |index: usize| {
            let point = self.numbers.get(&self.experiment.points.id(index))? as usize;
            Some(self.experiment.methods.iter().map(|method| of_point(method)(point)).sum())
        };
        py.detach(|| {
            (0..self.experiment.points.len()).map(|index| count(index).unwrap_or_default()).collect()
        })
    }

    /// Keys of the known rows of these points.
    fn keys(&self, points: Vec<usize>) -> Vec<String> {
        let there = points.into_iter().filter(|&index| index < self.experiment.points.len());
        let keys = there.flat_map(|index| {
            let point = self.numbers.get(&self.experiment.points.id(index)).unwrap_or_default() as usize;
            self.experiment.methods.iter().flat_map(move |&method| {
                self.known.runs(point, method).map(move |run| self.experiment.row_key(point, method, run))
            })
        });
        keys.collect()
    }

    /// Missing runs of a shard that are needed whatever other runs give (point, method, first and last run, number of
    /// runs), and the number of runs that are known.
    fn missing(&self, py: Python<'_>, shard: (u64, u64)) -> PyResult<(Vec<PlainMissing>, u64)> {
        let shard = Shard::new(shard.0, shard.1).map_err(scenario_error)?;
        let (missing, there) =
            py.detach(|| Schedule::after(&*self.experiment, self.now(), 1, shard).missing());
        let plain = |of: Missing| (of.point, of.method.name(), of.first, of.last, of.count);
        Ok((missing.into_iter().map(plain).collect(), there))
    }

    /// Results of these points by each method as JSON text; `parts` is an iterable of lists of their rows, in any
    /// order.
    fn results(&self, py: Python<'_>, points: Vec<usize>, parts: &Bound<'_, PyAny>) -> PyResult<String> {
        let (mut rows, mut sets) = (Vec::new(), NameSets::default());
        for part in parts.try_iter()? {
            for row in part?.extract::<Vec<GivenRow<'_>>>()? {
                rows.push(row.unpack(&mut sets)?);
            }
        }
        py.detach(|| {
            let found = Found::new(&rows);
            let there = points.into_iter().filter(|&point| point < self.experiment.points.len());
            let results = there.flat_map(|point| found.results(&self.experiment, point)).collect::<Vec<_>>();
            serde_json::to_string(&results).map_err(|error| PyValueError::new_err(error.to_string()))
        })
    }
}
