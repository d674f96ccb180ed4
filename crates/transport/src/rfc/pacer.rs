//! Pacing: segments leave in bursts of a quantum at a given rate (draft-ietf-ccwg-bbr section 5.6.2; Linux's
//! `tcp_pacing_check` and `tcp_update_skb_after_send`).

use super::PacerPolicy;
use crate::config::Pacing;
use crate::congestion::CongestionControl;
use crossfade_core::SimTime;

/// Minimum pacing rate, in segments per second.
const LEAST: f64 = 0.1;
/// Number of segments sent before pacing starts, with Linux's rules; the burst that reaches it is the first paced one.
const UNPACED: u64 = 10;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    /// Earliest start of the next burst.
    next: SimTime,
    /// Start of the last burst, and number of segments that may still leave in it.
    burst: (SimTime, u64),
    /// True if a segment waits for time `next`.
    waits: bool,
    /// Number of segments in all bursts so far, counted at the start of each burst.
    sent: u64,
}

impl Pacer {
    /// True if a segment may leave at `now`.
    pub(crate) fn is_open(&self, now: SimTime) -> bool {
        self.next <= now || (self.burst.0 == now && self.burst.1 > 0)
    }

    /// Returns this pacer with `waits` set to whether a segment waits for it.
    pub(crate) fn waiting(self, waits: bool) -> Self {
        Self { waits, ..self }
    }

    /// Time at which the sender must be woken; `None` if no segment waits.
    pub(crate) fn deadline(&self) -> Option<SimTime> {
        self.waits.then_some(self.next)
    }

    /// Earliest start of the next burst, possibly in the past.
    pub(crate) fn due(&self) -> SimTime {
        self.next
    }

    /// Departure time of the next segment that is sent from `now` on.
    pub(crate) fn departure(&self, now: SimTime) -> SimTime {
        self.next.max(now)
    }

    /// Records a segment sent at `now`, after which the next burst waits; `rate` is in segments per second, `quantum`
    /// is the number of segments that leave back to back.
    pub(crate) fn on_sent(&mut self, now: SimTime, rate: f64, quantum: u64, policy: PacerPolicy) {
        // A rate of NaN counts as the minimum.
        let length = SimTime::from_secs_f64(1.0 / rate.max(LEAST));
        let mut credit = SimTime::ZERO;
        if self.burst.0 != now || self.burst.1 == 0 {
            self.burst = (now, quantum.max(1));
            self.sent = self.sent.saturating_add(self.burst.1);
            if policy.credits_late_bursts {
                let half = SimTime::from_nanos(length.as_nanos() / 2);
                credit = now.saturating_sub(self.next).min(half.saturating_mul(self.burst.1));
            }
        }
        self.burst.1 -= 1;
        self.waits = false;
        self.next = self.next.max(now);
        if !policy.first_ten_unpaced || self.sent >= UNPACED {
            self.next = self.next.saturating_add(length).saturating_sub(credit);
        }
    }
}

/// Pacing rate, in segments per second, for a congestion control that sets none: a multiple of the window per RTT, with
/// `under_way` segments in flight (Linux's `tcp_update_pacing_rate`; RFC 9002 section 7.7).
pub(crate) fn usual_rate(
    pacing: &Pacing,
    congestion: &dyn CongestionControl,
    under_way: u64,
    srtt: SimTime,
) -> f64 {
    let cwnd = congestion.cwnd();
    let is_early = cwnd < congestion.ssthresh() / 2.0;
    let ratio = if is_early { pacing.slow_start_ratio } else { pacing.ratio };
    ratio * cwnd.max(under_way as f64) / srtt.as_secs_f64()
}

/// Number of segments that leave back to back: as configured, or as congestion control sets, or else the data of 1/1024
/// s at `rate`, at least two (Linux's `tcp_tso_autosize`).
pub(crate) fn quantum(pacing: Option<&Pacing>, congestion: &dyn CongestionControl, rate: Option<f64>) -> u64 {
    let configured = pacing.and_then(|pacing| pacing.quantum);
    configured
        .or_else(|| congestion.send_quantum())
        .unwrap_or_else(|| rate.map_or(2, |rate| (rate / 1024.0) as u64).max(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    /// Departure times, rounded to whole units, of 12 segments that are all ready at 5 ms.
    fn departures(rate: f64, quantum: u64, policy: PacerPolicy) -> Vec<u64> {
        let (mut pacer, mut now) = (Pacer::default(), MS * 5);
        let mut left = Vec::new();
        while left.len() < 12 {
            if pacer.is_open(now) {
                pacer.on_sent(now, rate, quantum, policy);
                left.push(now.as_nanos() / 1_000_000);
            } else {
                now = pacer.waiting(true).deadline().unwrap();
            }
        }
        left
    }

    #[test]
    fn a_quantum_leaves_at_once_and_the_rate_is_kept() {
        assert_eq!(departures(1000.0, 1, PacerPolicy::rfc()), (5..17).collect::<Vec<_>>());
        assert_eq!(departures(1000.0, 2, PacerPolicy::rfc()), [5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15]);
        assert_eq!(departures(500.0, 5, PacerPolicy::rfc())[..11], [5, 5, 5, 5, 5, 15, 15, 15, 15, 15, 25]);
    }

    /// In Linux the packet that completes ten segments is the first after which pacing delays its successor
    /// (`tcp_update_skb_after_send`).
    #[test]
    fn linux_does_not_pace_the_first_ten() {
        let linux = |quantum| departures(1000.0, quantum, PacerPolicy::linux());
        assert_eq!(linux(1), [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 6, 7]);
        assert_eq!(linux(2), [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 7, 7]);
        assert_eq!(linux(4), [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5]);
        let mut pacer = Pacer::default();
        for now in [MS, MS * 2] {
            pacer.on_sent(now, 1000.0, u64::MAX, PacerPolicy::linux());
        }
        assert_eq!(pacer.departure(MS * 2), MS * 2, "a burst of any length is a late one");
    }

    #[test]
    fn idle_time_earns_no_credit() {
        let mut pacer = Pacer::default();
        pacer.on_sent(MS, 1000.0, 1, PacerPolicy::rfc());
        assert!(!pacer.is_open(MS));
        pacer.on_sent(MS * 100, 1000.0, 1, PacerPolicy::rfc());
        assert_eq!(pacer.departure(MS * 100), MS * 101);
        assert_eq!(pacer.departure(MS * 150), MS * 150);
    }

    #[test]
    fn whatever_the_rate_is_something_leaves() {
        for rate in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            let mut pacer = Pacer::default();
            pacer.on_sent(MS, rate, 0, PacerPolicy::rfc());
            assert_eq!(pacer.departure(MS), MS * 10_001);
        }
        let mut pacer = Pacer::default();
        pacer.on_sent(MS, f64::INFINITY, 1, PacerPolicy::rfc());
        assert!(pacer.is_open(MS));
    }
}
