//! Congestion window that is reduced by any fraction.

use super::{AckSample, SlowStart};

/// Window of HighSpeed TCP, DCTCP and Prague, in segments: grows by fractions, is reduced by any fraction, and saves
/// the state before a loss.
#[derive(Clone, Debug)]
pub(super) struct Window {
    state: State,
    /// State before the last reduction; `undo` restores it if the reduction proves spurious.
    before: Option<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    cwnd: f64,
    ssthresh: f64,
    slow_start: SlowStart,
}

impl Window {
    /// Minimum window after a reduction, in segments (RFC 5681 equation (4)).
    const LEAST: f64 = 2.0;

    pub(super) fn new(cwnd: f64, ssthresh: f64) -> Self {
        Self { state: State { cwnd, ssthresh, slow_start: SlowStart::standard(1.0) }, before: None }
    }

    /// Replaces the slow start, which is standard by default.
    pub(super) fn with_slow_start(mut self, slow_start: SlowStart) -> Self {
        self.state.slow_start = slow_start;
        self
    }

    pub(super) fn cwnd(&self) -> f64 {
        self.state.cwnd
    }

    pub(super) fn ssthresh(&self) -> f64 {
        self.state.ssthresh
    }

    pub(super) fn set_cwnd(&mut self, cwnd: f64) {
        self.state.cwnd = cwnd;
    }

    /// Grows on an acknowledgement: by slow start below `ssthresh`, otherwise by the `growth` function of the window.
    pub(super) fn grow(&mut self, ack: &AckSample, growth: impl FnOnce(f64) -> f64) {
        let state = &mut self.state;
        if state.cwnd < state.ssthresh {
            state.slow_start.grow(ack, &mut state.cwnd, &mut state.ssthresh);
            return;
        }
        state.slow_start.on_end();
        if ack.cwnd_limited {
            state.cwnd += growth(state.cwnd);
        }
    }

    /// Reduces the window by the fraction `part`, in response to marks.
    pub(super) fn cut(&mut self, part: f64) {
        self.forget();
        self.state.slow_start.on_congestion();
        self.state.cwnd = (self.state.cwnd * (1.0 - part)).max(Self::LEAST);
        self.state.ssthresh = self.state.cwnd;
    }

    /// Reduces threshold and window to the flight size `window`, in segments, less the fraction `part`, after a loss
    /// (RFC 5681 section 3.1).
    pub(super) fn on_loss(&mut self, window: f64, part: f64) {
        self.reduce(window, part);
        self.state.slow_start.on_congestion();
        self.state.cwnd = self.state.ssthresh;
    }

    /// Reduces the threshold to the flight size `window`, in segments, less the fraction `part`, after a timeout, and
    /// sets the loss window of one segment.
    pub(super) fn on_timeout(&mut self, window: f64, part: f64) {
        self.reduce(window, part);
        self.state.slow_start.on_timeout();
        self.state.cwnd = 1.0;
    }

    fn reduce(&mut self, window: f64, part: f64) {
        self.before = Some(State { ssthresh: self.state.ssthresh.max(window), ..self.state });
        self.state.ssthresh = (window * (1.0 - part)).max(Self::LEAST);
    }

    /// Drops the saved state, since a reduction caused by marks is never spurious.
    pub(super) fn forget(&mut self) {
        self.before = None;
    }

    pub(super) fn undo(&mut self) {
        if let Some(before) = self.before.take()
            && self.state.cwnd < before.cwnd
        {
            self.state = before;
        }
    }
}
