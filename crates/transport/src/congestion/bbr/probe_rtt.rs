//! `ProbeRTT`: few segments in flight for a while, so queues drain and the RTT without them can be measured.

use crate::congestion::RateSample;
use crate::congestion::rounds::Rounds;
use crossfade_core::SimTime;

/// Minimum duration of `ProbeRTT`; it also lasts at least one round.
const LASTS: SimTime = SimTime::from_millis(200);

/// State of `ProbeRTT`: when it may end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// Earliest end, known once the flight is small.
    until: Option<SimTime>,
    is_round_done: bool,
}

impl ProbeRtt {
    /// Begins `ProbeRTT`.
    pub(super) fn begin(&mut self) {
        self.until = None;
    }

    /// Takes an acknowledgement in `ProbeRTT`; `is_small` tells whether the flight has shrunk. Returns whether a round
    /// with a small flight has passed.
    pub(super) fn update(&mut self, sample: &RateSample, is_small: bool, rounds: &mut Rounds) -> bool {
        if self.until.is_some() {
            self.is_round_done |= rounds.starts;
            return self.is_round_done;
        }
        if is_small {
            *self = Self { until: Some(sample.now.saturating_add(LASTS)), is_round_done: false };
            rounds.restart(sample);
        }
        false
    }

    /// Whether `ProbeRTT` has lasted long enough.
    pub(super) fn is_over(&self, now: SimTime) -> bool {
        self.until.is_some_and(|until| now > until)
    }
}
