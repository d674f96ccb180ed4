//! Aggregation of acknowledgements: number of segments acknowledged beyond the estimated bandwidth times the elapsed
//! time (Linux's `bbr_update_ack_aggregation`, draft-ietf-ccwg-bbr section 5.5.9).

use crate::congestion::RateSample;
use crossfade_core::SimTime;

/// Recent maximum of the excess: segments acknowledged beyond estimated bandwidth times elapsed time, kept in two
/// buckets of rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    epoch: SimTime,
    epoch_acked: u64,
    /// Maximum excess in segments of the current and of the previous bucket.
    extra: [u64; 2],
    rounds: u64,
}

impl Aggregation {
    /// Maximum excess of the current and the previous bucket, in segments.
    pub(super) fn extra_acked(&self) -> u64 {
        self.extra[0].max(self.extra[1])
    }

    /// Restarts the measurement at `now`, after idle time.
    pub(super) fn restart(&mut self, now: SimTime) {
        (self.epoch, self.epoch_acked) = (now, 0);
    }

    /// Updates the maximum excess with an acknowledgement, at an estimated `bandwidth` in segments per second; a bucket
    /// lasts `bucket` rounds, and the excess is limited to `cwnd` segments.
    pub(super) fn update(
        &mut self,
        sample: &RateSample,
        bandwidth: f64,
        cwnd: u64,
        round_start: bool,
        bucket: u64,
    ) {
        if round_start && sample.newly_acked > 0 && sample.rate.is_some() {
            self.rounds += 1;
            if self.rounds >= bucket {
                self.rounds = 0;
                self.extra = [0, self.extra[0]];
            }
        }
        if let Some(extra) = self.excess(sample, bandwidth, cwnd) {
            self.extra[0] = self.extra[0].max(extra);
        }
    }

    /// Current excess in segments, at most `cwnd`; `None` if the acknowledgement gives no delivery rate.
    pub(super) fn excess(&mut self, sample: &RateSample, bandwidth: f64, cwnd: u64) -> Option<u64> {
        if sample.newly_acked == 0 || sample.rate.is_none() {
            return None;
        }
        let elapsed = sample.now.saturating_sub(self.epoch);
        let mut expected = (bandwidth * elapsed.as_secs_f64()) as u64;
        if self.epoch_acked <= expected {
            // Acknowledgements are no faster than expected: start a new measurement.
            (self.epoch, self.epoch_acked, expected) = (sample.now, 0, 0);
        }
        self.epoch_acked += sample.newly_acked;
        Some((self.epoch_acked - expected).min(cwnd))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With 50 acknowledgements at once every 60 ms, and an estimate of their mean rate of 833 segments per second, the
    /// excess is about 50 segments.
    #[test]
    fn what_waited_60_ms_is_50_segments_ahead() {
        let mut aggregation = Aggregation::default();
        for burst in 1..20 {
            let now = SimTime::from_millis(60 * burst);
            for ack in 0..50 {
                let sample = RateSample { now, newly_acked: 1, rate: Some(800.0), ..Default::default() };
                aggregation.update(&sample, 1e5 / 120.0, 200, ack == 0, 5);
            }
            assert!((49..=51).contains(&aggregation.extra_acked()), "{}", aggregation.extra_acked());
        }
        // Smooth acknowledgements: the excess is forgotten after five to ten rounds.
        for ack in 1..=1000_u64 {
            let now = SimTime::from_millis(60 * 20) + SimTime::from_micros(1200 * ack);
            let sample = RateSample { now, newly_acked: 1, rate: Some(800.0), ..Default::default() };
            aggregation.update(&sample, 1e5 / 120.0, 200, ack % 33 == 0, 5);
        }
        assert!(aggregation.extra_acked() <= 2, "{}", aggregation.extra_acked());
    }
}
