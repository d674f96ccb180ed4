//! Congestion control of the paper and of ns-2: slow start, congestion avoidance and halving, one step per
//! acknowledgement. For RFC 5681 see [`super::Reno`].

use super::{AckSample, CongestionControl};
use crossfade_core::SimTime;

/// Rounding of the slow-start threshold to which a window W is halved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// `ssthresh = ceil(W/2)`, and recovery ends at that window (paper, section II).
    Up,
    /// `ssthresh = max(2, floor(W/2))`, and a fast retransmit leaves `cwnd = W/2` unrounded (ns-2.35,
    /// `slowdown`).
    Down,
}

/// Reno's additive increase and multiplicative decrease (Jacobson 1988), as in the flavours `paper` and `ns2`.
#[derive(Clone, Debug)]
pub struct PerAckReno {
    cwnd: f64,
    ssthresh: f64,
    /// Maximum congestion window in segments.
    limit: f64,
    rounding: Rounding,
}

impl PerAckReno {
    /// Creates a control with the initial window, the initial threshold and the maximum window `limit`, in segments.
    pub fn new(cwnd: f64, ssthresh: f64, limit: f64, rounding: Rounding) -> Self {
        Self { cwnd, ssthresh, limit, rounding }
    }
}

impl CongestionControl for PerAckReno {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// Grows by one step per acknowledgement, however many segments it covers, as in the paper and in ns-2.
    fn on_ack(&mut self, _ack: &AckSample) {
        let increment = if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
        self.cwnd = (self.cwnd + increment).min(self.limit);
    }

    fn on_loss(&mut self, _now: SimTime, window: f64) {
        let half = window / 2.0;
        match self.rounding {
            Rounding::Up => {
                self.ssthresh = half.ceil();
                self.cwnd = self.ssthresh;
            }
            Rounding::Down => {
                self.ssthresh = half.floor().max(2.0);
                self.cwnd = half.max(1.0);
            }
        }
    }

    fn on_timeout(&mut self, now: SimTime, window: f64) {
        self.on_loss(now, window);
        self.cwnd = 1.0;
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows_after_each_ack(mut control: PerAckReno, acks: usize) -> Vec<f64> {
        (0..acks)
            .map(|_| {
                control.on_ack(&AckSample::default());
                control.cwnd()
            })
            .collect()
    }

    #[test]
    fn slow_start_doubles_then_growth_is_linear() {
        let control = PerAckReno::new(1.0, 4.0, 100.0, Rounding::Up);
        // 4 + 1/4 = 17/4, then 17/4 + 4/17 = 305/68.
        assert_eq!(windows_after_each_ack(control, 5), [2.0, 3.0, 4.0, 4.25, 305.0 / 68.0]);
        // W_th = 1: congestion avoidance from the first acknowledgement (notes on the paper, section 3).
        let control = PerAckReno::new(1.0, 1.0, 100.0, Rounding::Up);
        assert_eq!(windows_after_each_ack(control, 3), [2.0, 2.5, 2.9]);
    }

    #[test]
    fn growth_stops_at_the_limit() {
        let control = PerAckReno::new(5.0, 100.0, 6.0, Rounding::Up);
        assert_eq!(windows_after_each_ack(control, 3), [6.0, 6.0, 6.0]);
    }

    #[test]
    fn halving_rounds_as_its_source_does() {
        let mut paper = PerAckReno::new(7.3, 20.0, 24.0, Rounding::Up);
        paper.on_loss(SimTime::ZERO, 7.3);
        assert_eq!((paper.cwnd(), paper.ssthresh()), (4.0, 4.0));
        let mut ns2 = PerAckReno::new(7.3, 20.0, f64::INFINITY, Rounding::Down);
        ns2.on_loss(SimTime::ZERO, 7.3);
        assert_eq!((ns2.cwnd(), ns2.ssthresh()), (3.65, 3.0));
        ns2.on_timeout(SimTime::ZERO, 3.65);
        assert_eq!((ns2.cwnd(), ns2.ssthresh()), (1.0, 2.0));
    }
}
