//! A congestion control that is not compiled in.

use super::CongestionControl;
use crate::config::SenderConfig;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What makes the congestion controls of the connections of one run.
pub type MakeControl = dyn Fn(&SenderConfig) -> Box<dyn CongestionControl> + Send + Sync;

/// A congestion control of the user's own: what makes one for a connection, and whether one that it made has failed.
///
/// A congestion control has no way to end a run. One that fails says so here, keeps its window, and what the run gives is worth
/// nothing.
#[derive(Clone)]
pub struct CustomControl {
    begin: Arc<dyn Fn() -> Arc<MakeControl> + Send + Sync>,
    failed: Arc<AtomicBool>,
}

impl CustomControl {
    /// What `begin` gives for a run, whose connections may have something in common; a congestion control that fails
    /// sets `failed`.
    pub fn new(
        begin: impl Fn() -> Arc<MakeControl> + Send + Sync + 'static,
        failed: Arc<AtomicBool>,
    ) -> Self {
        Self { begin: Arc::new(begin), failed }
    }

    /// What makes the congestion controls of the connections of a run.
    pub fn of_run(&self) -> Arc<MakeControl> {
        (self.begin)()
    }

    /// Whether it is the same control, not only one of the same kind.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.begin, &other.begin)
    }

    /// Whether a congestion control has failed.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for CustomControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomControl").finish_non_exhaustive()
    }
}
