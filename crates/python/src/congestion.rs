//! A congestion control that is a Python object. Slow: every event of it takes the GIL.

use crate::error::scenario_error;
use crossfade_core::SimTime;
use crossfade_transport::TcpConfig;
use crossfade_transport::congestion::{self, CongestionControl, OwnRule};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What an acknowledgement of new segments tells; times in seconds.
#[pyclass(frozen, get_all, module = "crossfade._crossfade")]
pub(crate) struct AckSample {
    now: f64,
    acked: u64,
    rtt: Option<f64>,
    next_expected: u64,
    snd_max: u64,
    cwnd_limited: bool,
}

#[pymethods]
impl AckSample {
    #[new]
    #[pyo3(signature = (now, acked, *, rtt = None, next_expected = 0, snd_max = 0, cwnd_limited = true))]
    fn new(
        now: f64,
        acked: u64,
        rtt: Option<f64>,
        next_expected: u64,
        snd_max: u64,
        cwnd_limited: bool,
    ) -> Self {
        Self { now, acked, rtt, next_expected, snd_max, cwnd_limited }
    }
}

impl From<&congestion::AckSample> for AckSample {
    fn from(ack: &congestion::AckSample) -> Self {
        Self {
            now: ack.now.as_secs_f64(),
            acked: ack.acked,
            rtt: ack.rtt.map(SimTime::as_secs_f64),
            next_expected: ack.next_expected,
            snd_max: ack.snd_max,
            cwnd_limited: ack.cwnd_limited,
        }
    }
}

/// How a run learns that Python raised an exception: it is cancelled, and the first exception is kept.
#[derive(Clone, Default)]
pub(crate) struct Failure {
    pub(crate) cancel: Arc<AtomicBool>,
    error: Arc<Mutex<Option<PyErr>>>,
}

impl Failure {
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Does `work` unless something has failed, and keeps its error.
    pub(crate) fn guard(&self, work: impl FnOnce() -> PyResult<()>) {
        if !self.cancel.load(Ordering::Relaxed)
            && let Err(error) = work()
        {
            self.set(error);
        }
    }

    /// That nothing has failed yet.
    pub(crate) fn forget(&self) {
        drop(self.take());
        self.cancel.store(false, Ordering::Relaxed);
    }

    fn set(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.cancel.store(true, Ordering::Relaxed);
    }
}

/// Calls the methods of a Python object and reads its attributes `cwnd` and `ssthresh` after each.
pub(crate) struct PythonControl {
    object: Py<PyAny>,
    /// Says where an exception comes from; without it, that is raised as it is.
    place: Option<Py<PyAny>>,
    cwnd: f64,
    ssthresh: f64,
    failure: Failure,
}

impl PythonControl {
    pub(crate) fn new(object: Py<PyAny>, cwnd: f64, ssthresh: f64, failure: Failure) -> Self {
        Self::begin(object, None, [cwnd, ssthresh], failure)
    }

    fn begin(
        object: Py<PyAny>,
        place: Option<Py<PyAny>>,
        [cwnd, ssthresh]: [f64; 2],
        failure: Failure,
    ) -> Self {
        let mut control = Self { object, place, cwnd, ssthresh, failure };
        control.call("start", (cwnd, ssthresh));
        control
    }

    /// After an exception nothing is called any more; the run is about to end.
    fn call<A: for<'py> PyCallArgs<'py>>(&mut self, method: &str, arguments: A) {
        if self.failure.cancel.load(Ordering::Relaxed) {
            return;
        }
        let windows = Python::attach(|py| {
            let object = self.object.bind(py);
            object.call_method1(method, arguments)?;
            Ok((
                window(object, method, "cwnd", f64::MAX)?,
                window(object, method, "ssthresh", f64::INFINITY)?,
            ))
        });
        match windows {
            Ok(windows) => (self.cwnd, self.ssthresh) = windows,
            Err(error) => self.failure.set(match &self.place {
                Some(place) => {
                    Python::attach(|py| located(place.bind(py), error, Some((self.object.bind(py), method))))
                }
                None => error,
            }),
        }
    }
}

/// What went wrong in a rule of a file, as one line with its place there.
fn located(rule: &Bound<'_, PyAny>, error: PyErr, of: Option<(&Bound<'_, PyAny>, &str)>) -> PyErr {
    let py = rule.py();
    let said = match of {
        Some((object, method)) => {
            rule.call_method1("problem", (error.value(py), error.traceback(py), object, method))
        }
        None => rule.call_method1("problem", (error.value(py), error.traceback(py))),
    };
    said.map_or_else(|error| error, scenario_error)
}

/// The rule that an object of Python, `crossfade.files.rules.Rule`, makes for each connection.
pub(crate) fn own_rule(rule: Py<PyAny>, failure: &Failure) -> OwnRule {
    let kept = failure.clone();
    let make = move |tcp: &TcpConfig| -> Box<dyn CongestionControl> {
        let (windows, failure) = ([tcp.initial_window, tcp.initial_ssthresh], kept.clone());
        Python::attach(|py| match rule.call0(py) {
            Ok(object) => Box::new(PythonControl::begin(object, Some(rule.clone_ref(py)), windows, failure)),
            Err(error) => {
                failure.set(located(rule.bind(py), error, None));
                Box::new(PythonControl::begin(py.None(), None, windows, failure))
            }
        })
    };
    OwnRule::new(make, Arc::clone(&failure.cancel))
}

/// An attribute that is a window in segments.
fn window(object: &Bound<'_, PyAny>, method: &str, name: &str, most: f64) -> PyResult<f64> {
    let value: f64 = object.getattr(name)?.extract()?;
    if !(1.0..=most).contains(&value) {
        let (class, bound) = (
            object.get_type().name()?,
            if most.is_finite() { "finite and at least 1" } else { "at least 1" },
        );
        return Err(scenario_error(format!("{class}.{name} = {value:?} after {method}: must be {bound}")));
    }
    Ok(value)
}

impl CongestionControl for PythonControl {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn on_ack(&mut self, ack: &congestion::AckSample) {
        self.call("on_ack", (AckSample::from(ack),));
    }

    fn on_loss(&mut self, now: SimTime, window: f64) {
        self.call("on_loss", (now.as_secs_f64(), window));
    }

    fn on_timeout(&mut self, now: SimTime, window: f64) {
        self.call("on_timeout", (now.as_secs_f64(), window));
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.call("set_cwnd", (cwnd,));
    }

    fn on_ecn(&mut self, now: SimTime, window: f64) {
        self.call("on_ecn", (now.as_secs_f64(), window));
    }

    fn undo(&mut self) {
        self.call("undo", ());
    }

    fn on_idle_end(&mut self, now: SimTime, idle: SimTime) {
        self.call("on_idle_end", (now.as_secs_f64(), idle.as_secs_f64()));
    }
}
