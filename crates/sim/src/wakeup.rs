//! Scheduling of the event of a link or fabric, which may move to an earlier time after it was scheduled.

use crossfade_core::SimTime;

/// Valid event of a link or fabric; its other events in the queue are outdated.
#[derive(Clone, Copy)]
pub(crate) struct Wakeup {
    /// Time of the valid event; [`SimTime::MAX`] if there is none.
    at: SimTime,
}

impl Wakeup {
    pub(crate) const NONE: Self = Self { at: SimTime::MAX };

    /// Returns true if the event at `now` is the valid one, and uses it up.
    #[inline]
    pub(crate) fn take(&mut self, now: SimTime) -> bool {
        let counts = self.at == now;
        if counts {
            self.at = SimTime::MAX;
        }
        counts
    }

    /// Time at which an event must be scheduled to be no later than `next`; `None` if one is already scheduled in time.
    #[inline]
    pub(crate) fn missing(&mut self, next: Option<SimTime>) -> Option<SimTime> {
        let at = next.unwrap_or(SimTime::MAX);
        let is_missing = at < self.at;
        if is_missing {
            self.at = at;
        }
        is_missing.then_some(at)
    }
}
