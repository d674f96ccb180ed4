//! HyStart as Linux has it (Ha and Rhee, "Taming the elephants: new TCP slow start", 2011): the first slow start ends
//! when the acknowledgements of a round last half a round trip, or when the round trip grows. RFC 9406 has dropped the
//! first, and goes on slowly after the second ([`super::HyStart`]).

use super::AckSample;
use crossfade_core::SimTime;

/// Below this window it does not look.
const LOW_WINDOW: u64 = 16;
/// Acknowledgements further apart than this are not of one train.
const ACK_DELTA: SimTime = SimTime::from_millis(2);
/// What segmentation offload may add to a train, for links below 2 Gbit/s.
const OFFLOAD_DELAY: SimTime = SimTime::from_millis(1);
/// So many samples come before the round trip of a round is judged.
const MIN_SAMPLES: u32 = 8;
/// Bounds of the increase of the round trip; in between an eighth of the shortest.
const DELAY_MIN: SimTime = SimTime::from_millis(4);
const DELAY_MAX: SimTime = SimTime::from_millis(16);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinuxHyStart {
    /// The round ends when more than this is acknowledged.
    end_seq: u64,
    round_start: SimTime,
    /// The last acknowledgement of the train.
    last_ack: SimTime,
    shortest: Option<SimTime>,
    samples: u32,
    found: bool,
}

impl LinuxHyStart {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// An acknowledgement of slow start that measures `rtt`, at a window of `cwnd`. Returns whether slow start ends.
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
            // Half of it, since nothing is paced.
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
        // With gaps beyond 2 ms there is no train, and below 16 segments it does not look.
        let mut apart = LinuxHyStart::new();
        assert!((0..60_u64).all(|i| !apart.on_ack(&ack(i * 2100, i + 1, 100), MS * 80, MS * 80, 40)));
        let mut small = LinuxHyStart::new();
        assert!((0..60_u64).all(|i| !small.on_ack(&ack(i * 1200, i + 1, 100), MS * 80, MS * 80, 15)));
    }

    #[test]
    fn a_round_trip_longer_by_an_eighth_ends_slow_start() {
        // 80 / 8 = 10 ms, judged from the ninth sample on.
        for (rtt, ends) in [(90, None), (91, Some(8))] {
            let mut hystart = LinuxHyStart::new();
            let found =
                (0..20_u64).find(|i| hystart.on_ack(&ack(i * 2100, i + 1, 100), MS * rtt, MS * 80, 40));
            assert_eq!(found, ends);
        }
    }
}
