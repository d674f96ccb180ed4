//! Minimum RTT in BBR version 3, and state `ProbeRTT`, in which it is measured again (sections 5.5.7 and 5.3.4).

use super::{BbrV3, Feedback, State};
use crate::congestion::RateSample;
use crate::congestion::bbr::MIN_RTT_WINDOW;
use crossfade_core::SimTime;

/// Interval between measurements of the minimum RTT (draft-ietf-ccwg-bbr section 2.5).
const INTERVAL: SimTime = SimTime::from_millis(5_000);

impl BbrV3 {
    /// Updates the minimum RTT and enters `ProbeRTT` when it is due (sections 5.5.7 and 5.3.4).
    pub(super) fn update_min_rtt(&mut self, sample: &RateSample) {
        let is_due = sample.now.saturating_sub(self.probe_rtt_min_at) > INTERVAL;
        if let Some(rtt) = sample.rtt.filter(|rtt| is_due || self.probe_rtt_min.is_none_or(|min| *rtt < min))
        {
            (self.probe_rtt_min, self.probe_rtt_min_at) = (Some(rtt), sample.now);
        }
        let is_old = sample.now.saturating_sub(self.min_rtt_at) > MIN_RTT_WINDOW;
        let is_less = |rtt, min| rtt < min || (self.profile.is_linux && rtt == min);
        if let Some(rtt) =
            self.probe_rtt_min.filter(|rtt| is_old || self.min_rtt.is_none_or(|min| is_less(*rtt, min)))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), self.probe_rtt_min_at);
        }
        if is_due && !self.after_idle && self.state != State::ProbeRtt {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt.begin();
            self.feedback = Feedback::Stopping;
            self.rounds.restart(sample);
        }
        if self.state == State::ProbeRtt {
            let is_small = sample.in_flight as f64 <= self.probe_rtt_cwnd();
            if self.probe_rtt.update(sample, is_small, &mut self.rounds) {
                self.look_for_end_of_probe_rtt(sample);
            }
        }
        self.after_idle &= sample.prior_delivered.is_none();
    }

    fn look_for_end_of_probe_rtt(&mut self, at: &RateSample) {
        if !self.probe_rtt.is_over(at.now) {
            return;
        }
        self.probe_rtt_min_at = at.now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.bounds.forget_shortterm();
        if self.full_pipe.reached {
            self.start_down(at);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}
