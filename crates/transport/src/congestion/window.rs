//! A congestion window that is cut by any part of it.

use super::{AckSample, SlowStart};

/// The window of `HighSpeed` TCP, DCTCP and Prague, in segments: grows by fractions, is cut by any part, and remembers the state
/// before a loss.
#[derive(Clone, Debug)]
pub(super) struct Window {
    state: State,
    /// The state to go back to if the last reduction turns out spurious.
    before: Option<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    cwnd: f64,
    ssthresh: f64,
    slow_start: SlowStart,
}

impl Window {
    /// The least window that a reduction leaves (RFC 5681 equation (4)).
    const LEAST: f64 = 2.0;

    pub(super) fn new(cwnd: f64, ssthresh: f64) -> Self {
        Self { state: State { cwnd, ssthresh, slow_start: SlowStart::standard(1.0) }, before: None }
    }

    /// Replaces the slow start.
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

    /// Grows by an acknowledgement: below `ssthresh` as slow start does, from there on by what `growth` makes of the window.
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

    /// Marks ask for less, by this part of the window.
    pub(super) fn cut(&mut self, part: f64) {
        self.forget();
        self.state.slow_start.on_congestion();
        self.state.cwnd = (self.state.cwnd * (1.0 - part)).max(Self::LEAST);
        self.state.ssthresh = self.state.cwnd;
    }

    /// A loss takes a part off what was under way (RFC 5681 section 3.1).
    pub(super) fn on_loss(&mut self, window: f64, part: f64) {
        self.reduce(window, part);
        self.state.slow_start.on_congestion();
        self.state.cwnd = self.state.ssthresh;
    }

    /// A timeout takes it off the threshold, and leaves the loss window.
    pub(super) fn on_timeout(&mut self, window: f64, part: f64) {
        self.reduce(window, part);
        self.state.slow_start.on_timeout();
        self.state.cwnd = 1.0;
    }

    fn reduce(&mut self, window: f64, part: f64) {
        self.before = Some(State { ssthresh: self.state.ssthresh.max(window), ..self.state });
        self.state.ssthresh = (window * (1.0 - part)).max(Self::LEAST);
    }

    /// The last reduction is not to be undone: a mark is never spurious.
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
