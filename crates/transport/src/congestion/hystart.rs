//! HyStart++ (RFC 9406): ends the first slow start when the RTT grows, before a queue overflows.

use super::AckSample;
use crossfade_core::SimTime;

/// Minimum RTT increase that ends slow start (RFC 9406 section 4.3).
const MIN_RTT_THRESH: SimTime = SimTime::from_millis(4);
/// Maximum RTT increase that ends slow start (RFC 9406 section 4.3).
const MAX_RTT_THRESH: SimTime = SimTime::from_millis(16);
/// Divisor of the last round's RTT that gives the RTT increase between its bounds (RFC 9406 section 4.3).
const MIN_RTT_DIVISOR: u64 = 8;
/// Minimum number of RTT samples in a round for a decision (RFC 9406 section 4.3).
const N_RTT_SAMPLE: u32 = 8;
/// Factor by which conservative slow start grows more slowly than slow start (RFC 9406 section 4.3).
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// Number of rounds of conservative slow start before congestion avoidance (RFC 9406 section 4.3).
const CSS_ROUNDS: u32 = 5;

/// Phase of HyStart++.
///
/// ```text
///                round trip grew            CSS_ROUNDS rounds
///   SlowStart ───────────────────► Conservative ───────────► Done
///             ◄───────────────────
///              round trip fell again
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    SlowStart,
    /// Conservative slow start (CSS).
    Conservative {
        /// Minimum RTT of the round that led to conservative slow start.
        baseline_min_rtt: SimTime,
        /// Number of rounds that have ended in this phase; the round under way at its start counts as a whole round.
        rounds: u32,
    },
    Done,
}

/// HyStart++ of one connection (RFC 9406 section 4.2). It applies to the first slow start only, since later ones know
/// `ssthresh` (section 4.3).
#[derive(Clone, Copy, Debug)]
pub struct HyStart {
    phase: Phase,
    /// Segment number whose acknowledgement ends the round; `None` before the first acknowledgement.
    window_end: Option<u64>,
    last_round_min_rtt: Option<SimTime>,
    current_round_min_rtt: Option<SimTime>,
    rtt_samples: u32,
}

impl HyStart {
    /// Creates the state of a new connection.
    pub fn new() -> Self {
        Self {
            phase: Phase::SlowStart,
            window_end: None,
            last_round_min_rtt: None,
            current_round_min_rtt: None,
            rtt_samples: 0,
        }
    }

    /// Divisor of slow start's growth: 1, or 4 in conservative slow start.
    pub fn growth_divisor(&self) -> f64 {
        match self.phase {
            Phase::Conservative { .. } => CSS_GROWTH_DIVISOR,
            Phase::SlowStart | Phase::Done => 1.0,
        }
    }

    /// Processes an acknowledgement in slow start. Returns true if congestion avoidance starts, with `ssthresh = cwnd`.
    pub fn on_ack(&mut self, ack: &AckSample) -> bool {
        if self.phase == Phase::Done {
            return false;
        }
        if let Some(rtt) = ack.rtt {
            let shortest = self.current_round_min_rtt.map_or(rtt, |shortest| shortest.min(rtt));
            self.current_round_min_rtt = Some(shortest);
            self.rtt_samples += 1;
        }
        self.look_at_round_trips();
        // The first round is the initial window, sent before the first acknowledgement.
        let window_end = *self.window_end.get_or_insert(ack.snd_max);
        if ack.next_expected >= window_end {
            self.end_round(ack.snd_max);
        }
        self.phase == Phase::Done
    }

    fn look_at_round_trips(&mut self) {
        let Some(current) = self.current_round_min_rtt.filter(|_| self.rtt_samples >= N_RTT_SAMPLE) else {
            return;
        };
        match (self.phase, self.last_round_min_rtt) {
            (Phase::SlowStart, Some(last)) => {
                let eighth = SimTime::from_nanos(last.as_nanos() / MIN_RTT_DIVISOR);
                let rtt_thresh = eighth.clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if current >= last.saturating_add(rtt_thresh) {
                    self.phase = Phase::Conservative { baseline_min_rtt: current, rounds: 0 };
                }
            }
            // The RTT fell again: leaving slow start was a mistake.
            (Phase::Conservative { baseline_min_rtt, .. }, _) if current < baseline_min_rtt => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
    }

    fn end_round(&mut self, snd_max: u64) {
        self.window_end = Some(snd_max);
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds >= CSS_ROUNDS {
                self.phase = Phase::Done;
            }
        }
    }
}

impl Default for HyStart {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test driver: feeds rounds of acknowledgements with given RTTs, one segment per acknowledgement.
    struct Rounds {
        hystart: HyStart,
        acked: u64,
        exited: bool,
    }

    impl Rounds {
        fn new() -> Self {
            Self { hystart: HyStart::new(), acked: 0, exited: false }
        }

        fn play(&mut self, rtts_ms: &[u64]) -> &mut Self {
            let end = self.acked + rtts_ms.len() as u64;
            for &rtt in rtts_ms {
                self.acked += 1;
                // Slow start sends two segments per acknowledged one; only the last matters here.
                let snd_max = if self.acked == end { end + 1000 } else { end };
                let sample = AckSample {
                    acked: 1,
                    rtt: Some(SimTime::from_millis(rtt)),
                    next_expected: self.acked,
                    snd_max,
                    cwnd_limited: true,
                    ..AckSample::default()
                };
                // A round ends with its last segment, so the next round is as long as its list.
                self.hystart.window_end = Some(end);
                self.exited |= self.hystart.on_ack(&sample);
            }
            self
        }

        fn round_of(&mut self, rtt_ms: u64) -> &mut Self {
            self.play(&[rtt_ms; 8])
        }

        fn is_conservative(&self) -> bool {
            self.hystart.growth_divisor() == CSS_GROWTH_DIVISOR
        }
    }

    #[test]
    fn the_threshold_is_an_eighth_of_the_round_trip_within_bounds() {
        // 80 / 8 = 10 ms; 8 / 8 = 1 ms, but at least 4; 400 / 8 = 50 ms, but at most 16.
        for (base, threshold) in [(80, 10), (8, 4), (400, 16)] {
            let mut below = Rounds::new();
            below.round_of(base).round_of(base + threshold - 1);
            assert!(!below.is_conservative(), "{base} ms");
            let mut at = Rounds::new();
            at.round_of(base).round_of(base + threshold);
            assert!(at.is_conservative(), "{base} ms");
        }
    }

    #[test]
    fn the_shortest_round_trip_of_eight_samples_decides() {
        let mut short = Rounds::new();
        short.round_of(80).play(&[200; 7]);
        assert!(!short.is_conservative(), "seven samples decide nothing");
        let mut jitter = Rounds::new();
        jitter.round_of(80).play(&[200, 200, 200, 89, 200, 200, 200, 200, 200]);
        assert!(!jitter.is_conservative(), "one early segment shows that there is no queue");
    }

    #[test]
    fn five_conservative_rounds_end_slow_start_and_the_broken_one_counts() {
        let mut rounds = Rounds::new();
        rounds.round_of(80).round_of(90);
        assert!(rounds.is_conservative());
        for _ in 0..3 {
            rounds.round_of(95);
        }
        assert!(!rounds.exited, "four rounds, the one of the 90 ms among them");
        rounds.round_of(95);
        assert!(rounds.exited);
        rounds.exited = false;
        rounds.round_of(500);
        assert!(!rounds.exited && !rounds.is_conservative(), "it is for the first slow start only");
    }

    #[test]
    fn slow_start_resumes_when_the_round_trip_falls_below_the_baseline() {
        let mut rounds = Rounds::new();
        rounds.round_of(80).round_of(92).round_of(92);
        assert!(rounds.is_conservative());
        rounds.round_of(91);
        assert!(!rounds.is_conservative(), "91 < 92 ms");
        // From here 91 ms is the last round's; 91 / 8 = 11.375 ms more are needed.
        rounds.round_of(102);
        assert!(!rounds.is_conservative());
        rounds.round_of(115);
        assert!(rounds.is_conservative(), "102 + 12.75 = 114.75 <= 115 ms");
        assert!(!rounds.exited, "the rounds of the first attempt are forgotten");
    }

    #[test]
    fn rounds_end_when_what_was_sent_before_is_acknowledged() {
        let mut hystart = HyStart::new();
        let ack = |next_expected, snd_max| AckSample { next_expected, snd_max, ..AckSample::default() };
        hystart.on_ack(&ack(1, 10));
        assert_eq!(hystart.window_end, Some(10), "the initial window");
        hystart.on_ack(&ack(9, 26));
        assert_eq!(hystart.window_end, Some(10));
        hystart.on_ack(&ack(10, 28));
        assert_eq!(hystart.window_end, Some(28));
    }
}
