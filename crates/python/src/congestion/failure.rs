//! End of a run whose congestion control has failed.

use crate::error::scenario_error;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Failure of a control in a run: the run is cancelled, and the first exception is kept.
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
        if !self.has_failed()
            && let Err(error) = work()
        {
            self.set(error);
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Forgets earlier failures.
    pub(crate) fn forget(&self) {
        drop(self.take());
        self.cancel.store(false, Ordering::Relaxed);
    }

    pub(super) fn set(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.cancel.store(true, Ordering::Relaxed);
    }
}

/// A Python object of which a connection is told, and what becomes of its exceptions.
pub(super) struct Told {
    pub(super) object: Py<PyAny>,
    /// Source of an exception; without one, it is raised as it is.
    place: Option<Py<PyAny>>,
    failure: Failure,
}

impl Told {
    pub(super) fn new(object: Py<PyAny>, place: Option<Py<PyAny>>, failure: Failure) -> Self {
        Self { object, place, failure }
    }

    /// What `work` gives of the object, after whose `method` it looks. After an exception nothing is called any more;
    /// the run is about to end.
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

/// Error of a control of a file, as one line with its place there.
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
