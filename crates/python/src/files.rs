//! Files that a scenario names, read by Python functions.

use crate::congestion::{Failure, custom_control};
use crossfade_scenario::ReadFile;
use crossfade_transport::congestion::CustomControl;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Python functions that read a scenario's files: `read` gives the text of a file, `control` makes a
/// `crossfade.files.controls.PythonControl` from a file's name, a class in it and its text.
pub(crate) struct GivenFiles {
    read: Option<Py<PyAny>>,
    control: Option<Py<PyAny>>,
    /// Ctrl-C while a file was read, or between two points.
    interrupt: Mutex<Option<PyErr>>,
    /// Failures of the custom controls of the plan.
    controls: Failure,
}

/// Error message for a scenario that names files but came without functions to read them.
const NONE: &str = "this scenario was given without files";

impl GivenFiles {
    pub(crate) fn new(read: Option<Py<PyAny>>, control: Option<Py<PyAny>>) -> Self {
        Self { read, control, interrupt: Mutex::new(None), controls: Failure::default() }
    }

    /// Keeps an exception to be raised when loading has ended.
    pub(crate) fn keep(&self, error: PyErr) {
        *self.interrupt.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// The exception that was kept, and the failures of the custom controls.
    pub(crate) fn into_parts(self) -> (Option<PyErr>, Failure) {
        (self.interrupt.into_inner().unwrap_or_else(PoisonError::into_inner), self.controls)
    }

    /// Message of an exception; Ctrl-C is kept to be raised later.
    fn said(&self, py: Python<'_>, error: PyErr) -> String {
        let said = error.value(py).to_string();
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            self.keep(error);
        }
        said
    }
}

impl ReadFile for GivenFiles {
    fn text(&self, name: &str) -> Result<String, String> {
        let read = self.read.as_ref().ok_or(NONE)?;
        Python::attach(|py| {
            let text = read.call1(py, (name,)).and_then(|text| text.extract::<String>(py));
            text.map_err(|error| self.said(py, error))
        })
    }

    fn control(&self, name: &str, class: Option<&str>, text: &str) -> Result<CustomControl, String> {
        let make = self.control.as_ref().ok_or(NONE)?;
        Python::attach(|py| {
            let control = make.call1(py, (name, class, text)).map_err(|error| self.said(py, error))?;
            Ok(custom_control(control, &self.controls))
        })
    }
}
