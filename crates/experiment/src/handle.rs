//! Cancellation and progress of runs under way.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Number of parts in which the progress of one run is counted: millionths.
const PARTS: f64 = 1e6;

/// Cancellation flag and progress counter, shared by the threads that simulate runs and the thread that waits for them.
#[derive(Debug, Default)]
pub struct ExecutionHandle {
    /// Cancellation flag: once true, runs end within milliseconds and without a result.
    pub cancel: AtomicBool,
    /// Sum of the progress of the runs under way, in millionths of a run.
    parts: AtomicU64,
}

impl ExecutionHandle {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Sum of the progress of unfinished runs, in runs: 2.5 for five that are half done.
    pub fn under_way(&self) -> f64 {
        self.parts.load(Ordering::Relaxed) as f64 / PARTS
    }
}

/// Progress of one run under way. It is subtracted again when the run ends, since a finished run counts as a whole.
pub(crate) struct PartDone<'a> {
    handle: &'a ExecutionHandle,
    parts: u64,
}

impl<'a> PartDone<'a> {
    pub(crate) fn new(handle: &'a ExecutionHandle) -> Self {
        Self { handle, parts: 0 }
    }

    /// Sets the progress of the run to `share`, from 0 to 1; it never decreases.
    pub(crate) fn is(&mut self, share: f64) {
        let parts = ((share.min(1.0) * PARTS) as u64).max(self.parts);
        self.handle.parts.fetch_add(parts - self.parts, Ordering::Relaxed);
        self.parts = parts;
    }
}

impl Drop for PartDone<'_> {
    fn drop(&mut self) {
        self.handle.parts.fetch_sub(self.parts, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_under_way_add_up_and_leave_nothing() {
        let handle = ExecutionHandle::default();
        let (mut one, mut two) = (PartDone::new(&handle), PartDone::new(&handle));
        one.is(0.5);
        two.is(0.25);
        one.is(0.4);
        assert_eq!(handle.under_way(), 0.75);
        drop(one);
        two.is(7.0);
        assert_eq!(handle.under_way(), 1.0);
        drop(two);
        assert_eq!(handle.under_way(), 0.0);
    }
}
