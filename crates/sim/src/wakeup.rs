//! The valid event of a link or a fabric, whose next event may move earlier after it was scheduled.

use crossfade_core::SimTime;

/// The valid event of a link or a fabric.
#[derive(Clone, Copy)]
pub(crate) struct Wakeup {
    /// Time of the valid event; others still in the queue are ignored. [`SimTime::MAX`] without one.
    at: SimTime,
}

impl Wakeup {
    pub(crate) const NONE: Self = Self { at: SimTime::MAX };

    /// Whether the event at `now` is the valid one, which is then used up.
    #[inline]
    pub(crate) fn take(&mut self, now: SimTime) -> bool {
        let counts = self.at == now;
        if counts {
            self.at = SimTime::MAX;
        }
        counts
    }

    /// Time at which to schedule an event for `next`; `None` if one is already scheduled in time.
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
