//! The retransmission timeout of RFC 6298, in real time.

use crate::config::{RtoConfig, RtoRule};
use crossfade_core::SimTime;

/// How long to wait, and until when.
#[derive(Clone, Debug)]
pub(super) struct Rto {
    config: RtoConfig,
    srtt: Option<SimTime>,
    rttvar: SimTime,
    /// Before back-off.
    base: SimTime,
    backoff: u32,
    /// What the two make, kept because every segment asks for it.
    current: SimTime,
    /// When the timer expires, if it runs.
    pub(super) deadline: Option<SimTime>,
}

impl Rto {
    pub(super) fn new(config: RtoConfig) -> Self {
        let base = match config.rule {
            RtoRule::Fixed(timeout) => timeout,
            // RFC 6298 (2.1): before the first measurement a constant, 1 s as it recommends.
            RtoRule::Estimated { min, initial, .. } => initial.max(min),
        };
        let (srtt, rttvar) = (None, SimTime::ZERO);
        Self { config, srtt, rttvar, base, backoff: 1, current: base, deadline: None }
    }

    /// The timeout now, back-off included.
    pub(super) fn current(&self) -> SimTime {
        self.current
    }

    /// The multiplier that back-off has reached.
    pub(super) fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The smoothed round trip, once there is one.
    pub(super) fn srtt(&self) -> Option<SimTime> {
        self.srtt
    }

    /// The deviation of the round trip.
    pub(super) fn rttvar(&self) -> SimTime {
        self.rttvar
    }

    /// A round trip `rtt` was measured, one of `samples` in a window.
    pub(super) fn on_sample(&mut self, rtt: SimTime, samples: u64) {
        match self.srtt {
            // RFC 6298 (2.2).
            None => self.estimate(rtt, part(rtt, 2)),
            // RFC 6298 (2.3) with alpha = 1/8, beta = 1/4; several samples a window share the gain (RFC 7323
            // section 4.2).
            Some(srtt) => {
                let (alpha, beta) = (8 * samples, 4 * samples);
                let error = rtt.saturating_sub(srtt).max(srtt.saturating_sub(rtt));
                let rttvar = self.rttvar - part(self.rttvar, beta) + part(error, beta);
                self.estimate(srtt - part(srtt, alpha) + part(rtt, alpha), rttvar);
            }
        }
    }

    /// Takes an estimate of the round trip and its deviation.
    pub(super) fn estimate(&mut self, srtt: SimTime, rttvar: SimTime) {
        (self.srtt, self.rttvar) = (Some(srtt), rttvar);
        if let RtoRule::Estimated { min, granularity, .. } = self.config.rule {
            // RFC 6298 (2.3) and (2.4): SRTT + max(G, 4 RTTVAR), at least the minimum.
            let timeout = srtt.saturating_add(rttvar.saturating_mul(4).max(granularity));
            self.base = timeout.max(min);
        }
        // RFC 6298 section 5: a new measurement ends the back-off.
        self.backoff = 1;
        self.update();
    }

    /// RFC 6298 (5.5): the timer expired, the next time is twice as long; (2.5): up to a maximum.
    pub(super) fn back_off(&mut self) {
        if self.config.backoff && self.current < self.config.max {
            self.backoff = self.backoff.saturating_mul(2);
            self.update();
        }
    }

    fn update(&mut self) {
        let longest = self.config.max.max(self.base);
        self.current = self.base.saturating_mul(u64::from(self.backoff)).min(longest);
    }

    /// RFC 6298 (5.1): a segment was sent; if the timer is not running, start it.
    pub(super) fn on_sent(&mut self, now: SimTime) {
        self.deadline.get_or_insert(now.saturating_add(self.current));
    }

    /// RFC 6298 (5.2), (5.3), (5.6): restart the timer if anything is under way, stop it otherwise.
    pub(super) fn restart(&mut self, now: SimTime, under_way: bool) {
        self.deadline = under_way.then(|| now.saturating_add(self.current));
    }
}

/// `span / divisor`, rounded to the nearest nanosecond.
fn part(span: SimTime, divisor: u64) -> SimTime {
    SimTime::from_nanos((span.as_nanos() + divisor / 2) / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    fn rto(min: u64) -> Rto {
        let rule = RtoRule::Estimated { min: MS * min, initial: MS * 1000, granularity: MS };
        Rto::new(RtoConfig { rule, backoff: true, max: MS * 60_000 })
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
        // RFC 7323 section 4.2: of two samples in a window each has half the weight.
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
