//! `ProbeBW`: mostly sends at the estimated bandwidth, and at times above it to probe for more (section 5.3.3).

use super::{BbrV3, Feedback, State};
use crate::congestion::RateSample;
use crossfade_core::SimTime;
use rand::RngExt;

/// Maximum number of rounds between bandwidth probes, about as many as Reno would need (draft-ietf-ccwg-bbr section
/// 5.3.3.8).
const MOST_ROUNDS: f64 = 63.0;

impl BbrV3 {
    pub(super) fn start_down(&mut self, sample: &RateSample) {
        self.reset_signals();
        self.bounds.stop_rising();
        // Section 5.3.3.5: wait 2 to 3 s, and count rounds from 0 or 1.
        self.rounds_since_probe = self.random.random_range(0..2);
        self.probe_wait = SimTime::from_nanos(self.random.random_range(2_000_000_000..3_000_000_000));
        self.cycle_at = sample.now;
        self.feedback = Feedback::Stopping;
        self.rounds.restart(sample);
        self.state = State::Down;
    }

    pub(super) fn start_cruise(&mut self) {
        if self.profile.is_linux && self.bounds.inflight_shortterm.is_finite() {
            self.bounds.inflight_shortterm =
                self.bounds.inflight_shortterm.min(self.bounds.inflight_longterm);
        }
        self.state = State::Cruise;
    }

    /// Starts REFILL; the next probe begins with the slope that growth would have after `up_rounds` rounds.
    pub(super) fn start_refill(&mut self, sample: &RateSample, up_rounds: u32) {
        self.bounds.forget_shortterm();
        self.bounds.start_rising(up_rounds);
        self.stopped_early = false;
        self.feedback = Feedback::None;
        self.rounds.restart(sample);
        self.state = State::Refill;
    }

    pub(super) fn start_up(&mut self, sample: &RateSample) {
        self.feedback = Feedback::Starting;
        self.probe_samples = true;
        self.rounds.restart(sample);
        self.full_pipe.restart(sample.rate.unwrap_or(0.0));
        self.bounds.raise_slope(self.cwnd);
        self.state = State::Up;
    }

    /// Updates the phase of the probing cycle after an acknowledgement (section 5.3.3.6).
    pub(super) fn update_cycle(&mut self, sample: &RateSample) {
        if !self.full_pipe.reached {
            return;
        }
        if self.adapt_longterm(sample) || !self.state.is_probe_bw() {
            return;
        }
        let in_flight = self.in_network(sample, sample.prior_in_flight);
        let (state, reprobe) = (self.state, self.reprobe(sample.phase));
        match state {
            State::Down | State::Cruise if reprobe.is_some() || self.is_time_to_probe(sample.now) => {
                self.start_refill(sample, reprobe.unwrap_or(0));
            }
            State::Down if in_flight <= self.bounds.with_headroom() && in_flight <= self.inflight(1.0) => {
                self.start_cruise();
            }
            State::Refill if self.rounds.starts => self.start_up(sample),
            State::Up if self.is_time_to_go_down(sample, in_flight) => {
                self.prev_probe_too_high = false;
                self.start_down(sample);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: SimTime) -> bool {
        let rounds = self.target_inflight().min(MOST_ROUNDS);
        now.saturating_sub(self.cycle_at) > self.probe_wait || self.rounds_since_probe as f64 >= rounds
    }

    fn is_cwnd_limited(&self, sample: &RateSample) -> bool {
        sample.prior_in_flight as f64 >= self.cwnd.floor()
    }

    fn is_time_to_go_down(&mut self, sample: &RateSample, in_flight: f64) -> bool {
        let longterm = self.bounds.inflight_longterm;
        if self.prev_probe_too_high && in_flight >= longterm.floor() {
            // Stop early, as a precaution: the last probe had losses at this level.
            self.stopped_early = true;
            return true;
        }
        if self.is_cwnd_limited(sample) && self.cwnd >= longterm {
            // The window was limited by the bound, so a constant rate is no plateau of the path.
            self.full_pipe.restart(sample.rate.unwrap_or(0.0));
            return false;
        }
        self.full_pipe.now
    }

    /// Adapts the long-term bound to an acknowledgement (section 5.5.10.2, `BBRAdaptLongTermModel`). Returns true if a
    /// probe starts at once, because the last one stopped early without losses.
    fn adapt_longterm(&mut self, sample: &RateSample) -> bool {
        if self.rounds.starts {
            match self.feedback {
                Feedback::Starting => self.feedback = Feedback::Coming,
                Feedback::Stopping => {
                    self.probe_samples = false;
                    self.feedback = Feedback::None;
                    // Starts a new cycle of the bandwidth filter, unless it is empty: the known maximum would be lost.
                    if self.state.is_probe_bw() && !sample.app_limited && self.max_bw[0] > 0.0 {
                        self.max_bw = [0.0, self.max_bw[0]];
                    }
                    let again = std::mem::take(&mut self.stopped_early) && !self.prev_probe_too_high;
                    if again && self.state.is_probe_bw() {
                        self.start_refill(sample, 0);
                        return true;
                    }
                }
                Feedback::None | Feedback::Coming => {}
            }
        }
        if self.is_inflight_too_high(sample) {
            if self.probe_samples {
                self.handle_inflight_too_high(sample, sample.tx_in_flight as f64, sample.app_limited);
            }
            return false;
        }
        let is_limited = self.is_cwnd_limited(sample) && self.cwnd >= self.bounds.inflight_longterm;
        let rises = self.state == State::Up && is_limited;
        self.bounds.note_no_excess(sample, rises, self.cwnd, self.state == State::Up && self.rounds.starts);
        false
    }

    /// Lowers the long-term bound after excessive losses with `tx_in_flight` segments in flight, unless
    /// application-limited, and ends UP (section 5.5.10.2).
    pub(super) fn handle_inflight_too_high(&mut self, at: &RateSample, tx_in_flight: f64, app_limited: bool) {
        self.prev_probe_too_high = true;
        self.probe_samples = false;
        if !app_limited {
            self.bounds.inflight_longterm = tx_in_flight.max(self.profile.losses.cut(self.target_inflight()));
        }
        if self.state == State::Up {
            self.start_down(at);
        }
    }
}
