//! Real time as simulated time, shared by driver and pump.

use crossfade_core::SimTime;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Time since an emulation began, by the system's monotonic clock (`CLOCK_MONOTONIC` is behind [`Instant`]).
#[derive(Clone, Debug, Default)]
pub struct Clock {
    origin: Arc<OnceLock<Instant>>,
}

impl Clock {
    /// Creates a clock that starts now.
    pub(crate) fn start() -> Self {
        let clock = Self::waiting();
        clock.begin();
        clock
    }

    /// Creates a clock that stands at zero until [`begin`](Self::begin) is called on it or on a clone.
    pub(crate) fn waiting() -> Self {
        Self::default()
    }

    /// Starts the clock and its clones, unless they run already.
    pub(crate) fn begin(&self) {
        self.origin.get_or_init(Instant::now);
    }

    /// Instant of time zero; `None` before the clock has started.
    pub fn origin(&self) -> Option<Instant> {
        self.origin.get().copied()
    }

    /// Time since the start of the clock; zero before it has started.
    pub fn now(&self) -> SimTime {
        self.origin().map_or(SimTime::ZERO, |origin| SimTime::from_nanos(origin.elapsed().as_nanos() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_still_until_one_of_those_that_share_it_begins() {
        let clock = Clock::waiting();
        let shared = clock.clone();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!((clock.now(), clock.origin()), (SimTime::ZERO, None));
        let before = Instant::now();
        shared.begin();
        let origin = clock.origin().unwrap();
        assert!((before..=Instant::now()).contains(&origin));
        clock.begin();
        assert_eq!(shared.origin(), Some(origin), "a second beginning changes nothing");
    }
}
