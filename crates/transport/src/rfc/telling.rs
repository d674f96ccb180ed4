//! Reports to a congestion control that needs more than losses and growth, and pacing at its rate.

use super::pacer::{quantum, usual_rate};
use super::{Phase, RfcSender};
use crate::congestion::{ControlInfo, LostSegment, RateSample, SendEvent};
use crate::segment::Ack;
use crossfade_core::{SimTime, Stream};

impl RfcSender {
    /// Sets the window after loss recovery, a timeout or idle time, unless congestion control sets it itself.
    pub(super) fn set_cwnd(&mut self, cwnd: f64) {
        if !self.fixed.needs.own_window {
            self.congestion.set_cwnd(cwnd);
        }
    }

    /// Reports the segments found lost since the last call.
    #[inline(never)]
    pub(super) fn tell_losses(&mut self, now: SimTime) {
        if let Some(deliveries) = &mut self.flight.deliveries {
            for lost in deliveries.take_lost() {
                self.congestion.on_segment_lost(&LostSegment { now, ..lost });
                self.loss_free_from = self.flight.snd_max();
            }
        }
    }

    /// Reports lost segments, and the phase of loss recovery if it has changed or begins `anew`, as at every timeout. A
    /// timeout is reported to every congestion control.
    #[inline(never)]
    pub(super) fn tell_phase(&mut self, now: SimTime, anew: bool) {
        if !self.fixed.needs.samples {
            if anew {
                self.congestion.on_phase(now, self.phase, self.pipe());
            }
            return;
        }
        self.tell_losses(now);
        let phase = self.phase_of_control();
        if anew || self.told_phase != phase {
            self.told_phase = phase;
            self.congestion.on_phase(now, phase, self.pipe());
        }
    }

    /// Phase of loss recovery reported to congestion control. If congestion control sets its own window, a recovery
    /// ends only when all losses are repaired (draft-ietf-ccwg-bbr, "Modulating cwnd in Loss Recovery"), not where RFC
    /// 6675 ends one and begins another, since the control would conserve packets each time.
    fn phase_of_control(&self) -> Phase {
        let lasts = self.phase == Phase::Open
            && self.told_phase == Phase::Recovery
            && self.fixed.needs.own_window
            && self.policy.rack.shows_one_recovery
            && self.flight.snd_una() < self.loss_free_from;
        if lasts { Phase::Recovery } else { self.phase }
    }

    /// Number of segments found lost since the start; 0 without delivery accounting.
    pub(super) fn lost_so_far(&self) -> u64 {
        self.flight.deliveries.as_ref().map_or(0, |deliveries| deliveries.lost())
    }

    /// Reports the delivery-rate sample of an acknowledgement and its `ce` new marks. Before it, `prior_in_flight`
    /// segments were in flight and `prior_lost` had been found lost. `answers_probe`: the acknowledgement answers a
    /// tail loss probe, or the original that the probe retransmitted.
    #[inline(never)]
    pub(super) fn tell_delivery(
        &mut self,
        now: SimTime,
        ack: &Ack,
        prior_in_flight: u64,
        prior_lost: u64,
        ce: u64,
        answers_probe: bool,
    ) {
        let in_flight = self.pipe();
        let timestamp = ack.timestamp_echo.filter(|_| self.config.rfc.timestamps);
        let Some(deliveries) = &mut self.flight.deliveries else { return };
        let sample = deliveries.sample(now, timestamp, ce);
        self.congestion.on_delivery(&RateSample {
            srtt: self.rto.srtt(),
            newly_lost: sample.lost - prior_lost,
            in_flight,
            prior_in_flight,
            answers_probe,
            phase: self.told_phase,
            departure: self.pacer.as_ref().map_or(now, |pacer| pacer.departure(now)),
            ..sample
        });
        if self.congestion.limits_itself() {
            deliveries.on_nothing_to_send(in_flight);
        }
    }

    /// Reports a segment that is about to leave.
    #[inline(never)]
    pub(super) fn tell_send(&mut self, now: SimTime) {
        let Some(deliveries) = &self.flight.deliveries else { return };
        let send = SendEvent {
            now,
            in_flight: self.pipe(),
            after_idle: self.flight.size() == 0,
            app_limited: deliveries.is_app_limited(),
            srtt: self.rto.srtt(),
        };
        self.congestion.on_send(&send);
    }

    /// Marks the connection as application-limited: the window would allow a segment, but there is no data
    /// (draft-ietf-ccwg-bbr section 4.1.2.4; the receiver's window does not count).
    pub(super) fn note_lack_of_data(&mut self) {
        if self.flight.snd_max() < self.available {
            return;
        }
        let pipe = self.flight.pipe();
        if let Some(deliveries) = &mut self.flight.deliveries {
            deliveries.on_nothing_to_send(pipe);
        }
    }

    /// True if the pacer holds the next segment back, in which case its timer wakes the sender.
    #[inline(never)]
    pub(super) fn is_held_back(&mut self, now: SimTime) -> bool {
        let Some(pacer) = self.pacer else { return false };
        if self.force.is_some() || pacer.is_open(now) {
            self.pacer = Some(pacer.waiting(false));
            return false;
        }
        // An upper bound of what `choose` allows: an unnecessary wake-up costs little.
        let window = self.congestion.cwnd() + f64::from(self.config.dupthresh);
        let waits = self.frto.budget().is_some() || (self.flight.size().min(self.pipe()) as f64) < window;
        self.pacer = Some(pacer.waiting(waits));
        // A full window was in use, even if acknowledgements open it before the pacer lets a segment go, as with small
        // windows (Linux checks after the loop of `tcp_write_xmit`).
        if self.is_window_full() {
            self.window_use.on_limited(self.flight.snd_max());
        }
        true
    }

    /// Records a sent segment in the pacer.
    #[inline(never)]
    pub(super) fn pace(&mut self, now: SimTime) {
        let rate = self.congestion.pacing_rate().or_else(|| self.usual_pacing_rate());
        let quantum = quantum(self.config.rfc.pacing.as_ref(), &*self.congestion, rate);
        if let Some((pacer, rate)) = self.pacer.as_mut().zip(rate) {
            pacer.on_sent(now, rate, quantum, self.policy.pacer);
        }
    }

    /// Pacing rate in segments per second for a congestion control that sets none; `None` without pacing, or before the
    /// first RTT sample.
    fn usual_pacing_rate(&self) -> Option<f64> {
        let (srtt, pacing) = (self.rto.srtt()?, self.config.rfc.pacing?);
        Some(usual_rate(&pacing, &*self.congestion, self.flight.size(), srtt))
    }

    /// Passes a stream of random numbers to congestion control, if it needs one.
    pub(crate) fn seed(&mut self, stream: impl FnOnce() -> Stream) {
        if self.fixed.needs.random {
            self.congestion.seed(stream());
        }
    }

    /// Current state of congestion control.
    pub(crate) fn info(&self) -> ControlInfo {
        self.congestion.info()
    }
}
