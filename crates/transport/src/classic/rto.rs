//! Retransmission timeout of flavours `paper` and `ns2`: estimator and timer.

use crate::config::{RtoConfig, RtoRule};
use crossfade_core::SimTime;
use std::collections::VecDeque;

/// Length of the retransmission timeout.
///
/// The estimator works in whole ticks of a coarse clock with the scaled integers of Jacobson 1988, appendix A: the
/// smoothed RTT in eighths and its deviation in quarters of a tick. BSD, ns-2 and RFC 6298 section 2 use this form.
#[derive(Clone, Debug)]
pub struct RetransmissionTimeout {
    config: RtoConfig,
    /// Timeout before back-off.
    base: SimTime,
    backoff: u32,
    /// Timeout with back-off, cached because every segment needs it.
    current: SimTime,
    srtt_eighths: i64,
    rttvar_quarters: i64,
}

impl RetransmissionTimeout {
    /// Creates a timeout with no RTT sample yet.
    pub fn new(config: RtoConfig) -> Self {
        let base = match config.rule {
            RtoRule::Fixed(timeout) => timeout,
            RtoRule::Estimated { min, initial, .. } => initial.max(min),
        };
        Self { config, base, backoff: 1, current: base, srtt_eighths: 0, rttvar_quarters: 0 }
    }

    /// Current timeout, back-off included.
    pub fn current(&self) -> SimTime {
        self.current
    }

    fn update(&mut self) {
        let longest = self.config.max.max(self.base);
        self.current = self.base.saturating_mul(u64::from(self.backoff)).min(longest);
    }

    /// Current back-off multiplier.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Doubles the timeout after an expiry, up to the maximum (RFC 6298 rule 5.5).
    pub fn back_off(&mut self) {
        // ns-2 lets the multiplier reach 64 even if the timeout reaches its maximum earlier.
        if self.config.backoff && (self.backoff < 64 || self.current() < self.config.max) {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if self.backoff > 8 && self.srtt_eighths > 0 {
            // After this many expiries the estimate probably belongs to another path: clear it, but keep its size as
            // deviation.
            self.rttvar_quarters += self.srtt_eighths / 8;
            self.srtt_eighths = 0;
        }
        self.update();
    }

    /// Ends the back-off; the caller decides which acknowledgements do so (Karn's algorithm).
    pub fn end_backoff(&mut self) {
        if self.backoff > 1 {
            self.backoff = 1;
            self.update();
        }
    }

    /// Takes the RTT sample of a segment sent once at `sent` and acknowledged at `now`.
    pub fn on_sample(&mut self, sent: SimTime, now: SimTime) {
        let RtoRule::Estimated { min, granularity, .. } = self.config.rule else { return };
        // A tick-counting clock measures the difference of whole ticks.
        let rtt = i64::try_from(now / granularity - sent / granularity).unwrap_or(i64::MAX >> 8).max(1);
        if self.srtt_eighths == 0 {
            self.srtt_eighths = rtt * 8;
            self.rttvar_quarters = rtt * 2;
        } else {
            let error = rtt - self.srtt_eighths / 8;
            self.srtt_eighths = (self.srtt_eighths + error).max(1);
            self.rttvar_quarters = (self.rttvar_quarters + error.abs() - self.rttvar_quarters / 4).max(1);
        }
        // srtt + 4 rttvar.
        let ticks = (self.rttvar_quarters * 8 + self.srtt_eighths) / 8;
        self.base = granularity.saturating_mul(ticks.unsigned_abs()).max(min);
        self.update();
    }
}

/// Retransmission timer: one for the flow, or one per segment.
#[derive(Clone, Debug)]
pub enum RetransmissionTimer {
    /// One timer for the flow, restarted by acknowledgements (RFC 6298 section 5; BSD; ns-2).
    Flow(Option<SimTime>),
    /// One timer per segment in flight (paper, section II), oldest first. A fast retransmit does not restart its
    /// segment's timer: the exponents in the paper's (17) to (19) show this.
    Segments(VecDeque<SimTime>),
}

impl RetransmissionTimer {
    /// Time of the next expiry; `None` if no timer runs.
    pub fn deadline(&self) -> Option<SimTime> {
        match self {
            Self::Flow(deadline) => *deadline,
            // Within a window segments are sent in order, so the oldest expires first.
            Self::Segments(deadlines) => deadlines.front().copied(),
        }
    }

    /// Starts the timer of the segment sent `ahead` segments beyond the oldest one in flight, to expire at `deadline`.
    /// A timer that already runs is kept.
    pub fn on_sent(&mut self, ahead: u64, deadline: SimTime) {
        match self {
            Self::Flow(running) => {
                running.get_or_insert(deadline);
            }
            Self::Segments(deadlines) => {
                if ahead == deadlines.len() as u64 {
                    deadlines.push_back(deadline);
                }
            }
        }
    }

    /// Removes the timers of the oldest `acked` segments, which were acknowledged; a timer of the flow keeps running.
    pub fn on_acked(&mut self, acked: u64) {
        if let Self::Segments(deadlines) = self {
            deadlines.drain(..deadlines.len().min(acked as usize));
        }
    }

    /// Restarts the flow's timer, to expire at `deadline`; timers of single segments keep running.
    pub fn restart(&mut self, deadline: SimTime) {
        if let Self::Flow(running) = self {
            *running = Some(deadline);
        }
    }

    /// Stops all timers.
    pub fn clear(&mut self) {
        match self {
            Self::Flow(running) => *running = None,
            Self::Segments(deadlines) => deadlines.clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    fn estimated() -> RetransmissionTimeout {
        RetransmissionTimeout::new(RtoConfig {
            rule: RtoRule::Estimated { min: MS * 200, initial: MS * 3000, granularity: MS * 10 },
            backoff: true,
            max: MS * 60_000,
        })
    }

    #[test]
    fn the_first_sample_gives_three_round_trips() {
        // RFC 6298 (2.2): SRTT = R, RTTVAR = R/2, RTO = R + 4 R/2.
        let mut rto = estimated();
        assert_eq!(rto.current(), MS * 3000);
        rto.on_sample(MS * 1000, MS * 1500);
        assert_eq!(rto.current(), MS * 1500);
    }

    #[test]
    fn a_steady_round_trip_shrinks_the_timeout_to_the_minimum() {
        let mut rto = estimated();
        for i in 0..100 {
            rto.on_sample(MS * (i * 100), MS * (i * 100 + 40));
        }
        assert_eq!(rto.current(), MS * 200);
    }

    #[test]
    fn backoff_doubles_up_to_the_maximum() {
        let mut rto = estimated();
        rto.on_sample(MS * 1000, MS * 1040);
        let timeouts: Vec<u64> = (0..11)
            .map(|_| {
                rto.back_off();
                rto.current() / MS
            })
            .collect();
        // Golden traces: the timeout doubles from 0.2 s to 51.2 s, then stays at 60 s.
        assert_eq!(timeouts, [400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000, 60_000]);
        rto.end_backoff();
        assert_eq!(rto.current(), MS * 200);
    }

    #[test]
    fn a_constant_timeout_stays_constant() {
        let config = RtoConfig { rule: RtoRule::Fixed(MS * 747), backoff: false, max: MS * 747 };
        let mut rto = RetransmissionTimeout::new(config);
        rto.back_off();
        rto.on_sample(MS, MS * 500);
        assert_eq!((rto.current(), rto.backoff()), (MS * 747, 1));
    }

    #[test]
    fn segments_keep_their_own_timers() {
        let mut timer = RetransmissionTimer::Segments(VecDeque::new());
        for ahead in 0..3 {
            timer.on_sent(ahead, MS * (100 + ahead));
        }
        // A retransmission of the oldest segment does not restart its timer.
        timer.on_sent(0, MS * 500);
        assert_eq!(timer.deadline(), Some(MS * 100));
        timer.on_acked(2);
        assert_eq!(timer.deadline(), Some(MS * 102));
        timer.on_acked(9);
        assert_eq!(timer.deadline(), None);
    }
}
