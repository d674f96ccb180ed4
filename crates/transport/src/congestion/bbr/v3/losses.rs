//! Reaction of BBR version 3 to losses (draft-ietf-ccwg-bbr section 5.5.10.2), and its undo if they were spurious
//! (section 5.5.11).

use super::marks::Marks;
use super::{BbrV3, Feedback, State};
use crate::congestion::{LostSegment, Phase, RateSample};
use crossfade_core::SimTime;

/// Number of losses in a round that ends Startup (draft-ietf-ccwg-bbr section 5.3.1.3). As in Linux, one loss is
/// counted per acknowledgement that reveals any.
const STARTUP_LOSSES: u32 = 6;

impl BbrV3 {
    /// Processes a lost segment (section 5.5.10.2, `BBRHandleLostPacket`): excessive losses during a probe lower the
    /// long-term bound.
    pub(super) fn take_loss(&mut self, lost: &LostSegment) {
        // The draft's pseudo-code saves the state at each first loss of a round, including one that ends a probe. The
        // prose's "start of the episode" is followed instead.
        if !std::mem::replace(&mut self.is_undo_saved, true) && !self.profile.is_linux {
            self.undo = (self.state, self.bounds);
        }
        self.note_loss();
        if !self.probe_samples {
            return;
        }
        let losses = self.profile.losses;
        if losses.is_too_much(lost.lost_since_sent, lost.tx_in_flight) {
            let at = RateSample { now: lost.now, delivered: self.bounds.delivered, ..RateSample::default() };
            let in_flight = losses.inflight_at_loss(lost.tx_in_flight, lost.lost_since_sent);
            self.handle_inflight_too_high(&at, in_flight, lost.app_limited);
        }
    }

    /// Processes a loss that a tail loss probe has repaired, as in the kernel (`bbr_run_loss_probe_recovery`); the
    /// draft does not treat this case.
    pub(super) fn take_repaired_loss(&mut self, now: SimTime, app_limited: bool) {
        self.note_loss();
        let in_flight = self.bounds.inflight_latest + 1.0;
        if self.probe_samples && self.profile.losses.is_too_much(1, in_flight as u64) {
            let at = RateSample { now, delivered: self.bounds.delivered, ..RateSample::default() };
            self.handle_inflight_too_high(&at, in_flight, app_limited);
        }
    }

    /// Ends Startup if a round had heavy losses (section 5.3.1.3, prose only).
    pub(super) fn look_for_heavy_loss(&mut self, sample: &RateSample) {
        let is_heavy = self.is_inflight_too_high(sample);
        if self.state == State::Startup
            && self.phase == Phase::Recovery
            && self.loss_events >= STARTUP_LOSSES
            && is_heavy
        {
            self.end_startup_for_queue();
        }
    }

    /// Ends Startup because the queue is too long: the long-term bound becomes the number of segments delivered in a
    /// round, at least a bandwidth-delay product.
    pub(super) fn end_startup_for_queue(&mut self) {
        self.full_pipe.reached = true;
        let bdp = if self.profile.is_linux { self.inflight(1.0) } else { self.bdp(self.max_bw(), 1.0) };
        self.bounds.inflight_longterm = bdp.max(self.bounds.inflight_latest);
    }

    /// True if losses or marks show that too many segments were in flight.
    pub(super) fn is_inflight_too_high(&self, sample: &RateSample) -> bool {
        self.profile.losses.is_too_much(sample.lost_since_sent, sample.tx_in_flight)
            || self.marks.is_some_and(|marks| marks.are_too_many(sample))
    }

    fn note_loss(&mut self) {
        self.bounds.note_loss();
        self.marks.iter_mut().for_each(Marks::note_loss);
    }

    /// In Linux, saves at the start of a recovery the state that an undo restores. A timeout also restarts the
    /// detection of growth, and sets the short-term bound to the former window.
    pub(super) fn on_phase_in_linux(&mut self, phase: Phase) {
        if phase != Phase::Open {
            self.undo = (self.state, self.bounds);
        }
        if phase == Phase::Loss {
            self.full_pipe.restart(0.0);
            if !self.state.probes_bandwidth() && self.bounds.inflight_shortterm.is_infinite() {
                self.bounds.inflight_shortterm = self.cwnd.max(self.prior_cwnd);
            }
        }
    }

    /// Undoes the reaction to losses that proved spurious (section 5.5.11): raises the bounds to their former values
    /// and, except in Linux, returns to the former state.
    pub(super) fn take_back(&mut self) {
        let (state, bounds) = self.undo;
        self.bounds.loss_in_round = false;
        self.full_pipe.restart(0.0);
        self.bounds.raise_to(&bounds);
        if self.profile.is_linux {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        } else if self.state != State::ProbeRtt && self.state != state {
            match state {
                State::Startup => {
                    self.state = State::Startup;
                    self.full_pipe.reached = false;
                }
                State::Up => {
                    self.bounds.start_rising(0);
                    self.feedback = Feedback::None;
                    self.state = State::Refill;
                }
                _ => {}
            }
        }
    }
}
