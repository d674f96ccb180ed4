//! Place and message of the first panic: a file of its own, since it sets the panic hook of the process.

use pyo3::prelude::*;
use std::panic::set_hook;
use std::sync::{Mutex, PoisonError};

/// Place and message of the first panic since the last call of [`panic_said`].
static SAID: Mutex<Option<String>> = Mutex::new(None);

/// Silences panics from now on; `panic_said` gives the first of them.
#[pyfunction]
pub(crate) fn keep_panics() {
    set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let said = payload.downcast_ref::<&str>().copied();
        let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic");
        let text = match panic.location() {
            Some(place) => format!("{}:{}: {said}", place.file(), place.line()),
            None => said.to_owned(),
        };
        SAID.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
    }));
}

/// Place and message of the first panic since the last call; `None` without a panic.
#[pyfunction]
pub(crate) fn panic_said() -> Option<String> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).take()
}
