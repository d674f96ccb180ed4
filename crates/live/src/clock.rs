//! Real time as simulated time: a file of its own, since the driver and the pump share it.

use crossfade_core::SimTime;
use std::time::Instant;

/// Time since an emulation began, by the system's monotonic clock (`CLOCK_MONOTONIC` is behind [`Instant`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    /// Zero is now.
    pub(crate) fn start() -> Self {
        Self { origin: Instant::now() }
    }

    pub(crate) fn origin(self) -> Instant {
        self.origin
    }

    pub(crate) fn now(self) -> SimTime {
        SimTime::from_nanos(self.origin.elapsed().as_nanos() as u64)
    }
}
