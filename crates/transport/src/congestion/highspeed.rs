//! HighSpeed TCP (RFC 3649): large windows grow faster and are reduced less than Reno's.

use super::window::Window;
use super::{AckSample, CongestionControl, SlowStart};
use crossfade_core::SimTime;

/// `Low_Window` in segments: up to this window the control is Reno (RFC 3649 section 5).
const LOW_WINDOW: f64 = 38.0;
/// `High_Window` in segments, at which a loss reduces the window by [`HIGH_DECREASE`].
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_DECREASE: f64 = 0.1;

/// HighSpeed TCP (RFC 3649): grows by a(w) segments per RTT and is reduced by a share b(w) at a loss, so that the
/// window is 0.12/p^0.835 at a loss rate p. Windows are in segments.
#[derive(Clone, Debug)]
pub struct HighSpeed(Window);

impl HighSpeed {
    /// Creates the control of a new connection, with its initial window and threshold in segments.
    pub fn new(cwnd: f64, ssthresh: f64) -> Self {
        Self(Window::new(cwnd, ssthresh))
    }

    /// Replaces the slow start, which is standard by default.
    #[must_use]
    pub fn with_slow_start(self, slow_start: SlowStart) -> Self {
        Self(self.0.with_slow_start(slow_start))
    }
}

/// Decrease factor b(w) for a window of w segments, linear in the logarithm of w (RFC 3649 section 5).
fn decrease(window: f64) -> f64 {
    if window <= LOW_WINDOW {
        return 0.5;
    }
    let place = libm::log(window / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    (0.5 + (HIGH_DECREASE - 0.5) * place).max(HIGH_DECREASE)
}

/// Increase a(w) in segments per RTT for a window of w segments, with p(w) = 0.078/w^1.2 to the digits of appendix B
/// (RFC 3649 section 5).
fn increase(window: f64) -> f64 {
    if window <= LOW_WINDOW {
        return 1.0;
    }
    let (p, b) = (1.0 / (12.8 * libm::pow(window, 1.2)), decrease(window));
    (window * window * p * 2.0 * b / (2.0 - b)).max(1.0)
}

impl CongestionControl for HighSpeed {
    fn cwnd(&self) -> f64 {
        self.0.cwnd()
    }

    fn ssthresh(&self) -> f64 {
        self.0.ssthresh()
    }

    fn on_ack(&mut self, ack: &AckSample) {
        // Section 5: w <- w + a(w)/w per acknowledged segment, counting at most a window of segments.
        self.0.grow(ack, |cwnd| increase(cwnd) / cwnd * (ack.acked as f64).min(cwnd));
    }

    fn on_loss(&mut self, _now: SimTime, window: f64) {
        self.0.on_loss(window, decrease(window));
    }

    fn on_timeout(&mut self, _now: SimTime, window: f64) {
        self.0.on_timeout(window, decrease(window));
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.0.set_cwnd(cwnd);
    }

    fn on_ecn(&mut self, now: SimTime, window: f64) {
        self.on_loss(now, window);
        self.0.forget();
        // RFC 3168 section 6.1.2: a mark never enlarges a window; the minimum is one segment.
        self.0.set_cwnd((window * (1.0 - decrease(window))).max(1.0));
    }

    fn undo(&mut self) {
        self.0.undo();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(acked: u64) -> AckSample {
        AckSample { acked, cwnd_limited: true, ..AckSample::default() }
    }

    /// Increase a(w) and decrease b(w) agree with the table of RFC 3649 appendix B, which has a row for each window at
    /// which a(w) has grown by more than 1.
    #[test]
    fn increase_and_decrease_are_those_of_the_table() {
        let mut table = Vec::new();
        let mut last = 1.0;
        for window in 38..2_500 {
            let a = increase(f64::from(window));
            if a > last + 1.0 {
                table.push((window, (100.0 * decrease(f64::from(window))).round()));
                last = a;
            }
        }
        let first = [
            (118, 44.0),
            (221, 41.0),
            (347, 38.0),
            (495, 37.0),
            (663, 35.0),
            (851, 34.0),
            (1058, 33.0),
            (1284, 32.0),
            (1529, 31.0),
            (1793, 30.0),
            (2076, 29.0),
            (2378, 28.0),
        ];
        assert_eq!(table, first);
        assert_eq!((increase(38.0), decrease(38.0), decrease(1e6)), (1.0, 0.5, 0.1));
    }

    #[test]
    fn a_small_window_is_renos() {
        let mut control = HighSpeed::new(30.0, 10.0);
        (0..31).for_each(|_| control.on_ack(&ack(1)));
        assert!((control.cwnd() - 31.0).abs() < 0.03, "{}", control.cwnd());
        control.on_loss(SimTime::ZERO, 20.0);
        assert_eq!((control.cwnd(), control.ssthresh()), (10.0, 10.0));
        control.on_loss(SimTime::ZERO, 3.0);
        assert_eq!(control.cwnd(), 2.0);
    }

    #[test]
    fn a_spurious_reduction_is_undone_once_and_a_mark_never() {
        let mut control = HighSpeed::new(1000.0, 100.0);
        control.on_loss(SimTime::ZERO, 1000.0);
        assert!((control.cwnd() - 1000.0 * (1.0 - decrease(1000.0))).abs() < 1e-9);
        control.undo();
        assert_eq!((control.cwnd(), control.ssthresh()), (1000.0, 1000.0));
        control.on_ecn(SimTime::ZERO, 1000.0);
        let reduced = control.cwnd();
        control.undo();
        assert_eq!(control.cwnd(), reduced);
    }

    #[test]
    fn a_mark_never_enlarges_a_window() {
        for (window, left) in [(1.0, 1.0), (2.0, 1.0), (3.0, 1.5), (10.0, 5.0)] {
            let mut control = HighSpeed::new(window, 100.0);
            control.on_ecn(SimTime::ZERO, window);
            assert_eq!((control.cwnd(), control.ssthresh()), (left, (window / 2.0).max(2.0)));
        }
    }
}
