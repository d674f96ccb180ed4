//! Token-bucket policers: a rate that is the same in two intervals full of losses is taken for theirs (Linux's
//! `bbr_lt_bw_sampling`). Only in version 1.

use crate::congestion::RateSample;
use crossfade_core::SimTime;

/// Rounds of an interval: at least and at most.
const ROUNDS: (u64, u64) = (4, 16);
/// Lost for each delivered, at least.
const LOSS: f64 = 50.0 / 256.0;
/// Two rates agree within this share of the first.
const CLOSE: f64 = 1.0 / 8.0;
/// Or within so many bit/s.
const CLOSE_BPS: f64 = 4000.0;
/// So many rounds the rate is used.
const USED: u64 = 48;

/// The long-term sampling of the bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    is_sampling: bool,
    rounds: u64,
    bandwidth: f64,
    is_used: bool,
    begun: SimTime,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// The rate that a policer lets through, in segments a second, if there seems to be one.
    pub(super) fn bandwidth(&self) -> Option<f64> {
        self.is_used.then_some(self.bandwidth)
    }

    fn begin_interval(&mut self, sample: &RateSample) {
        (self.begun, self.delivered, self.lost) = (sample.now, sample.delivered, sample.lost);
        self.rounds = 0;
    }

    pub(super) fn reset(&mut self, sample: &RateSample) {
        *self = Self::default();
        self.begin_interval(sample);
    }

    /// Takes an acknowledgement. Returns whether the rate has been used for long enough: time to probe again.
    pub(super) fn update(
        &mut self,
        sample: &RateSample,
        round_start: bool,
        probes: bool,
        segment_bits: f64,
    ) -> bool {
        if self.is_used {
            self.rounds += u64::from(probes && round_start);
            if probes && round_start && self.rounds >= USED {
                self.reset(sample);
                return true;
            }
            return false;
        }
        if !self.is_sampling {
            if sample.newly_lost == 0 {
                return false;
            }
            self.begin_interval(sample);
            self.is_sampling = true;
        }
        self.rounds += u64::from(round_start && !sample.app_limited);
        if sample.app_limited || self.rounds > ROUNDS.1 {
            self.reset(sample);
        } else if self.rounds >= ROUNDS.0 && sample.newly_lost > 0 {
            self.end_interval(sample, segment_bits);
        }
        false
    }

    fn end_interval(&mut self, sample: &RateSample, segment_bits: f64) {
        let lost = (sample.lost - self.lost) as f64;
        let delivered = (sample.delivered - self.delivered) as f64;
        let elapsed = sample.now.saturating_sub(self.begun);
        if delivered == 0.0 || lost < LOSS * delivered || elapsed < SimTime::from_millis(1) {
            return;
        }
        let bandwidth = delivered / elapsed.as_secs_f64();
        if self.bandwidth > 0.0 {
            let apart = (bandwidth - self.bandwidth).abs();
            if apart <= CLOSE * self.bandwidth || apart * segment_bits <= CLOSE_BPS {
                self.bandwidth = f64::midpoint(bandwidth, self.bandwidth);
                (self.is_used, self.rounds) = (true, 0);
                return;
            }
        }
        self.bandwidth = bandwidth;
        self.begin_interval(sample);
    }
}
