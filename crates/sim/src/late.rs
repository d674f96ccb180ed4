//! State of shortcut `late_receivers`, by which receivers process many segments with one event.

use crate::wakeup::Wakeup;
use crossfade_core::SimTime;

/// Shortcut `late_receivers`: segments at the end of the line that their receivers have not processed yet.
pub(crate) struct Late {
    pub(crate) is_on: bool,
    /// Maximum time by which the processing of a segment is delayed.
    pub(crate) most: SimTime,
    pub(crate) wakeup: Wakeup,
    /// Number of further segments that cannot end the run, so they may be processed late.
    pub(crate) harmless: u64,
    /// Times at which segments were sent since receivers were last up to date; kept only if the stall rule needs them.
    pub(crate) sent: Vec<SimTime>,
    pub(crate) keeps_sent: bool,
}

impl Default for Late {
    fn default() -> Self {
        Self {
            is_on: false,
            most: SimTime::ZERO,
            wakeup: Wakeup::NONE,
            harmless: u64::MAX,
            sent: Vec::new(),
            keeps_sent: false,
        }
    }
}

impl Late {
    /// Records that a segment is sent at `now`.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: SimTime) {
        if self.keeps_sent {
            self.sent.push(now);
        }
    }
}
