//! Retransmission timeout of RFC 6298, in real time rather than clock ticks.

use super::{RttPolicy, TimerPolicy};
use crate::config::{RtoConfig, RtoRule};
use crossfade_core::SimTime;

/// Retransmission timer: estimator, back-off and expiry.
#[derive(Clone, Debug)]
pub(crate) struct Rto {
    config: RtoConfig,
    srtt: Option<SimTime>,
    rttvar: SimTime,
    /// RTT deviation as in Linux, which falls once per RTT; `None` unless every acknowledgement and SACK report gives a
    /// sample.
    falling: Option<FallingDeviation>,
    timers: TimerPolicy,
    /// Timeout before back-off.
    base: SimTime,
    backoff: u32,
    /// Timeout with back-off, cached since every segment needs it.
    current: SimTime,
    /// Time at which the timer expires; `None` if it does not run.
    pub(crate) deadline: Option<SimTime>,
}

impl Rto {
    pub(crate) fn new(config: RtoConfig, rtt: RttPolicy, timers: TimerPolicy) -> Self {
        let base = match config.rule {
            RtoRule::Fixed(timeout) => timeout,
            // RFC 6298 (2.1): a constant before the first measurement, for which it recommends 1 s.
            RtoRule::Estimated { min, initial, .. } => initial.max(min),
        };
        let (srtt, rttvar) = (None, SimTime::ZERO);
        let falling = rtt.from_every_report.then(FallingDeviation::default);
        Self { config, srtt, rttvar, falling, timers, base, backoff: 1, current: base, deadline: None }
    }

    /// Current timeout, including back-off.
    pub(crate) fn current(&self) -> SimTime {
        self.current
    }

    /// Current multiplier of the back-off.
    pub(crate) fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Timeout without back-off.
    pub(crate) fn base(&self) -> SimTime {
        self.base
    }

    /// Smoothed RTT; `None` before the first sample.
    pub(crate) fn srtt(&self) -> Option<SimTime> {
        self.srtt
    }

    /// Deviation of the RTT.
    pub(crate) fn rttvar(&self) -> SimTime {
        self.rttvar
    }

    /// Updates the estimate with RTT sample `rtt`, one of `samples` per window.
    pub(crate) fn on_sample(&mut self, rtt: SimTime, samples: u64) {
        match self.srtt {
            // RFC 6298 (2.2).
            None => self.estimate(rtt, part(rtt, 2)),
            // RFC 6298 (2.3) with alpha = 1/8, beta = 1/4; several samples per window share the gain (RFC 7323 section
            // 4.2).
            Some(srtt) => {
                let (alpha, beta) = (8 * samples, 4 * samples);
                let error = rtt.saturating_sub(srtt).max(srtt.saturating_sub(rtt));
                let rttvar = self.rttvar - part(self.rttvar, beta) + part(error, beta);
                self.estimate(srtt - part(srtt, alpha) + part(rtt, alpha), rttvar);
            }
        }
    }

    /// Updates the estimate with RTT sample `rtt`, one of `samples` per window, of an acknowledgement up to `snd_una`;
    /// `snd_max` is one past the highest segment sent.
    pub(crate) fn on_ack_sample(&mut self, rtt: SimTime, samples: u64, snd_una: u64, snd_max: u64) {
        let (srtt, Some(falling)) = (self.srtt, &mut self.falling) else {
            return self.on_sample(rtt, samples);
        };
        let floor = match self.config.rule {
            RtoRule::Estimated { granularity, .. } => granularity,
            RtoRule::Fixed(_) => SimTime::ZERO,
        };
        let deviation = falling.on_sample(rtt, srtt, floor, snd_una, snd_max);
        // 1/8 of the error, however many samples a window has.
        let srtt = srtt.map_or(rtt, |srtt| srtt - part(srtt, 8) + part(rtt, 8));
        self.estimate(srtt, part(deviation, 4));
    }

    /// Sets the timeout from an estimate of the RTT and its deviation.
    pub(crate) fn estimate(&mut self, srtt: SimTime, rttvar: SimTime) {
        (self.srtt, self.rttvar) = (Some(srtt), rttvar);
        if let RtoRule::Estimated { min, granularity, .. } = self.config.rule {
            // RFC 6298 (2.3) and (2.4): SRTT + max(G, 4 RTTVAR), at least the minimum.
            let timeout = srtt.saturating_add(rttvar.saturating_mul(4).max(granularity));
            self.base = self.timers.whole(timeout.max(min));
        }
        // RFC 6298 section 5: a new measurement ends the back-off.
        self.backoff = 1;
        self.update();
    }

    /// Doubles the timeout after an expiry (RFC 6298 (5.5)), up to a maximum (2.5).
    pub(crate) fn back_off(&mut self) {
        if self.config.backoff && self.current < self.config.max {
            self.backoff = self.backoff.saturating_mul(2);
            self.update();
        }
    }

    /// Ends the back-off.
    pub(crate) fn end_back_off(&mut self) {
        self.backoff = 1;
        self.update();
    }

    fn update(&mut self) {
        let longest = self.config.max.max(self.base);
        self.current = self.base.saturating_mul(u64::from(self.backoff)).min(longest);
    }

    /// Starts the timer when a segment is sent, unless it is running (RFC 6298 (5.1)).
    pub(crate) fn on_sent(&mut self, now: SimTime) {
        if self.deadline.is_none() {
            self.restart(now, true);
        }
    }

    /// Restarts the timer if any segment is in flight, and stops it otherwise (RFC 6298 (5.2), (5.3), (5.6)).
    pub(crate) fn restart(&mut self, now: SimTime, under_way: bool) {
        self.deadline = under_way.then(|| self.timers.expiry(now, self.current));
    }
}

/// RTT deviation times four, as Linux keeps it: it rises with every sample and falls once per RTT, and a sample below
/// the smoothed RTT counts one eighth.
#[derive(Clone, Copy, Debug, Default)]
struct FallingDeviation {
    /// Four times the mean deviation of the RTT.
    mean: SimTime,
    /// Largest `mean` within this RTT.
    largest: SimTime,
    /// Four times the deviation that the timeout uses.
    used: SimTime,
    /// The current RTT ends when more than this segment is acknowledged.
    round_end: u64,
}

impl FallingDeviation {
    fn on_sample(
        &mut self,
        rtt: SimTime,
        srtt: Option<SimTime>,
        floor: SimTime,
        snd_una: u64,
        snd_max: u64,
    ) -> SimTime {
        let Some(srtt) = srtt else {
            self.mean = rtt.saturating_mul(2);
            (self.used, self.largest) = (self.mean.max(floor), self.mean.max(floor));
            self.round_end = snd_max;
            return self.used;
        };
        let quarter = part(self.mean, 4);
        let error = rtt.saturating_sub(srtt).max(srtt.saturating_sub(rtt));
        if error < quarter {
            self.mean = self.mean - (quarter - error);
        } else {
            // A shorter RTT should hardly lengthen the timeout.
            let gain = if rtt < srtt { 8 } else { 1 };
            self.mean = self.mean.saturating_add(part(error - quarter, gain));
        }
        self.largest = self.largest.max(self.mean);
        self.used = self.used.max(self.largest);
        if snd_una > self.round_end {
            self.used = self.used - part(self.used.saturating_sub(self.largest), 4);
            (self.round_end, self.largest) = (snd_max, floor);
        }
        self.used
    }
}

/// `span / divisor`, rounded to the nearest nanosecond.
fn part(span: SimTime, divisor: u64) -> SimTime {
    SimTime::from_nanos(span.as_nanos().saturating_add(divisor / 2) / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    fn rto(min: u64) -> Rto {
        let rule = RtoRule::Estimated { min: MS * min, initial: MS * 1000, granularity: MS };
        Rto::new(RtoConfig { rule, backoff: true, max: MS * 60_000 }, RttPolicy::rfc(), TimerPolicy::rfc())
    }

    #[test]
    fn the_estimate_is_that_of_rfc_6298() {
        let mut rto = rto(200);
        assert_eq!(rto.current(), MS * 1000);
        // (2.2): 100 + 4 * 50.
        rto.on_sample(MS * 100, 1);
        assert_eq!(rto.current(), MS * 300);
        // (2.3): RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5, SRTT = 7/8 * 100 + 1/8 * 180 = 110.
        rto.on_sample(MS * 180, 1);
        assert_eq!((rto.srtt(), rto.rttvar()), (Some(MS * 110), SimTime::from_micros(57_500)));
        assert_eq!(rto.current(), MS * 340);
        // RFC 7323 section 4.2: each of two samples in a window has half the weight.
        rto.on_sample(MS * 190, 2);
        assert_eq!((rto.srtt(), rto.rttvar()), (Some(MS * 115), SimTime::from_nanos(60_312_500)));
    }

    #[test]
    fn a_steady_round_trip_leaves_the_minimum_or_the_granularity() {
        let (mut short, mut none) = (rto(200), rto(0));
        for _ in 0..200 {
            short.on_sample(MS * 40, 1);
            none.on_sample(MS * 40, 1);
        }
        assert_eq!(short.current(), MS * 200);
        assert_eq!(none.current(), MS * 41);
    }

    #[test]
    fn back_off_doubles_to_the_maximum_and_ends_with_a_sample() {
        let mut rto = rto(1000);
        let timeouts: Vec<u64> = (0..8)
            .map(|_| {
                rto.back_off();
                rto.current() / MS
            })
            .collect();
        assert_eq!(timeouts, [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
        rto.on_sample(MS * 40, 1);
        assert_eq!((rto.current(), rto.backoff()), (MS * 1000, 1));
    }

    #[test]
    fn linux_takes_an_eighth_of_every_sample_and_lets_the_deviation_fall_once_a_round_trip() {
        let rule = RtoRule::Estimated { min: MS * 200, initial: MS * 1000, granularity: MS * 200 };
        let config = RtoConfig { rule, backoff: true, max: MS * 60_000 };
        let mut rto = Rto::new(config, RttPolicy::linux(), TimerPolicy::rfc());
        rto.on_ack_sample(MS * 80, 1, 0, 10);
        // 80 + max(2 * 80, 200).
        assert_eq!(rto.current(), MS * 280);
        // Four deviations: 160 + (160 - 160/4) = 280; 80 + 160/8 = 100.
        rto.on_ack_sample(MS * 240, 50, 1, 20);
        assert_eq!((rto.srtt(), rto.current()), (Some(MS * 100), MS * 380));
        // Shorter by 92: 280 + (92 - 70)/8 = 282.75; the deviation in use does not fall within the RTT.
        rto.on_ack_sample(MS * 8, 50, 2, 20);
        assert_eq!(rto.srtt(), Some(SimTime::from_micros(88_500)));
        assert_eq!(rto.current(), SimTime::from_micros(88_500 + 282_750));
        // The RTT ends beyond segment 10; the next one starts from the floor.
        for snd_una in [11, 12] {
            rto.on_ack_sample(SimTime::from_micros(88_500), 50, snd_una, 30);
        }
        assert_eq!(rto.current(), SimTime::from_micros(88_500 + 282_750));
        // `after(snd_una, rtt_seq)`: the acknowledgement of segment 29, the last one sent, does not end the round trip.
        rto.on_ack_sample(SimTime::from_micros(88_500), 50, 30, 40);
        assert_eq!(rto.current(), SimTime::from_micros(88_500 + 282_750));
        rto.on_ack_sample(SimTime::from_micros(88_500), 50, 31, 60);
        assert!(rto.current() < SimTime::from_micros(88_500 + 282_750));
    }

    #[test]
    fn the_timer_runs_while_anything_is_under_way() {
        let mut rto = rto(1000);
        rto.on_sent(MS * 5);
        rto.on_sent(MS * 10);
        assert_eq!(rto.deadline, Some(MS * 1005), "(5.1): only if it is not running");
        rto.restart(MS * 20, true);
        assert_eq!(rto.deadline, Some(MS * 1020), "(5.3)");
        rto.restart(MS * 30, false);
        assert_eq!(rto.deadline, None, "(5.2)");
    }
}
