//! HyStart as in Linux (Ha and Rhee, "Taming the elephants: new TCP slow start", 2011): the first slow start ends when
//! the ACK train of a round lasts half an RTT, or when the RTT grows. HyStart++ of RFC 9406 ([`super::HyStart`]) drops
//! the first condition, and continues slowly after the second.

use super::AckSample;
use crossfade_core::SimTime;

/// Window in segments below which HyStart is inactive.
const LOW_WINDOW: u64 = 16;
/// Maximum gap between consecutive acknowledgements of one train.
const ACK_DELTA: SimTime = SimTime::from_millis(2);
/// Time that segmentation offload may add to a train, for links below 2 Gbit/s.
const OFFLOAD_DELAY: SimTime = SimTime::from_millis(1);
/// Minimum number of RTT samples in a round for a decision.
const MIN_SAMPLES: u32 = 8;
/// Minimum RTT increase that ends slow start; between the minimum and the maximum it is an eighth of the minimum RTT.
const DELAY_MIN: SimTime = SimTime::from_millis(4);
/// Maximum RTT increase that ends slow start.
const DELAY_MAX: SimTime = SimTime::from_millis(16);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinuxHyStart {
    /// Segment number whose acknowledgement ends the round.
    end_seq: u64,
    round_start: SimTime,
    /// Arrival of the last acknowledgement of the current train.
    last_ack: SimTime,
    shortest: Option<SimTime>,
    samples: u32,
    found: bool,
}

impl LinuxHyStart {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Processes an acknowledgement in slow start with RTT sample `rtt`, minimum RTT `delay_min` and a window of `cwnd`
    /// segments. Returns true if slow start ends.
    pub(super) fn on_ack(&mut self, ack: &AckSample, rtt: SimTime, delay_min: SimTime, cwnd: u64) -> bool {
        if self.found {
            return false;
        }
        if ack.next_expected > self.end_seq {
            let (end_seq, now) = (ack.snd_max, ack.now);
            *self = Self { end_seq, round_start: now, last_ack: now, ..Self::default() };
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        if ack.now.saturating_sub(self.last_ack) <= ACK_DELTA {
            self.last_ack = ack.now;
            // Half of the RTT, since the sender is not paced.
            let half = SimTime::from_nanos(delay_min.saturating_add(OFFLOAD_DELAY).as_nanos() / 2);
            self.found = ack.now.saturating_sub(self.round_start) > half;
        }
        let shortest = self.shortest.map_or(rtt, |shortest| shortest.min(rtt));
        self.shortest = Some(shortest);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else {
            let eighth = SimTime::from_nanos(delay_min.as_nanos() / 8);
            self.found |= shortest > delay_min.saturating_add(eighth.clamp(DELAY_MIN, DELAY_MAX));
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: SimTime = SimTime::from_millis(1);

    fn ack(micros: u64, next_expected: u64, snd_max: u64) -> AckSample {
        AckSample {
            now: SimTime::from_micros(micros),
            next_expected,
            snd_max,
            acked: 1,
            ..AckSample::default()
        }
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        // A round trip of 80 ms: (80 + 1) / 2 = 40.5 ms; acknowledgements 1.2 ms apart.
        let mut hystart = LinuxHyStart::new();
        let ends = (0..60_u64).find(|i| hystart.on_ack(&ack(i * 1200, i + 1, 100), MS * 80, MS * 80, 40));
        assert_eq!(ends, Some(34), "34 * 1.2 = 40.8 ms");
        // Gaps beyond 2 ms break the train, and below 16 segments HyStart is inactive.
        let mut apart = LinuxHyStart::new();
        assert!((0..60_u64).all(|i| !apart.on_ack(&ack(i * 2100, i + 1, 100), MS * 80, MS * 80, 40)));
        let mut small = LinuxHyStart::new();
        assert!((0..60_u64).all(|i| !small.on_ack(&ack(i * 1200, i + 1, 100), MS * 80, MS * 80, 15)));
    }

    #[test]
    fn a_round_trip_longer_by_an_eighth_ends_slow_start() {
        // 80 / 8 = 10 ms, decided from the ninth sample on.
        for (rtt, ends) in [(90, None), (91, Some(8))] {
            let mut hystart = LinuxHyStart::new();
            let found =
                (0..20_u64).find(|i| hystart.on_ack(&ack(i * 2100, i + 1, 100), MS * rtt, MS * 80, 40));
            assert_eq!(found, ends);
        }
    }
}
