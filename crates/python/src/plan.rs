//! Python classes `Plan` and `Schedule`.

use crate::congestion::{Failure, PythonControl, says};
use crate::error::{impossible, scenario_error};
use crate::files::GivenFiles;
use crate::interrupt::interruptible;
use crate::known::Known;
use crate::rows::{GivenRow, Packer, method_of, unpack};
use crossfade_experiment::{
    CaptureConfig, ExecutionHandle, Experiment, IpVersion, Progress, Shard, Support, Task, results_of_groups,
};
use crossfade_scenario::{Overrides, ScenarioError};
use crossfade_transport::SenderConfig;
use crossfade_transport::congestion::CongestionControl;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::available_parallelism;

/// Points, methods and runs of a scenario, and their execution.
#[pyclass(frozen, module = "crossfade._crossfade")]
pub(crate) struct Plan {
    experiment: Arc<Experiment>,
    /// First exception of a congestion control in Python.
    controls: Failure,
}

/// Number of points whose results are made between two checks for Ctrl-C.
const POINTS_AT_A_TIME: usize = 64;
/// Greatest number of finished rows that wait for Python, which takes them all at once.
const RUNS_AT_A_TIME: usize = 20_000;

/// A run to be made, in Python's types: number of the point, method, and number of the run.
type GivenTask = (usize, String, u64);

impl Plan {
    #[cfg(all(target_os = "linux", feature = "live"))]
    pub(crate) fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Runs `work` as the function [`interruptible`] does, and returns an exception of a congestion control as an
    /// error.
    fn interruptible<T: Send>(
        &self,
        py: Python<'_>,
        cancel: &AtomicBool,
        work: impl FnOnce() -> T + Send,
        mut on_tick: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    ) -> (T, Option<PyErr>) {
        self.controls.forget();
        interruptible(py, cancel, work, |py| {
            let ticked = on_tick(py);
            if cancel.load(Ordering::Relaxed) {
                // A congestion control of the user may be in an endless loop.
                py.import("crossfade.files.controls")?.call_method0("interrupt")?;
            }
            self.controls.take().map_or(ticked, Err)
        })
    }

    /// Does `work`, which passes text or bytes to a Python function until the function fails.
    fn streamed(
        &self,
        py: Python<'_>,
        failure: &Failure,
        work: impl FnOnce() -> Result<Option<()>, ScenarioError> + Send,
    ) -> PyResult<()> {
        let (done, interrupt) = self.interruptible(py, &failure.cancel, work, |_| Ok(()));
        match failure.take().or(interrupt) {
            Some(error) => Err(error),
            None => done.map(drop).map_err(scenario_error),
        }
    }

    pub(crate) fn shared(&self) -> Arc<Experiment> {
        Arc::clone(&self.experiment)
    }
}

#[pymethods]
impl Plan {
    /// Reads a scenario; `overrides` is JSON text. `read` gives the text of a file that the scenario names, or raises
    /// `ScenarioError`. `control` makes a `crossfade.files.controls.PythonControl` from a file's name, a class in it
    /// and its text. `on_points` is called periodically with the number of points read and their total.
    #[staticmethod]
    #[pyo3(signature = (text, name, overrides, read = None, on_points = None, control = None))]
    fn load(
        py: Python<'_>,
        text: &str,
        name: &str,
        overrides: &str,
        read: Option<Py<PyAny>>,
        on_points: Option<Py<PyAny>>,
        control: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let overrides: Overrides = from_json("overrides", overrides)?;
        let files = GivenFiles::new(read, control);
        let goes_on = |done: usize, points: usize| {
            Python::attach(|py| {
                let told = on_points.as_ref().map_or(Ok(()), |tell| tell.call1(py, (done, points)).map(drop));
                py.check_signals().and(told).map_err(|error| files.keep(error)).is_ok()
            })
        };
        let plan = py.detach(|| Experiment::load_while(text, name, &overrides, &files, &goes_on));
        let (interrupt, controls) = files.into_parts();
        if let Some(error) = interrupt {
            return Err(error);
        }
        let plan = plan.map_err(scenario_error)?;
        Ok(Self { experiment: Arc::new(plan), controls })
    }

    /// Description of the plan as JSON text.
    fn describe(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| to_json(&self.experiment.describe()))
    }

    /// New index of known rows, without rows.
    fn known(&self, py: Python<'_>) -> Known {
        py.detach(|| Known::none(self.shared()))
    }

    /// Keys of all rows that the plan may need.
    fn keys(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.experiment.keys())
    }

    /// Lower and upper bounds of the means of metrics, by their names in rows, at each of these points; 0 and infinity
    /// if nothing is certain.
    fn ranges(&self, py: Python<'_>, points: Vec<usize>, names: Vec<String>) -> Vec<Vec<[f64; 2]>> {
        let there = points.into_iter().filter(|&point| point < self.experiment.points.len());
        let of_point = |point| {
            let support = Support::of_point(&self.experiment, &self.experiment.points.at(point));
            names.iter().map(|name| support.range(name)).collect()
        };
        py.detach(|| there.map(of_point).collect())
    }

    /// Greatest number of rows that the plan may need.
    fn rows(&self) -> u64 {
        let runs =
            self.experiment.methods.iter().map(|&method| self.experiment.most_runs(method)).sum::<u64>();
        self.experiment.points.len() as u64 * runs
    }

    /// Makes the rows of a shard that are not known, on `jobs` threads; passes new rows to `on_rows` and the progress
    /// to `on_progress`. Returns true if the shard is complete.
    fn execute(
        &self,
        py: Python<'_>,
        known: &Bound<'_, Known>,
        jobs: Option<usize>,
        shard: (u64, u64),
        on_rows: Py<PyAny>,
        on_progress: Py<PyAny>,
    ) -> PyResult<bool> {
        // The index is copied, since the rows that are made are added to it meanwhile.
        let known = known.borrow().now();
        let shard = Shard::new(shard.0, shard.1).map_err(scenario_error)?;
        let jobs = jobs.or_else(|| available_parallelism().ok().map(NonZeroUsize::get)).unwrap_or(1);
        let handle = ExecutionHandle::default();
        let (sender, finished) = sync_channel(RUNS_AT_A_TIME);
        let work = || {
            crossfade_experiment::execute_rest(
                &self.experiment,
                &known,
                jobs,
                shard,
                &handle,
                &mut |rows, progress| {
                    // The receiver outlives the work.
                    let _ = sender.send((rows, progress));
                },
            )
        };
        let mut packer = Packer::default();
        let mut last: Option<Progress> = None;
        let under_way = &handle;
        let hand_over = move |py: Python<'_>| {
            let mut batch = Vec::new();
            for (rows, progress) in finished.try_iter().take(RUNS_AT_A_TIME) {
                batch.extend(rows.into_iter().map(|row| packer.pack(py, row)));
                last = Some(progress);
            }
            if !batch.is_empty() {
                let batch = batch.into_bound_py_any(py)?;
                let told = on_rows.call1(py, (&batch,));
                if told.as_ref().is_err_and(|error| error.is_instance_of::<PyKeyboardInterrupt>(py)) {
                    // Ctrl-C may have come before the function kept anything.
                    on_rows.call1(py, (&batch,))?;
                }
                told?;
            }
            if let Some(Progress { done, expected }) = last {
                let done = done as f64 + under_way.under_way();
                on_progress.call1(py, (done.min(expected as f64), expected))?;
            }
            Ok(())
        };
        match self.interruptible(py, &handle.cancel, work, hand_over) {
            (complete, None) => complete.map_err(impossible),
            (_, Some(error)) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(false),
            (_, Some(error)) => Err(error),
        }
    }

    /// Makes the rows of `tasks` one after the other, and passes the progress of the run under way to `on_progress`.
    #[pyo3(signature = (tasks, on_progress = None))]
    fn make<'py>(
        &self,
        py: Python<'py>,
        tasks: Vec<GivenTask>,
        on_progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let task = |(point, method, run): GivenTask| {
            let method = method_of(&method)?;
            if point >= self.experiment.points.len() {
                return Err(PyValueError::new_err(format!("point {point}: not in the plan")));
            }
            Ok(Task { point, method, run, key: self.experiment.row_key(point, method, run) })
        };
        let tasks = tasks.into_iter().map(task).collect::<PyResult<Vec<_>>>()?;
        let handle = ExecutionHandle::default();
        let work = || crossfade_experiment::make(&self.experiment, &tasks, &handle);
        let tell = |py: Python<'_>| match &on_progress {
            Some(tell) => tell.call1(py, (handle.under_way(),)).map(drop),
            None => Ok(()),
        };
        match self.interruptible(py, &handle.cancel, work, tell) {
            (_, Some(error)) => Err(error),
            (rows, None) => {
                let mut packer = Packer::default();
                let rows =
                    rows.map_err(impossible)?.unwrap_or_default().into_iter().map(|row| packer.pack(py, row));
                rows.collect::<Vec<_>>().into_bound_py_any(py)
            }
        }
    }

    /// Passes the results of all points to `take`, as JSON texts of several points each. `rows` has one group for each
    /// method of each point, in the order of points, and in a group the runs in order. Ctrl-C ends it between two
    /// texts.
    fn summarise_groups(
        &self,
        py: Python<'_>,
        rows: Vec<Vec<GivenRow<'_>>>,
        take: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (methods, groups) = (self.experiment.methods.len(), rows.len());
        if groups != self.experiment.points.len() * methods {
            let asked = self.experiment.points.len() * methods;
            return Err(scenario_error(format!("rows: the plan has {asked} groups of rows, not {groups}")));
        }
        let rows = rows.into_iter().map(unpack).collect::<PyResult<Vec<_>>>()?;
        for (number, some) in rows.chunks(POINTS_AT_A_TIME * methods).enumerate() {
            py.check_signals()?;
            let of_points = some.chunks(methods).zip(number * POINTS_AT_A_TIME..);
            let results =
                || of_points.flat_map(|(rows, point)| results_of_groups(&self.experiment, point, rows));
            take.call1((py.detach(|| to_json(&results().collect::<Vec<_>>()))?,))?;
        }
        Ok(())
    }

    /// Passes the sender events of run number `run` of each point to `write`: the number of the point and lines of CSV.
    #[pyo3(signature = (write, run = 0))]
    fn events(&self, py: Python<'_>, write: Py<PyAny>, run: u64) -> PyResult<()> {
        let (failure, mut sink) = text_sink(write);
        let work = || crossfade_experiment::events(&self.experiment, run, &mut sink, &failure.cancel);
        self.streamed(py, &failure, work)
    }

    /// Passes samples of flows and links to `write`, like `events`.
    #[pyo3(signature = (write, run = 0))]
    fn samples(&self, py: Python<'_>, write: Py<PyAny>, run: u64) -> PyResult<()> {
        let (failure, mut sink) = text_sink(write);
        let work = || crossfade_experiment::samples(&self.experiment, run, &mut sink, &failure.cancel);
        self.streamed(py, &failure, work)
    }

    /// Passes the events inside links to `write`, like `events`.
    #[pyo3(signature = (write, run = 0))]
    fn link_events(&self, py: Python<'_>, write: Py<PyAny>, run: u64) -> PyResult<()> {
        let (failure, mut sink) = text_sink(write);
        let work = || crossfade_experiment::link_events(&self.experiment, run, &mut sink, &failure.cancel);
        self.streamed(py, &failure, work)
    }

    /// Passes each transfer of every run to `write`, like `events`.
    fn transfers(&self, py: Python<'_>, write: Py<PyAny>) -> PyResult<()> {
        let (failure, mut sink) = text_sink(write);
        let work = || crossfade_experiment::transfers(&self.experiment, &mut sink, &failure.cancel);
        self.streamed(py, &failure, work)
    }

    /// Passes the distributions of delays of every run to `write`, like `events`.
    fn delays(&self, py: Python<'_>, write: Py<PyAny>) -> PyResult<()> {
        let (failure, mut sink) = text_sink(write);
        let work = || crossfade_experiment::delays(&self.experiment, &mut sink, &failure.cancel);
        self.streamed(py, &failure, work)
    }

    /// Trace of delivery opportunities: times at which each 1500 bytes of flow `number` were delivered in run number
    /// `run` of the only point.
    #[pyo3(signature = (number, run = 0))]
    fn opportunities(&self, py: Python<'_>, number: u32, run: u64) -> PyResult<String> {
        let cancel = AtomicBool::new(false);
        let work = || crossfade_experiment::opportunities(&self.experiment, run, number, &cancel);
        match self.interruptible(py, &cancel, work, |_| Ok(())) {
            (_, Some(error)) => Err(error),
            (found, None) => found.map(Option::unwrap_or_default).map_err(scenario_error),
        }
    }

    /// Largest set of exchanges of a mesh that can be under way at one time, at each point, as JSON text.
    fn reuse(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            crossfade_experiment::reuse(&self.experiment)
                .map_err(scenario_error)
                .and_then(|found| to_json(&found))
        })
    }

    /// Passes a pcap file of the packets at the senders' network interfaces in run number `run` of the only point to
    /// `write`, in portions.
    #[pyo3(signature = (ipv6, snaplen, write, run = 0))]
    fn pcap(
        &self,
        py: Python<'_>,
        ipv6: bool,
        snaplen: Option<u32>,
        write: Py<PyAny>,
        run: u64,
    ) -> PyResult<()> {
        let (failure, mut sink) = byte_sink(write);
        let snaplen = snaplen.unwrap_or(CaptureConfig::default().snaplen);
        let config = CaptureConfig { ip: ip_version(ipv6), snaplen };
        let work = || crossfade_experiment::pcap(&self.experiment, run, config, &mut sink, &failure.cancel);
        self.streamed(py, &failure, work)
    }

    /// Estimated bytes of memory of the largest run, and the scenario's limit in bytes.
    fn memory(&self) -> (f64, Option<u64>) {
        self.experiment.memory()
    }

    /// Passes a pcap file of all frames on the air of a mesh or Wi-Fi network in run number `run` of the only point to
    /// `write`, in portions.
    #[pyo3(signature = (ipv6, snaplen, write, run = 0))]
    fn air_pcap(
        &self,
        py: Python<'_>,
        ipv6: bool,
        snaplen: Option<u32>,
        write: Py<PyAny>,
        run: u64,
    ) -> PyResult<()> {
        let (failure, mut sink) = byte_sink(write);
        let (ip, experiment) = (ip_version(ipv6), &self.experiment);
        let work =
            || crossfade_experiment::air_pcap(experiment, run, ip, snaplen, &mut sink, &failure.cancel);
        self.streamed(py, &failure, work)
    }

    /// Sender events of the only point as CSV, with the Python object `control` as congestion control.
    fn events_with_congestion_control(&self, py: Python<'_>, control: Py<PyAny>) -> PyResult<String> {
        let failure = Failure::default();
        let kept = failure.clone();
        let has_info = says(control.bind(py))?;
        let make = move |sender: &SenderConfig| -> Box<dyn CongestionControl> {
            let control = Python::attach(|py| control.clone_ref(py));
            Box::new(PythonControl::new(control, sender.initial_windows(), kept.clone()))
        };
        let (experiment, cancel) = (&self.experiment, &failure.cancel);
        let work =
            || crossfade_experiment::events_with_congestion_control(experiment, make, has_info, cancel);
        let (events, interrupt) = interruptible(py, &failure.cancel, work, |_| Ok(()));
        match failure.take().or(interrupt) {
            Some(error) => Err(error),
            None => events.map(Option::unwrap_or_default).map_err(scenario_error),
        }
    }
}

/// Order of the runs of a plan, and the rows that count, for an execution other than [`Plan::execute`].
#[pyclass(module = "crossfade._crossfade")]
pub(crate) struct Schedule(crossfade_experiment::Schedule<Arc<Experiment>>);

#[pymethods]
impl Schedule {
    #[new]
    fn new(plan: &Plan, known: &Known, jobs: usize, shard: (u64, u64)) -> PyResult<Self> {
        let shard = Shard::new(shard.0, shard.1).map_err(scenario_error)?;
        Ok(Self(crossfade_experiment::Schedule::after(plan.shared(), known.now(), jobs, shard)))
    }

    /// Takes the next runs to make, at most `most`: point, method and number of each.
    fn take(&mut self, most: usize) -> Vec<(usize, &'static str, u64)> {
        let tasks = std::iter::from_fn(|| self.0.take()).take(most);
        tasks.map(|task| (task.point, task.method.name(), task.run)).collect()
    }

    /// Takes rows of finished runs; returns the rows that are now known to count.
    fn finish<'py>(&mut self, py: Python<'py>, rows: Vec<GivenRow<'_>>) -> PyResult<Bound<'py, PyAny>> {
        let mut packer = Packer::default();
        let counting = unpack(rows)?.into_iter().flat_map(|row| self.0.finish(row));
        counting.map(|row| packer.pack(py, row)).collect::<Vec<_>>().into_bound_py_any(py)
    }

    /// Number of runs handed out and not finished.
    fn under_way(&self) -> usize {
        self.0.under_way()
    }

    /// Number of finished runs, and expected number of all runs.
    fn progress(&self) -> (u64, u64) {
        let progress = self.0.progress();
        (progress.done, progress.expected)
    }
}

/// Sink that passes bytes to a Python function, and the failure that keeps the function's first exception.
fn byte_sink(write: Py<PyAny>) -> (Failure, impl FnMut(&[u8]) + Send) {
    let failure = Failure::default();
    let kept = failure.clone();
    let sink = move |bytes: &[u8]| {
        kept.guard(|| Python::attach(|py| write.call1(py, (PyBytes::new(py, bytes),)).map(drop)));
    };
    (failure, sink)
}

/// Sink that passes lines of a point's text to the Python function `write`, and the failure that keeps its first
/// exception.
fn text_sink(write: Py<PyAny>) -> (Failure, impl FnMut(usize, &str) + Send) {
    let failure = Failure::default();
    let kept = failure.clone();
    let sink = move |point: usize, text: &str| {
        kept.guard(|| Python::attach(|py| write.call1(py, (point, text)).map(drop)));
    };
    (failure, sink)
}

pub(crate) fn from_json<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

fn ip_version(ipv6: bool) -> IpVersion {
    if ipv6 { IpVersion::V6 } else { IpVersion::V4 }
}

pub(crate) fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}
