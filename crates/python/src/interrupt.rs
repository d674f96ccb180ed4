//! Execution of long work that Ctrl-C can stop.

use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval at which the calling thread checks for signals and calls back.
const TICK: Duration = Duration::from_millis(50);

/// Does `work` on a thread of its own, without the GIL. Meanwhile the calling thread handles Python's signals and calls
/// `on_tick` every 50 ms, and once after the end. The first error of either sets `cancel`, after which `work` must end
/// soon; `on_tick` is still called for what it has finished. Returns the result of `work`, and that first error.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    cancel: &AtomicBool,
    work: impl FnOnce() -> T + Send,
    mut on_tick: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> (T, Option<PyErr>) {
    py.detach(|| {
        thread::scope(|scope| {
            let (running, ended) = channel::<()>();
            let worker = scope.spawn(move || {
                // The sender is dropped at the end, also by a panic.
                let _running = running;
                work()
            });
            let mut first_error = None;
            loop {
                let has_ended = ended.recv_timeout(TICK) == Err(RecvTimeoutError::Disconnected);
                // Signals are handled and `on_tick` is called whatever the other one returns.
                let (signal, tick) = Python::attach(|py| (py.check_signals(), on_tick(py)));
                if let Err(error) = signal.and(tick) {
                    cancel.store(true, Ordering::Relaxed);
                    first_error.get_or_insert(error);
                }
                if has_ended {
                    break;
                }
            }
            let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            (result, first_error)
        })
    })
}
