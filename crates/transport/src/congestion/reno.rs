//! Reno: slow start, additive increase and multiplicative decrease (RFC 5681 section 3.1).

use super::{AckSample, CongestionControl, SlowStart};
use crossfade_core::SimTime;

/// Rule in congestion avoidance for an acknowledgement that covers several segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckCounting {
    /// Each acknowledgement counts as one, so delayed ACKs halve the growth (RFC 5681 equation (3)).
    PerAck,
    /// Each covered segment counts (appropriate byte counting, RFC 3465 section 2.1).
    PerSegment,
    /// Each covered packet counts and adds its part at once (RFC 9002 appendix B.5).
    PerPacket,
}

/// Reno: slow start, additive increase, multiplicative decrease (RFC 5681 section 3.1). Windows are in segments.
#[derive(Clone, Debug)]
pub struct Reno {
    state: State,
    /// State before the last reduction; [`CongestionControl::undo`] restores it if the reduction proves spurious.
    before: Option<State>,
    counting: AckCounting,
}

#[derive(Clone, Copy, Debug)]
struct State {
    cwnd: f64,
    ssthresh: f64,
    /// Number of segments acknowledged since the last step of congestion avoidance.
    segments_acked: f64,
    slow_start: SlowStart,
}

impl Reno {
    /// Creates the control of a new connection, with its initial window and threshold in segments. It counts segments
    /// (as RFC 5681 recommends), with L = 1 in slow start.
    pub fn new(cwnd: f64, ssthresh: f64) -> Self {
        let state = State { cwnd, ssthresh, segments_acked: 0.0, slow_start: SlowStart::standard(1.0) };
        Self { state, before: None, counting: AckCounting::PerSegment }
    }

    /// Replaces the slow start, which is standard by default, for example by HyStart++.
    #[must_use]
    pub fn with_slow_start(mut self, slow_start: SlowStart) -> Self {
        self.state.slow_start = slow_start;
        self
    }

    /// Replaces the rule that counts ACKs in congestion avoidance.
    #[must_use]
    pub fn with_counting(mut self, counting: AckCounting) -> Self {
        self.counting = counting;
        self
    }

    /// Saves the state that [`CongestionControl::undo`] restores, with a threshold of at least the flight size
    /// `window`, so slow start leads back to it (RFC 4015 section 3.2, `pipe_prev`).
    fn remember(&mut self, window: f64) {
        self.before = Some(State { ssthresh: self.state.ssthresh.max(window), ..self.state });
    }

    /// Halves the window. `window` is the FlightSize in segments, since `cwnd` may be larger than the window in use.
    fn reduce(&mut self, window: f64) {
        // RFC 5681 equation (4).
        self.state.ssthresh = (window / 2.0).max(2.0);
        self.state.segments_acked = 0.0;
    }
}

impl CongestionControl for Reno {
    fn cwnd(&self) -> f64 {
        self.state.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.state.ssthresh
    }

    fn on_ack(&mut self, ack: &AckSample) {
        let state = &mut self.state;
        if state.cwnd < state.ssthresh {
            state.slow_start.grow(ack, &mut state.cwnd, &mut state.ssthresh);
            return;
        }
        state.slow_start.on_end();
        // A window that was not filled has not been tested (RFC 2861 section 3, RFC 7661 section 4.3).
        if !ack.cwnd_limited {
            return;
        }
        match self.counting {
            // RFC 5681 equation (3).
            AckCounting::PerAck => state.cwnd += 1.0 / state.cwnd,
            AckCounting::PerPacket => (0..ack.acked).for_each(|_| state.cwnd += 1.0 / state.cwnd),
            // RFC 3465 section 2.1: one segment more for each window acknowledged.
            AckCounting::PerSegment => {
                state.segments_acked += ack.acked as f64;
                if state.segments_acked >= state.cwnd {
                    // Grow by at most one segment, whatever the acknowledgement covers.
                    state.segments_acked = (state.segments_acked - state.cwnd).min(state.cwnd);
                    state.cwnd += 1.0;
                }
            }
        }
    }

    fn on_loss(&mut self, _now: SimTime, window: f64) {
        self.remember(window);
        self.reduce(window);
        self.state.slow_start.on_congestion();
        // RFC 5681 section 3.2 steps 2 and 6; recovery inflates it meanwhile.
        self.state.cwnd = self.state.ssthresh;
    }

    fn on_timeout(&mut self, _now: SimTime, window: f64) {
        self.remember(window);
        self.reduce(window);
        self.state.slow_start.on_timeout();
        // The loss window (RFC 5681 section 3.1).
        self.state.cwnd = 1.0;
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.state.cwnd = cwnd;
    }

    /// Reacts to a congestion mark like to a loss, but persistent marks reduce `cwnd` down to 1 segment (RFC 3168
    /// section 6.1.2).
    fn on_ecn(&mut self, _now: SimTime, window: f64) {
        // A mark is never spurious.
        self.before = None;
        self.reduce(window);
        self.state.slow_start.on_congestion();
        self.state.cwnd = (window / 2.0).max(1.0);
    }

    fn undo(&mut self) {
        // RFC 4015 section 3.2 step 5: restore the state, unless the window has outgrown it.
        if let Some(before) = self.before.take()
            && self.state.cwnd < before.cwnd
        {
            self.state = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(acked: u64) -> AckSample {
        AckSample { acked, cwnd_limited: true, ..AckSample::default() }
    }

    fn windows_after(mut control: Reno, acks: &[u64]) -> Vec<f64> {
        acks.iter()
            .map(|&acked| {
                control.on_ack(&ack(acked));
                control.cwnd()
            })
            .collect()
    }

    #[test]
    fn slow_start_counts_at_most_l_segments_an_acknowledgement() {
        let start = Reno::new(2.0, 100.0);
        assert_eq!(windows_after(start.clone(), &[1, 2, 7]), [3.0, 4.0, 5.0]);
        let start = start.with_slow_start(SlowStart::standard(2.0));
        assert_eq!(windows_after(start, &[1, 2, 7]), [3.0, 5.0, 7.0]);
    }

    #[test]
    fn after_a_timeout_l_is_one_until_slow_start_ends() {
        let mut control = Reno::new(8.0, 4.0).with_slow_start(SlowStart::standard(2.0));
        control.on_timeout(SimTime::ZERO, 8.0);
        assert_eq!((control.cwnd(), control.ssthresh()), (1.0, 4.0));
        assert_eq!(windows_after(control.clone(), &[5, 5, 5]), [2.0, 3.0, 4.0]);
        for acked in [5, 5, 5, 1] {
            control.on_ack(&ack(acked));
        }
        control.set_cwnd(1.0); // a restart after idle time
        assert_eq!(windows_after(control, &[5]), [3.0]);
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_a_window() {
        // With W = 4: 5 after 4 acknowledged segments, 6 after 5 more, also if two segments share an acknowledgement.
        let control = Reno::new(4.0, 4.0);
        assert_eq!(windows_after(control.clone(), &[1; 9]), [4.0, 4.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0, 6.0]);
        assert_eq!(windows_after(control.clone(), &[2; 5]), [4.0, 5.0, 5.0, 5.0, 6.0]);
        // Equation (3): 4 + 1/4, however many segments are covered.
        let control = control.with_counting(AckCounting::PerAck);
        assert_eq!(windows_after(control, &[2, 2]), [4.25, 305.0 / 68.0]);
    }

    #[test]
    fn a_window_that_is_not_filled_does_not_grow() {
        for ssthresh in [2.0, 100.0] {
            let mut control = Reno::new(4.0, ssthresh);
            for _ in 0..10 {
                control.on_ack(&AckSample { cwnd_limited: false, ..ack(1) });
            }
            assert_eq!(control.cwnd(), 4.0);
        }
    }

    #[test]
    fn half_of_what_is_under_way_becomes_the_threshold() {
        let mut control = Reno::new(20.0, 100.0);
        control.on_loss(SimTime::ZERO, 11.0);
        assert_eq!((control.cwnd(), control.ssthresh()), (5.5, 5.5));
        control.on_loss(SimTime::ZERO, 3.0);
        assert_eq!((control.cwnd(), control.ssthresh()), (2.0, 2.0));
        control.on_ecn(SimTime::ZERO, 2.0);
        assert_eq!((control.cwnd(), control.ssthresh()), (1.0, 2.0));
    }

    #[test]
    fn a_spurious_reduction_is_undone_once_and_a_mark_never() {
        let mut control = Reno::new(20.0, 100.0);
        control.on_timeout(SimTime::ZERO, 20.0);
        control.on_ack(&ack(1));
        control.undo();
        assert_eq!((control.cwnd(), control.ssthresh()), (20.0, 100.0));
        // The threshold was 5 and 18 segments were in flight: a sender that limits its burst returns by slow start.
        let mut avoiding = Reno::new(20.0, 5.0);
        avoiding.on_timeout(SimTime::ZERO, 18.0);
        avoiding.undo();
        assert_eq!((avoiding.cwnd(), avoiding.ssthresh()), (20.0, 18.0));
        control.on_loss(SimTime::ZERO, 20.0);
        control.on_ecn(SimTime::ZERO, 10.0);
        control.undo();
        assert_eq!((control.cwnd(), control.ssthresh()), (5.0, 5.0));
    }
}
