//! The class `Plan`.

use crate::congestion::{Failure, PythonControl};
use crate::interrupt::interruptible;
use crate::scenario_error;
use crossfade_scenario::{IpVersion, Overrides, Row};
use crossfade_transport::TcpConfig;
use crossfade_transport::congestion::CongestionControl;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread::available_parallelism;

/// What a scenario asks to be run.
#[pyclass(frozen, module = "crossfade._crossfade")]
pub(crate) struct Plan(crossfade_scenario::Plan);

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
        let Some(read) = read else {
            let load = || crossfade_scenario::Plan::load(text, name, &overrides);
            return py.detach(load).map(Self).map_err(scenario_error);
        };
        let read = |file: &str| {
            Python::attach(|py| {
                let text = read.call1(py, (file,)).and_then(|text| text.extract::<String>(py));
                text.map_err(|error| error.value(py).to_string())
            })
        };
        py.detach(|| crossfade_scenario::Plan::load_with_files(text, name, &overrides, &read))
            .map(Self)
            .map_err(scenario_error)
    }

    /// The plan as JSON text.
    fn describe(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.describe().to_string())
    }

    /// The keys of all rows that may be needed.
    fn keys(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.0.keys())
    }

    /// Makes the rows that are not known.
    fn execute(
        &self,
        py: Python<'_>,
        known: Vec<String>,
        jobs: Option<usize>,
        on_rows: Py<PyAny>,
        on_progress: Py<PyAny>,
    ) -> PyResult<bool> {
        let known = rows_from_json(&known)?;
        let jobs = jobs.or_else(|| available_parallelism().ok().map(NonZeroUsize::get)).unwrap_or(1);
        let cancel = AtomicBool::new(false);
        let (sender, finished) = channel();
        let work = || {
            crossfade_scenario::execute(&self.0, known, jobs, &cancel, &mut |row, progress| {
                // The receiver outlives the work.
                let _ = sender.send((row, progress));
            })
        };
        let hand_over = move |py: Python<'_>| {
            let mut batch = Vec::new();
            let mut last = None;
            for (row, progress) in finished.try_iter() {
                batch.push(to_json(&row)?);
                last = Some(progress);
            }
            if let Some(progress) = last {
                on_rows.call1(py, (batch,))?;
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

    /// The results of rows, as JSON text.
    fn summarise(&self, py: Python<'_>, rows: Vec<String>) -> PyResult<String> {
        let rows = rows_from_json(&rows)?;
        py.detach(|| to_json(&crossfade_scenario::summarise(&self.0, &rows)))
    }

    /// The events of run 0 of each point, as CSV texts.
    fn events(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let cancel = AtomicBool::new(false);
        let work = || crossfade_scenario::events(&self.0, &cancel);
        match interruptible(py, &cancel, work, |_| Ok(())) {
            (_, Some(error)) => Err(error),
            (Ok(csv), None) => Ok(csv.unwrap_or_default()),
            (Err(error), None) => Err(scenario_error(error)),
        }
    }

    /// What the senders' network interfaces saw in run 0 of the only point, as a pcap file.
    fn pcap<'py>(&self, py: Python<'py>, ipv6: bool) -> PyResult<Bound<'py, PyBytes>> {
        let cancel = AtomicBool::new(false);
        let ip = if ipv6 { IpVersion::V6 } else { IpVersion::V4 };
        let work = || crossfade_scenario::pcap(&self.0, ip, &cancel);
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
        let work = || crossfade_scenario::events_with_congestion_control(&self.0, make, &failure.cancel);
        let (events, interrupt) = interruptible(py, &failure.cancel, work, |_| Ok(()));
        match failure.take().or(interrupt) {
            Some(error) => Err(error),
            None => events.map(Option::unwrap_or_default).map_err(scenario_error),
        }
    }
}

fn rows_from_json(rows: &[String]) -> PyResult<Vec<Row>> {
    rows.iter().map(|row| from_json("row", row)).collect()
}

fn from_json<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}
