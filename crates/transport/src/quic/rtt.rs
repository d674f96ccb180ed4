//! RTT estimation (RFC 9002 section 5) and the timeouts derived from it.

use crate::config::{QuicConfig, RtoConfig, RtoRule};
use crate::rfc::{Rto, RttPolicy, TimerPolicy};
use crossfade_core::SimTime;

/// Timer granularity: `kGranularity` of RFC 9002 section 6.1.2.
const GRANULARITY: SimTime = SimTime::from_millis(1);

#[derive(Clone, Debug)]
pub(super) struct RoundTrip {
    config: QuicConfig,
    /// Estimator, probe timeout without `max_ack_delay`, and back-off: the code of RFC 6298's timeout. RFC 9002
    /// appendix A.7 updates the deviation first, like RFC 6298; section 5.3 contradicts it by updating the smoothed RTT
    /// first.
    rto: Rto,
    min: Option<SimTime>,
    latest: SimTime,
    /// Time of the first RTT sample; `None` before it.
    first_at: Option<SimTime>,
}

impl RoundTrip {
    /// Creates an estimator; the RTT of the handshake, if it was measured, is its first sample.
    pub(super) fn new(config: &QuicConfig) -> Self {
        // Section 6.2.2: the initial RTT and, as its deviation, half of it.
        let initial = config.initial_rtt.saturating_mul(3);
        let rule = RtoRule::Estimated { min: SimTime::ZERO, initial, granularity: GRANULARITY };
        let rto = Rto::new(
            RtoConfig { rule, backoff: true, max: SimTime::MAX },
            RttPolicy::rfc(),
            TimerPolicy::rfc(),
        );
        let mut this = Self { config: *config, rto, min: None, latest: config.initial_rtt, first_at: None };
        if let Some(rtt) = config.handshake_rtt {
            this.on_sample(SimTime::ZERO, rtt, SimTime::ZERO);
        }
        this
    }

    /// Processes an RTT sample: the largest acknowledged packet left `rtt` before `now`, and the receiver delayed its
    /// ACK by `ack_delay` (RFC 9002 section 5.3, appendix A.7).
    pub(super) fn on_sample(&mut self, now: SimTime, rtt: SimTime, ack_delay: SimTime) {
        self.first_at.get_or_insert(now);
        self.latest = rtt;
        let min = self.min.map_or(rtt, |min| min.min(rtt));
        self.min = Some(min);
        let ack_delay = ack_delay.min(self.config.max_ack_delay);
        let is_plausible = self.rto.srtt().is_some() && rtt >= min.saturating_add(ack_delay);
        self.rto.on_sample(if is_plausible { rtt - ack_delay } else { rtt }, 1);
    }

    /// Ends the back-off of the probe timeout after an acknowledgement.
    pub(super) fn end_back_off(&mut self) {
        self.rto.end_back_off();
    }

    pub(super) fn back_off(&mut self) {
        self.rto.back_off();
    }

    pub(super) fn backoff(&self) -> u32 {
        self.rto.backoff()
    }

    pub(super) fn srtt(&self) -> Option<SimTime> {
        self.rto.srtt()
    }

    /// Time after its departure at which a packet overtaken by an acknowledged one is lost (RFC 9002 section 6.1.2).
    pub(super) fn loss_delay(&self) -> SimTime {
        let rtt = self.srtt().map_or(self.latest, |srtt| srtt.max(self.latest));
        SimTime::from_nanos((rtt.as_nanos() as f64 * self.config.time_threshold) as u64).max(GRANULARITY)
    }

    /// Time after the last departure at which probes are sent (RFC 9002 section 6.2.1).
    pub(super) fn probe_timeout(&self) -> SimTime {
        let held_back = self.config.max_ack_delay.saturating_mul(u64::from(self.backoff()));
        self.rto.current().saturating_add(held_back)
    }

    /// Time of the first RTT sample, and duration of persistent congestion: the time between the departures of two
    /// packets with everything between them lost (RFC 9002 section 7.6.1). `None` before that sample.
    pub(super) fn persistent(&self) -> Option<(SimTime, SimTime)> {
        let timeout = self.rto.base().saturating_add(self.config.max_ack_delay);
        Some((self.first_at?, timeout.saturating_mul(u64::from(self.config.persistent_threshold))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    fn measured(samples: &[(u64, u64)]) -> RoundTrip {
        let mut round_trip = RoundTrip::new(&QuicConfig::new(64));
        for &(rtt, ack_delay) in samples {
            round_trip.on_sample(MS * 1000, MS * rtt, MS * ack_delay);
        }
        round_trip
    }

    fn estimate(round_trip: &RoundTrip) -> (SimTime, SimTime) {
        (round_trip.srtt().unwrap(), round_trip.rto.rttvar())
    }

    /// The deviation is updated first, from the previous smoothed RTT (RFC 9002 appendix A.7); section 5.3 would give
    /// 46.25 ms.
    #[test]
    fn the_deviation_is_updated_first() {
        assert_eq!(estimate(&measured(&[(100, 0), (140, 0)])), (MS * 105, SimTime::from_micros(47_500)));
    }

    #[test]
    fn a_delay_counts_up_to_its_maximum_and_not_below_the_shortest_round_trip() {
        // 140 - 25, since ACK delay counts up to max_ack_delay: |115 - 100| / 4 + 3/4 * 50.
        let (srtt, rttvar) = (SimTime::from_micros(101_875), SimTime::from_micros(41_250));
        assert_eq!(estimate(&measured(&[(100, 0), (140, 25)])), (srtt, rttvar));
        assert_eq!(estimate(&measured(&[(100, 0), (140, 900)])), (srtt, rttvar));
        // 110 - 20 would be below the minimum RTT of 100.
        assert_eq!(estimate(&measured(&[(100, 0), (110, 20)])).0, SimTime::from_micros(101_250));
        // 120 - 20 is the minimum RTT, and not smaller: SRTT stays, the deviation is 3/4 * 50.
        let same = (MS * 100, SimTime::from_micros(37_500));
        assert_eq!(estimate(&measured(&[(100, 0), (120, 20)])), same);
        // The first sample and the minimum RTT ignore the ACK delay.
        let first = measured(&[(100, 20)]);
        assert_eq!((estimate(&first), first.min), ((MS * 100, MS * 50), Some(MS * 100)));
    }

    #[test]
    fn times_follow_from_the_estimate() {
        let mut unknown = RoundTrip::new(&QuicConfig::new(64));
        assert_eq!(unknown.probe_timeout(), MS * (3 * 333 + 25));
        assert_eq!(unknown.persistent(), None);
        unknown.back_off();
        assert_eq!(unknown.probe_timeout(), MS * (2 * (3 * 333 + 25)));
        // srtt 40, rttvar 20: 40 + 80 + 25.
        let mut known = measured(&[(40, 0)]);
        assert_eq!((known.probe_timeout(), known.loss_delay()), (MS * 145, MS * 45));
        assert_eq!(known.persistent(), Some((MS * 1000, MS * 435)));
        known.back_off();
        known.back_off();
        assert_eq!((known.probe_timeout(), known.backoff()), (MS * 580, 4));
        assert_eq!(known.persistent().unwrap().1, MS * 435, "without back-off");
        known.end_back_off();
        assert_eq!(known.probe_timeout(), MS * 145);
    }

    /// At a constant RTT the deviation falls until only the timer granularity remains.
    #[test]
    fn nothing_is_shorter_than_the_granularity() {
        let steady = measured(&[(0, 0); 100]);
        assert_eq!((steady.loss_delay(), steady.probe_timeout()), (MS, MS * 26));
    }
}
