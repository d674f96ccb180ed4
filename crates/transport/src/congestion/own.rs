//! A window rule that is not compiled in.

use super::CongestionControl;
use crate::config::TcpConfig;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What makes the window rules of the connections of one run.
pub type MakeRule = dyn Fn(&TcpConfig) -> Box<dyn CongestionControl> + Send + Sync;

/// A window rule of the user's own: what makes one for a connection, and whether one that it made has failed.
///
/// A rule has no way to end a run. One that fails says so here, keeps its window, and what the run gives is worth
/// nothing.
#[derive(Clone)]
pub struct OwnRule {
    begin: Arc<dyn Fn() -> Arc<MakeRule> + Send + Sync>,
    failed: Arc<AtomicBool>,
}

impl OwnRule {
    /// What `begin` gives for a run, whose connections may have something in common; the rules set `failed` when they fail.
    pub fn new(begin: impl Fn() -> Arc<MakeRule> + Send + Sync + 'static, failed: Arc<AtomicBool>) -> Self {
        Self { begin: Arc::new(begin), failed }
    }

    /// What makes the rules of the connections of a run.
    pub fn of_run(&self) -> Arc<MakeRule> {
        (self.begin)()
    }

    /// Whether it is the same rule, not only one of the same kind.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.begin, &other.begin)
    }

    /// Whether a rule has failed.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for OwnRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnRule").finish_non_exhaustive()
    }
}
