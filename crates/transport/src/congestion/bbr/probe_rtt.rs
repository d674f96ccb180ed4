//! `ProbeRTT`: little is under way for a while, so that queues drain and the round trip without them can be measured.

use crate::congestion::RateSample;
use crate::congestion::rounds::Rounds;
use crossfade_core::SimTime;

/// So long, and a round at least.
const LASTS: SimTime = SimTime::from_millis(200);

/// When `ProbeRTT` may end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// Once the flight is small.
    until: Option<SimTime>,
    is_round_done: bool,
}

impl ProbeRtt {
    /// Begins `ProbeRTT`.
    pub(super) fn begin(&mut self) {
        self.until = None;
    }

    /// An acknowledgement comes in it; the flight `is_small` or not yet. Returns whether there was a round of that.
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

    /// Whether its time is over.
    pub(super) fn is_over(&self, now: SimTime) -> bool {
        self.until.is_some_and(|until| now > until)
    }
}
