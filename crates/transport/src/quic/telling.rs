//! Reports of QUIC's sender to a congestion control that needs more than losses and growth, and pacing at its rate.

use super::QuicSender;
use crate::congestion::{ControlInfo, LostSegment, RateSample, SendEvent};
use crate::rfc::{Pacer, PacerPolicy, quantum, usual_rate};
use crossfade_core::{SimTime, Stream};

/// Rate at which bursts follow each other without a pacer, in windows per RTT (RFC 9002 section 7.7).
const PACING_RATIO: f64 = 1.25;

impl QuicSender {
    /// Reports the packets found lost since the last call.
    pub(super) fn tell_losses(&mut self, now: SimTime) {
        if let Some(deliveries) = &mut self.sent.deliveries {
            for lost in deliveries.take_lost() {
                self.congestion.on_segment_lost(&LostSegment { now, ..lost });
            }
        }
    }

    /// Reports the phase of loss recovery, if it has changed.
    pub(super) fn tell_phase(&mut self, now: SimTime) {
        if self.needs.samples && self.told_phase != self.phase {
            self.told_phase = self.phase;
            self.congestion.on_phase(now, self.phase, self.sent.in_flight());
        }
    }

    /// Number of packets found lost since the start, or 0 without delivery accounting.
    pub(super) fn lost_so_far(&self) -> u64 {
        self.sent.deliveries.as_ref().map_or(0, |deliveries| deliveries.lost())
    }

    /// Reports the delivery sample of an acknowledgement with `ce` new marks; before it, `prior_in_flight` packets were
    /// in flight and `prior_lost` found lost.
    pub(super) fn tell_delivery(&mut self, now: SimTime, prior_in_flight: u64, prior_lost: u64, ce: u64) {
        let in_flight = self.sent.in_flight();
        let Some(deliveries) = &mut self.sent.deliveries else { return };
        let sample = deliveries.sample(now, None, ce);
        self.congestion.on_delivery(&RateSample {
            srtt: self.round_trip.srtt(),
            newly_lost: sample.lost - prior_lost,
            in_flight,
            prior_in_flight,
            phase: self.phase,
            departure: self.pacer.as_ref().map_or(now, |pacer| pacer.departure(now)),
            ..sample
        });
        if self.congestion.limits_itself() {
            deliveries.on_nothing_to_send(in_flight);
        }
    }

    /// Reports that a packet is about to leave.
    pub(super) fn tell_send(&mut self, now: SimTime) {
        let in_flight = self.sent.in_flight();
        let Some(deliveries) = &self.sent.deliveries else { return };
        self.congestion.on_send(&SendEvent {
            now,
            in_flight,
            after_idle: in_flight == 0,
            app_limited: deliveries.is_app_limited(),
            srtt: self.round_trip.srtt(),
        });
    }

    /// Marks the sender as application-limited: the window allows a packet, but there is no data, and the stream's
    /// credit is not the cause.
    pub(super) fn note_lack_of_data(&mut self) {
        let in_flight = self.sent.in_flight();
        if self.stream.next() >= self.available
            && let Some(deliveries) = &mut self.sent.deliveries
        {
            deliveries.on_nothing_to_send(in_flight);
        }
    }

    /// Records whether a packet `waits` for the pacer or, without one, for the end of the last burst.
    pub(super) fn wait_for_pacer(&mut self, waits: bool) {
        self.pacer = self.pacer.map(|pacer| pacer.waiting(waits));
        // Without a pacer the rest of a burst leaves a burst later, at a pacer's usual rate: if one acknowledgement
        // frees more than a burst, no other may arrive before the next RTT.
        self.resumes = self.round_trip.srtt().filter(|_| waits && self.pacer.is_none()).map(|srtt| {
            let (start, length) = self.burst;
            let rate = PACING_RATIO * self.congestion.cwnd() / srtt.as_secs_f64();
            let lasts = SimTime::from_secs_f64(length as f64 / rate);
            start.saturating_add(lasts.max(SimTime::from_nanos(1)))
        });
    }

    /// Time at which a packet held back by the pacer, or behind a burst, may leave; `None` if none is held back.
    pub(super) fn opens_at(&self) -> Option<SimTime> {
        self.pacer.as_ref().map_or(self.resumes, Pacer::deadline)
    }

    /// Records a packet sent at `now` in the pacer or, without one, in the current burst.
    pub(super) fn pace(&mut self, now: SimTime) {
        let Some(mut pacer) = self.pacer else {
            self.burst = (now, if self.burst.0 == now { self.burst.1 + 1 } else { 1 });
            self.resumes = None;
            return;
        };
        if let Some(rate) = self.congestion.pacing_rate().or_else(|| self.usual_pacing_rate()) {
            let quantum = quantum(self.config.pacing.as_ref(), &*self.congestion, Some(rate));
            pacer.on_sent(now, rate, quantum, PacerPolicy::rfc());
        }
        self.pacer = Some(pacer);
    }

    fn usual_pacing_rate(&self) -> Option<f64> {
        let (srtt, pacing) = (self.round_trip.srtt()?, self.config.pacing?);
        Some(usual_rate(&pacing, &*self.congestion, self.in_flight(), srtt))
    }

    /// Passes the stream of random numbers to congestion control, if it needs one.
    pub(crate) fn seed(&mut self, stream: impl FnOnce() -> Stream) {
        if self.needs.random {
            self.congestion.seed(stream());
        }
    }

    /// Current state of congestion control.
    pub(crate) fn info(&self) -> ControlInfo {
        self.congestion.info()
    }
}
