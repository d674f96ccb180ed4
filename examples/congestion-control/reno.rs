//! Reno (RFC 5681 section 3.1), as the built-in one: slow start, additive increase, halving.

use crossfade_control::{AckSample, Control, Start, Time};

#[derive(Clone, Copy)]
struct State {
    cwnd: f64,
    ssthresh: f64,
    /// Segments acknowledged since the last step of congestion avoidance.
    segments_acked: f64,
}

struct Reno {
    state: State,
    /// The state to go back to if the last reduction turns out spurious.
    before: Option<State>,
}

impl Reno {
    fn remember(&mut self, window: f64) {
        // Slow start will lead back to what was under way (RFC 4015 section 3.2, `pipe_prev`).
        self.before = Some(State { ssthresh: self.state.ssthresh.max(window), ..self.state });
    }

    fn halve(&mut self, window: f64) {
        self.state.ssthresh = (window / 2.0).max(2.0); // equation (4)
        self.state.segments_acked = 0.0;
    }
}

impl Control for Reno {
    fn start(start: &Start) -> Self {
        let state = State { cwnd: start.cwnd, ssthresh: start.ssthresh, segments_acked: 0.0 };
        Self { state, before: None }
    }

    fn cwnd(&self) -> f64 {
        self.state.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.state.ssthresh
    }

    fn on_ack(&mut self, ack: &AckSample) {
        // A window that was not filled has not been tested.
        if !ack.cwnd_limited {
            return;
        }
        let state = &mut self.state;
        let acked = ack.acked as f64;
        if state.cwnd < state.ssthresh {
            state.cwnd += acked.min(1.0); // equation (2)
            return;
        }
        // One segment more for each window acknowledged (RFC 3465 section 2.1).
        state.segments_acked += acked;
        if state.segments_acked >= state.cwnd {
            state.segments_acked = (state.segments_acked - state.cwnd).min(state.cwnd);
            state.cwnd += 1.0;
        }
    }

    fn on_loss(&mut self, _now: Time, window: f64) {
        self.remember(window);
        self.halve(window);
        self.state.cwnd = self.state.ssthresh;
    }

    fn on_timeout(&mut self, _now: Time, window: f64) {
        self.remember(window);
        self.halve(window);
        self.state.cwnd = 1.0;
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.state.cwnd = cwnd;
    }

    fn on_ecn(&mut self, _now: Time, window: f64) {
        self.before = None;
        self.halve(window);
        self.state.cwnd = (window / 2.0).max(1.0);
    }

    fn undo(&mut self) {
        if let Some(before) = self.before.take()
            && self.state.cwnd < before.cwnd
        {
            self.state = before;
        }
    }
}

crossfade_control::export!(Reno);
