//! Detection of token-bucket policers in BBR version 1: an equal delivery rate in two intervals with many losses is
//! taken for the policer's rate (Linux's `bbr_lt_bw_sampling`).

use crate::congestion::RateSample;
use crossfade_core::SimTime;

/// Minimum and maximum length of a sampling interval, in rounds.
const ROUNDS: (u64, u64) = (4, 16);
/// Minimum ratio of lost to delivered segments in a sampling interval.
const LOSS: f64 = 50.0 / 256.0;
/// Relative difference of two intervals' delivery rates up to which they agree.
const CLOSE: f64 = 1.0 / 8.0;
/// Absolute difference of two intervals' delivery rates, in bit/s, up to which they agree.
const CLOSE_BPS: f64 = 4000.0;
/// Number of rounds for which a detected policer's rate replaces the bandwidth estimate.
const USED: u64 = 48;

/// Detector of a token-bucket policer, by long-term sampling of the delivery rate.
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
    /// Rate of the detected policer in segments per second; `None` if no policer is detected.
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

    /// Updates the detector with an acknowledgement. Returns true if the policer's rate has been used long enough, so
    /// that the path is probed again.
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
