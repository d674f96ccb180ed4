//! The class `Plan`.

use crate::congestion::{Failure, PythonControl};
use crate::error::scenario_error;
use crate::interrupt::interruptible;
use crate::rows::{GivenRow, Packer, method_of, unpack};
use crossfade_experiment::{Experiment, IpVersion, Shard, Task};
use crossfade_scenario::Overrides;
use crossfade_transport::TcpConfig;
use crossfade_transport::congestion::CongestionControl;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread::available_parallelism;

/// What a scenario asks to be run.
#[pyclass(frozen, module = "crossfade._crossfade")]
pub(crate) struct Plan(Arc<Experiment>);

/// A run to be made: the number of its point, its method and its number.
type GivenTask = (usize, String, u64);

#[pymethods]
impl Plan {
    /// Reads a scenario; `overrides` is JSON. `read` gives the text of a file that the scenario names, or
    /// raises `ScenarioError`.
    #[staticmethod]
    #[pyo3(signature = (text, name, overrides, read = None))]
    fn load(
        py: Python<'_>,
        text: &str,
        name: &str,
        overrides: &str,
        read: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let overrides: Overrides = from_json("overrides", overrides)?;
        let plan = match read {
            None => py.detach(|| Experiment::load(text, name, &overrides)),
            Some(read) => {
                let read = |file: &str| {
                    Python::attach(|py| {
                        let text = read.call1(py, (file,)).and_then(|text| text.extract::<String>(py));
                        text.map_err(|error| error.value(py).to_string())
                    })
                };
                py.detach(|| Experiment::load_with_files(text, name, &overrides, &read))
            }
        };
        plan.map(|plan| Self(Arc::new(plan))).map_err(scenario_error)
    }

    /// The plan as JSON text.
    fn describe(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.describe().to_string())
    }

    /// The keys of all rows that may be needed.
    fn keys(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.keys())
    }

    /// Makes the rows of a shard that are not known.
    fn execute(
        &self,
        py: Python<'_>,
        known: Vec<GivenRow<'_>>,
        jobs: Option<usize>,
        shard: (u64, u64),
        on_rows: Py<PyAny>,
        on_progress: Py<PyAny>,
    ) -> PyResult<bool> {
        let known = unpack(known)?;
        let shard = Shard::new(shard.0, shard.1).map_err(scenario_error)?;
        let jobs = jobs.or_else(|| available_parallelism().ok().map(NonZeroUsize::get)).unwrap_or(1);
        let cancel = AtomicBool::new(false);
        let (sender, finished) = channel();
        let work = || {
            crossfade_experiment::execute(&self.0, known, jobs, shard, &cancel, &mut |rows, progress| {
                // The receiver outlives the work.
                let _ = sender.send((rows, progress));
            })
        };
        let mut packer = Packer::default();
        let hand_over = move |py: Python<'_>| {
            let mut batch = Vec::new();
            let mut last = None;
            for (rows, progress) in finished.try_iter() {
                batch.extend(rows.into_iter().map(|row| packer.pack(py, row)));
                last = Some(progress);
            }
            if !batch.is_empty() {
                on_rows.call1(py, (batch,))?;
            }
            if let Some(progress) = last {
                on_progress.call1(py, (progress.done, progress.expected))?;
            }
            Ok(())
        };
        match interruptible(py, &cancel, work, hand_over) {
            (complete, None) => Ok(complete),
            (_, Some(error)) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(false),
            (_, Some(error)) => Err(error),
        }
    }

    /// Makes the rows of tasks, one after the other.
    fn make<'py>(&self, py: Python<'py>, tasks: Vec<GivenTask>) -> PyResult<Bound<'py, PyAny>> {
        let task = |(point, method, run): GivenTask| {
            let method = method_of(&method)?;
            let found = self.0.points.get(point);
            let found =
                found.ok_or_else(|| PyValueError::new_err(format!("point {point}: not in the plan")))?;
            Ok(Task { point, method, run, key: self.0.row_key(found, method, run) })
        };
        let tasks = tasks.into_iter().map(task).collect::<PyResult<Vec<_>>>()?;
        let cancel = AtomicBool::new(false);
        let work = || crossfade_experiment::make(&self.0, &tasks, &cancel);
        match interruptible(py, &cancel, work, |_| Ok(())) {
            (_, Some(error)) => Err(error),
            (rows, None) => {
                let mut packer = Packer::default();
                let rows = rows.unwrap_or_default().into_iter().map(|row| packer.pack(py, row));
                rows.collect::<Vec<_>>().into_bound_py_any(py)
            }
        }
    }

    /// The results of rows, as JSON text.
    fn summarise(&self, py: Python<'_>, rows: Vec<GivenRow<'_>>) -> PyResult<String> {
        let rows = unpack(rows)?;
        py.detach(|| to_json(&crossfade_experiment::summarise(&self.0, &rows)))
    }

    /// The same from rows in groups: those of each point by each method, in the order of their runs.
    fn summarise_groups(&self, py: Python<'_>, rows: Vec<Vec<GivenRow<'_>>>) -> PyResult<String> {
        let rows = rows.into_iter().map(unpack).collect::<PyResult<Vec<_>>>()?;
        py.detach(|| {
            let results = crossfade_experiment::summarise_groups(&self.0, &rows).map_err(scenario_error)?;
            to_json(&results)
        })
    }

    /// The events of run 0 of each point, as CSV texts.
    fn events(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let cancel = AtomicBool::new(false);
        let work = || crossfade_experiment::events(&self.0, &cancel);
        match interruptible(py, &cancel, work, |_| Ok(())) {
            (_, Some(error)) => Err(error),
            (Ok(csv), None) => Ok(csv.unwrap_or_default()),
            (Err(error), None) => Err(scenario_error(error)),
        }
    }

    /// What happened inside links in run 0 of each point, as CSV texts.
    fn link_events(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let cancel = AtomicBool::new(false);
        let work = || crossfade_experiment::link_events(&self.0, &cancel);
        match interruptible(py, &cancel, work, |_| Ok(())) {
            (_, Some(error)) => Err(error),
            (Ok(csv), None) => Ok(csv.unwrap_or_default()),
            (Err(error), None) => Err(scenario_error(error)),
        }
    }

    /// How many exchanges of a mesh can be under way at one time at each point, as JSON text.
    fn reuse(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            crossfade_experiment::reuse(&self.0).map_err(scenario_error).and_then(|found| to_json(&found))
        })
    }

    /// What the senders' network interfaces saw in run 0 of the only point, as a pcap file.
    fn pcap<'py>(&self, py: Python<'py>, ipv6: bool) -> PyResult<Bound<'py, PyBytes>> {
        let cancel = AtomicBool::new(false);
        let ip = if ipv6 { IpVersion::V6 } else { IpVersion::V4 };
        let work = || crossfade_experiment::pcap(&self.0, ip, &cancel);
        match interruptible(py, &cancel, work, |_| Ok(())) {
            (_, Some(error)) => Err(error),
            (Ok(file), None) => Ok(PyBytes::new(py, &file.unwrap_or_default())),
            (Err(error), None) => Err(scenario_error(error)),
        }
    }

    /// What a radio would have heard of the mesh in run 0 of the only point, as a pcap file.
    fn air_pcap<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let cancel = AtomicBool::new(false);
        let work = || crossfade_experiment::air_pcap(&self.0, &cancel);
        match interruptible(py, &cancel, work, |_| Ok(())) {
            (_, Some(error)) => Err(error),
            (Ok(file), None) => Ok(PyBytes::new(py, &file.unwrap_or_default())),
            (Err(error), None) => Err(scenario_error(error)),
        }
    }

    /// The same with a Python object for a congestion control.
    fn events_with_congestion_control(&self, py: Python<'_>, control: Py<PyAny>) -> PyResult<String> {
        let failure = Failure::default();
        let kept = failure.clone();
        let make = move |tcp: &TcpConfig| -> Box<dyn CongestionControl> {
            let control = Python::attach(|py| control.clone_ref(py));
            Box::new(PythonControl::new(control, tcp.initial_window, tcp.initial_ssthresh, kept.clone()))
        };
        let work = || crossfade_experiment::events_with_congestion_control(&self.0, make, &failure.cancel);
        let (events, interrupt) = interruptible(py, &failure.cancel, work, |_| Ok(()));
        match failure.take().or(interrupt) {
            Some(error) => Err(error),
            None => events.map(Option::unwrap_or_default).map_err(scenario_error),
        }
    }
}

/// The work on a plan that something else than [`Plan::execute`] carries out: which runs come next, and
/// which rows count.
#[pyclass(module = "crossfade._crossfade")]
pub(crate) struct Schedule(crossfade_experiment::Schedule<Arc<Experiment>>);

#[pymethods]
impl Schedule {
    #[new]
    fn new(plan: &Plan, known: Vec<GivenRow<'_>>, jobs: usize, shard: (u64, u64)) -> PyResult<Self> {
        let shard = Shard::new(shard.0, shard.1).map_err(scenario_error)?;
        Ok(Self(crossfade_experiment::Schedule::new(Arc::clone(&plan.0), unpack(known)?, jobs, shard)))
    }

    /// The next runs to make, at most `most`.
    fn take(&mut self, most: usize) -> Vec<(usize, &'static str, u64)> {
        let tasks = std::iter::from_fn(|| self.0.take()).take(most);
        tasks.map(|task| (task.point, task.method.name(), task.run)).collect()
    }

    /// The rows that count now that these are there.
    fn finish<'py>(&mut self, py: Python<'py>, rows: Vec<GivenRow<'_>>) -> PyResult<Bound<'py, PyAny>> {
        let mut packer = Packer::default();
        let counting = unpack(rows)?.into_iter().flat_map(|row| self.0.finish(row));
        counting.map(|row| packer.pack(py, row)).collect::<Vec<_>>().into_bound_py_any(py)
    }

    /// How many runs were handed out and are not finished.
    fn under_way(&self) -> usize {
        self.0.under_way()
    }

    /// The runs at hand, and how many there will be.
    fn progress(&self) -> (u64, u64) {
        let progress = self.0.progress();
        (progress.done, progress.expected)
    }
}

fn from_json<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

pub(crate) fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}
