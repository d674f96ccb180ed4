//! The one event that counts of a link, a fabric, or whoever else asks for events and changes his mind.

use crossfade_core::SimTime;

/// The event at which something has to be done.
#[derive(Clone, Copy)]
pub(crate) struct Wakeup {
    /// The event that counts; others still in the queue are ignored. [`SimTime::MAX`] if there is none.
    at: SimTime,
}

impl Wakeup {
    pub(crate) const NONE: Self = Self { at: SimTime::MAX };

    /// Whether the event that happens at `now` is the one that counts; then there is none any more.
    #[inline]
    pub(crate) fn take(&mut self, now: SimTime) -> bool {
        let counts = self.at == now;
        if counts {
            self.at = SimTime::MAX;
        }
        counts
    }

    /// When to schedule an event, if none comes in time for `next`.
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
