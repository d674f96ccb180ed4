//! Congestion control supplied by the user at run time.

use super::CongestionControl;
use crate::config::SenderConfig;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Constructor of the congestion controls of one run's connections.
pub type MakeControl = dyn Fn(&SenderConfig) -> Box<dyn CongestionControl> + Send + Sync;

/// Congestion control supplied by the user: makes one for each connection, and records whether one of them has failed.
///
/// A congestion control cannot end a run. If its code fails, it sets the shared flag and keeps its window; the results
/// of the run are then invalid.
#[derive(Clone)]
pub struct CustomControl {
    begin: Arc<dyn Fn() -> Arc<MakeControl> + Send + Sync>,
    failed: Arc<AtomicBool>,
}

impl CustomControl {
    /// Creates a custom control from `begin`, which is called once per run and may share state between the run's
    /// connections, and from the flag `failed`, which a congestion control sets when it fails.
    pub fn new(
        begin: impl Fn() -> Arc<MakeControl> + Send + Sync + 'static,
        failed: Arc<AtomicBool>,
    ) -> Self {
        Self { begin: Arc::new(begin), failed }
    }

    /// Starts a run: returns the constructor of the congestion controls of the run's connections.
    pub fn of_run(&self) -> Arc<MakeControl> {
        (self.begin)()
    }

    /// True if `self` and `other` share one constructor object, rather than two constructors of one kind.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.begin, &other.begin)
    }

    /// True if a congestion control of any run has failed, so that the results are invalid.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for CustomControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomControl").finish_non_exhaustive()
    }
}
