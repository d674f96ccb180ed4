//! `ProbeRTT`: a state of BBR with few segments in flight, so queues drain and the RTT without queues can be measured.

use crate::congestion::RateSample;
use crate::congestion::rounds::Rounds;
use crossfade_core::SimTime;

/// Minimum duration of `ProbeRTT`; it also lasts at least one round.
const LASTS: SimTime = SimTime::from_millis(200);

/// State of `ProbeRTT`: the conditions for its end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// Earliest end of `ProbeRTT`; `None` until the number of segments in flight has fallen to the target.
    until: Option<SimTime>,
    is_round_done: bool,
}

impl ProbeRtt {
    /// Begins `ProbeRTT`.
    pub(super) fn begin(&mut self) {
        self.until = None;
    }

    /// Processes an acknowledgement in `ProbeRTT`; `is_small` if the number of segments in flight has fallen to the
    /// target. Returns true once a round has passed since then.
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

    /// True if `ProbeRTT` has lasted its minimum duration at `now`.
    pub(super) fn is_over(&self, now: SimTime) -> bool {
        self.until.is_some_and(|until| now > until)
    }
}
