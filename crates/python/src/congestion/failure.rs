//! Failure of a user's congestion control, which ends its run.

use crate::error::scenario_error;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Keeps the first exception of a run's congestion controls, and cancels the run.
#[derive(Clone, Default)]
pub(crate) struct Failure {
    pub(crate) cancel: Arc<AtomicBool>,
    error: Arc<Mutex<Option<PyErr>>>,
}

impl Failure {
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Does `work` and keeps its error, unless something failed before.
    pub(crate) fn guard(&self, work: impl FnOnce() -> PyResult<()>) {
        if !self.has_failed()
            && let Err(error) = work()
        {
            self.set(error);
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Forgets a failure of an earlier run.
    pub(crate) fn forget(&self) {
        drop(self.take());
        self.cancel.store(false, Ordering::Relaxed);
    }

    pub(super) fn set(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.cancel.store(true, Ordering::Relaxed);
    }
}

/// A Python object that a connection calls, and the destination of its exceptions.
pub(super) struct Told {
    pub(super) object: Py<PyAny>,
    /// Python object that turns an exception into one line with its place in the user's file; `None`: exceptions are
    /// raised unchanged.
    place: Option<Py<PyAny>>,
    failure: Failure,
}

impl Told {
    pub(super) fn new(object: Py<PyAny>, place: Option<Py<PyAny>>, failure: Failure) -> Self {
        Self { object, place, failure }
    }

    /// Does `work` on the object and returns its result; `method` is the object's method to which an exception is
    /// attributed. `None` after an exception: the object is not called any more, and the run is about to end.
    pub(super) fn tell<T>(
        &self,
        method: &str,
        work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        if self.failure.has_failed() {
            return None;
        }
        Python::attach(|py| match work(self.object.bind(py)) {
            Ok(found) => Some(found),
            Err(error) => {
                self.failure.set(match &self.place {
                    Some(place) => located(place.bind(py), error, Some((self.object.bind(py), method))),
                    None => error,
                });
                None
            }
        })
    }
}

/// Error of a user's control as one line with its place in the file.
pub(super) fn located(
    control: &Bound<'_, PyAny>,
    error: PyErr,
    of: Option<(&Bound<'_, PyAny>, &str)>,
) -> PyErr {
    let py = control.py();
    let said = match of {
        Some((object, method)) => {
            control.call_method1("problem", (error.value(py), error.traceback(py), object, method))
        }
        None => control.call_method1("problem", (error.value(py), error.traceback(py))),
    };
    said.map_or_else(|error| error, scenario_error)
}
