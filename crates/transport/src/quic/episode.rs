//! Groups of lost packets: those of one window reduction, and runs of consecutive ones.

use crossfade_core::SimTime;

/// Window reduction caused by losses, which is undone if it proves spurious.
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    /// Number of the first packet of the episode, which ends before packet `recovery_end`.
    pub(super) first: u64,
    /// Number of the episode's packets that were found lost and have not arrived.
    pub(super) missing: u64,
}

/// Latest run of consecutive lost packets. Losses are found in the order of packet numbers, by either reordering
/// threshold, so the run may grow from one detection to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LostRun {
    /// One past the last packet number of the run.
    end: u64,
    /// Number and sending time of the run's first packet sent after the first RTT sample.
    first: Option<(u64, SimTime)>,
}

impl LostRun {
    /// Adds the lost packet `number`, sent at `sent_at`. Returns the time between the first and last departures of the
    /// run, a period from which no packet has arrived.
    pub(super) fn add(&mut self, number: u64, sent_at: SimTime, first_rtt_at: SimTime) -> SimTime {
        if self.end != number {
            self.first = None;
        }
        self.end = number + 1;
        let first = self.first.or(Some((number, sent_at)).filter(|_| sent_at >= first_rtt_at));
        self.first = first;
        first.map_or(SimTime::ZERO, |(_, since)| sent_at.saturating_sub(since))
    }

    /// Removes packet `number` from the run, because it has arrived after all.
    pub(super) fn on_arrival(&mut self, number: u64) {
        if self.first.is_some_and(|(first, _)| first <= number) {
            *self = Self::default();
        }
    }
}
