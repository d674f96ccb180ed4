//! DCTCP (RFC 8257): reduces the window once per window of data, in proportion to the share of marks.

use super::marked_share::MarkedShare;
use super::rounds::Rounds;
use super::window::Window;
use super::{AckSample, CongestionControl, Needs, Phase, RateSample};
use crossfade_core::SimTime;

/// Data Center TCP (RFC 8257), for networks under one administration. It grows like Reno, averages the share of marked
/// segments per window of data, and at the end of each window with a mark reduces `cwnd` by half of that average. A
/// loss halves `cwnd`.
#[derive(Clone, Debug)]
pub struct Dctcp {
    window: Window,
    share: MarkedShare,
    /// Detector of the end of each window of data.
    windows: Rounds,
}

impl Dctcp {
    /// Creates the control of a new connection, with its initial window and threshold in segments; `alpha` starts at 1
    /// (RFC 8257 section 4.2).
    pub fn new(cwnd: f64, ssthresh: f64) -> Self {
        Self { window: Window::new(cwnd, ssthresh), share: MarkedShare::new(1.0), windows: Rounds::default() }
    }
}

impl CongestionControl for Dctcp {
    fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> f64 {
        self.window.ssthresh()
    }

    fn needs(&self) -> Needs {
        Needs { samples: true, ect_1: true, ..Needs::default() }
    }

    fn on_delivery(&mut self, sample: &RateSample) {
        self.share.count(sample.newly_acked, sample.ce);
        // RFC 8257 section 3.3, steps 4 to 9. Recovery sets the window by itself.
        if self.windows.update(sample) && self.share.end_window() && sample.phase == Phase::Open {
            self.window.cut(self.share.alpha / 2.0);
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        self.window.grow(ack, |cwnd| ack.acked as f64 / cwnd);
    }

    fn on_loss(&mut self, _now: SimTime, window: f64) {
        self.window.on_loss(window, 0.5);
    }

    fn on_timeout(&mut self, _now: SimTime, window: f64) {
        self.window.on_timeout(window, 0.5);
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.window.set_cwnd(cwnd);
    }

    fn undo(&mut self) {
        self.window.undo();
    }
}

#[cfg(test)]
mod tests {
    use super::super::marked_share::testing::{marks, mean_window};
    use super::*;

    const RTT: SimTime = SimTime::from_millis(40);

    /// Delivers a window of `acked` segments, of which `ce` are marked, to `control`.
    fn window_of(control: &mut Dctcp, delivered: &mut u64, acked: u64, ce: u64) {
        let prior_delivered = Some(*delivered);
        *delivered += acked;
        let (newly_acked, delivered) = (acked, *delivered);
        control.on_delivery(&RateSample {
            delivered,
            prior_delivered,
            newly_acked,
            ce,
            ..RateSample::default()
        });
    }

    /// The average share follows alpha = 15/16 alpha + 1/16 M, and a window with marks reduces cwnd to cwnd (1 - alpha
    /// / 2): RFC 8257 section 3.3, calculated by hand.
    #[test]
    fn alpha_is_the_average_share_and_half_of_it_is_cut() {
        let (mut control, mut delivered) = (Dctcp::new(100.0, 100.0), 0);
        window_of(&mut control, &mut delivered, 100, 0);
        assert_eq!((control.share.alpha, control.cwnd()), (15.0 / 16.0, 100.0), "no mark, no cut");
        window_of(&mut control, &mut delivered, 100, 100);
        let alpha = 15.0 / 16.0 * 15.0 / 16.0 + 1.0 / 16.0;
        assert_eq!((control.share.alpha, control.cwnd()), (alpha, 100.0 * (1.0 - alpha / 2.0)));
        // More marks than segments, from reports of the previous window: the share is at most 1.
        window_of(&mut control, &mut delivered, 10, 30);
        assert!(control.share.alpha <= 1.0);
        // Without marks alpha falls to 0.
        (0..2000).for_each(|_| window_of(&mut control, &mut delivered, 10, 0));
        assert!(control.share.alpha < 1e-30);
    }

    /// Product of window W and mark probability p: 2 if marks come evenly; x (1 - exp(-x)) = 2, x = 2.24, if they come
    /// at random and the window is reduced at its end; growth by whole rounds makes it 2.30 at 1 %.
    #[test]
    fn the_window_times_the_share_of_marks_is_constant() {
        for (p, evenly, expected) in
            [(0.01, true, 2.0), (0.05, true, 2.0), (0.01, false, 2.27), (0.05, false, 2.24)]
        {
            let mut control = Dctcp::new(10.0, 10.0);
            let wp = p * mean_window(&mut control, RTT, 400_000, marks(p, evenly));
            assert!((wp / expected - 1.0).abs() < 0.05, "p = {p}, evenly {evenly}: {wp} against {expected}");
        }
    }

    #[test]
    fn a_loss_halves_and_is_undone_if_it_was_none() {
        let mut control = Dctcp::new(40.0, 20.0);
        control.on_loss(SimTime::ZERO, 36.0);
        assert_eq!((control.cwnd(), control.ssthresh()), (18.0, 18.0));
        control.undo();
        assert_eq!((control.cwnd(), control.ssthresh()), (40.0, 36.0));
        control.on_timeout(SimTime::ZERO, 40.0);
        assert_eq!((control.cwnd(), control.ssthresh()), (1.0, 20.0));
    }
}
