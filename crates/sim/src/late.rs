//! State of the shortcut `late_receivers` (`late_receivers.rs`).

use crate::wakeup::Wakeup;
use crossfade_core::SimTime;

/// Segments at the end of the line that their receivers have not processed yet.
pub(crate) struct Late {
    pub(crate) is_on: bool,
    /// Greatest delay of processing.
    pub(crate) most: SimTime,
    pub(crate) wakeup: Wakeup,
    /// Number of further segments that cannot end the run.
    pub(crate) harmless: u64,
    /// Times at which segments were sent since receivers were last up to date, where the stall rule needs them.
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
    /// Records that a segment is sent.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: SimTime) {
        if self.keeps_sent {
            self.sent.push(now);
        }
    }
}
