//! Real time as simulated time: a file of its own, since the driver and the pump share it.

use crossfade_core::SimTime;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Time since an emulation began, by the system's monotonic clock (`CLOCK_MONOTONIC` is behind [`Instant`]).
#[derive(Clone, Debug, Default)]
pub struct Clock {
    origin: Arc<OnceLock<Instant>>,
}

impl Clock {
    /// Zero is now.
    pub(crate) fn start() -> Self {
        let clock = Self::waiting();
        clock.begin();
        clock
    }

    /// Zero until [`begin`](Self::begin) is called, whoever of those that share it does so.
    pub(crate) fn waiting() -> Self {
        Self::default()
    }

    /// Goes from now on, unless it goes already.
    pub(crate) fn begin(&self) {
        self.origin.get_or_init(Instant::now);
    }

    /// When it was zero; `None` while it waits.
    pub fn origin(&self) -> Option<Instant> {
        self.origin.get().copied()
    }

    /// The time since it was zero, which it still is while it waits.
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
