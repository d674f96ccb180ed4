//! What is kept of receivers that are told late (`late_receivers.rs`).

use crate::wakeup::Wakeup;
use crossfade_core::SimTime;

/// How late receivers are told.
pub(crate) struct Late {
    pub(crate) is_on: bool,
    /// By how much at most.
    pub(crate) most: SimTime,
    pub(crate) wakeup: Wakeup,
    /// Before so many more segments have come, the run cannot end with one of them.
    pub(crate) harmless: u64,
    /// When segments were sent since receivers were told last, where it matters how many were sent after a delivery.
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
    /// A segment is sent.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: SimTime) {
        if self.keeps_sent {
            self.sent.push(now);
        }
    }
}
