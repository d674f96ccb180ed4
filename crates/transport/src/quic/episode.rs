//! Losses that belong together: those of one reduction of the window, and those in a row.

use crossfade_core::SimTime;

/// A reduction of the window that losses caused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    /// Packets from this one to `recovery_end` belong to it.
    pub(super) first: u64,
    /// How many of them were found lost and have not arrived.
    pub(super) missing: u64,
}

/// The last packets in a row that were found lost. What is lost is found in the order of numbers, whichever threshold finds
/// it, so that the row may grow from one time to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LostRun {
    /// The number after its last.
    end: u64,
    /// Its first that left after a round trip was measured, and when.
    first: Option<(u64, SimTime)>,
}

impl LostRun {
    /// Packet `number`, sent at `sent_at`, is lost. Returns for how long nothing arrived of what was sent.
    pub(super) fn add(&mut self, number: u64, sent_at: SimTime, first_rtt_at: SimTime) -> SimTime {
        if self.end != number {
            self.first = None;
        }
        self.end = number + 1;
        let first = self.first.or(Some((number, sent_at)).filter(|_| sent_at >= first_rtt_at));
        self.first = first;
        first.map_or(SimTime::ZERO, |(_, since)| sent_at.saturating_sub(since))
    }

    /// Packet `number` has arrived after all.
    pub(super) fn on_arrival(&mut self, number: u64) {
        if self.first.is_some_and(|(first, _)| first <= number) {
            *self = Self::default();
        }
    }
}
