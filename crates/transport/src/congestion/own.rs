//! A window rule that is not compiled in.

use super::CongestionControl;
use crate::config::TcpConfig;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

type Make = dyn Fn(&TcpConfig) -> Box<dyn CongestionControl> + Send + Sync;

/// A window rule of the user's own: what makes one for a connection, and whether one that it made has failed.
///
/// A rule has no way to end a run. One that fails says so here, keeps its window, and what the run gives is worth
/// nothing.
#[derive(Clone)]
pub struct OwnRule {
    make: Arc<Make>,
    failed: Arc<AtomicBool>,
}

impl OwnRule {
    /// What `make` makes; the rules set `failed` when they fail.
    pub fn new(
        make: impl Fn(&TcpConfig) -> Box<dyn CongestionControl> + Send + Sync + 'static,
        failed: Arc<AtomicBool>,
    ) -> Self {
        Self { make: Arc::new(make), failed }
    }

    /// The rule of a connection.
    pub fn start(&self, config: &TcpConfig) -> Box<dyn CongestionControl> {
        (self.make)(config)
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
