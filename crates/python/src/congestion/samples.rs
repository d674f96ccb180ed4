//! Events that a congestion control in Python is told of. Times are in seconds, windows and counts in segments.

use crossfade_core::SimTime;
use crossfade_transport::congestion::{self, Phase};
use pyo3::prelude::*;

/// An acknowledgement of new segments. Times are in seconds, counts in segments.
#[pyclass(frozen, get_all, module = "crossfade._crossfade")]
pub(crate) struct AckSample {
    now: f64,
    acked: u64,
    rtt: Option<f64>,
    next_expected: u64,
    snd_max: u64,
    cwnd_limited: bool,
}

#[pymethods]
impl AckSample {
    #[new]
    #[pyo3(signature = (now, acked, *, rtt = None, next_expected = 0, snd_max = 0, cwnd_limited = true))]
    fn new(
        now: f64,
        acked: u64,
        rtt: Option<f64>,
        next_expected: u64,
        snd_max: u64,
        cwnd_limited: bool,
    ) -> Self {
        Self { now, acked, rtt, next_expected, snd_max, cwnd_limited }
    }
}

impl From<&congestion::AckSample> for AckSample {
    fn from(ack: &congestion::AckSample) -> Self {
        Self {
            now: ack.now.as_secs_f64(),
            acked: ack.acked,
            rtt: ack.rtt.map(SimTime::as_secs_f64),
            next_expected: ack.next_expected,
            snd_max: ack.snd_max,
            cwnd_limited: ack.cwnd_limited,
        }
    }
}

/// The sender is about to send a segment. Times are in seconds, counts in segments.
#[pyclass(frozen, get_all, module = "crossfade._crossfade")]
pub(crate) struct SendEvent {
    now: f64,
    in_flight: u64,
    after_idle: bool,
    app_limited: bool,
    srtt: Option<f64>,
}

impl From<&congestion::SendEvent> for SendEvent {
    fn from(send: &congestion::SendEvent) -> Self {
        Self {
            now: send.now.as_secs_f64(),
            in_flight: send.in_flight,
            after_idle: send.after_idle,
            app_limited: send.app_limited,
            srtt: send.srtt.map(SimTime::as_secs_f64),
        }
    }
}

/// A segment was declared lost. Times are in seconds, counts in segments.
#[pyclass(frozen, get_all, module = "crossfade._crossfade")]
pub(crate) struct LostSegment {
    now: f64,
    tx_in_flight: u64,
    lost_since_sent: u64,
    prior_delivered: u64,
    app_limited: bool,
}

impl From<&congestion::LostSegment> for LostSegment {
    fn from(lost: &congestion::LostSegment) -> Self {
        Self {
            now: lost.now.as_secs_f64(),
            tx_in_flight: lost.tx_in_flight,
            lost_since_sent: lost.lost_since_sent,
            prior_delivered: lost.prior_delivered,
            app_limited: lost.app_limited,
        }
    }
}

/// Delivery-rate sample of an acknowledgement. Times are in seconds, counts in segments, the rate in segments per
/// second.
#[pyclass(frozen, get_all, module = "crossfade._crossfade")]
pub(crate) struct RateSample {
    now: f64,
    delivered: u64,
    prior_delivered: Option<u64>,
    interval: f64,
    rate: Option<f64>,
    rtt: Option<f64>,
    srtt: Option<f64>,
    newly_acked: u64,
    newly_lost: u64,
    lost: u64,
    lost_since_sent: u64,
    tx_in_flight: u64,
    in_flight: u64,
    prior_in_flight: u64,
    app_limited: bool,
    ce: u64,
    answers_probe: bool,
    phase: &'static str,
    departure: f64,
}

impl From<&congestion::RateSample> for RateSample {
    fn from(sample: &congestion::RateSample) -> Self {
        Self {
            now: sample.now.as_secs_f64(),
            delivered: sample.delivered,
            prior_delivered: sample.prior_delivered,
            interval: sample.interval.as_secs_f64(),
            rate: sample.rate,
            rtt: sample.rtt.map(SimTime::as_secs_f64),
            srtt: sample.srtt.map(SimTime::as_secs_f64),
            newly_acked: sample.newly_acked,
            newly_lost: sample.newly_lost,
            lost: sample.lost,
            lost_since_sent: sample.lost_since_sent,
            tx_in_flight: sample.tx_in_flight,
            in_flight: sample.in_flight,
            prior_in_flight: sample.prior_in_flight,
            app_limited: sample.app_limited,
            ce: sample.ce,
            answers_probe: sample.answers_probe,
            phase: phase_name(sample.phase),
            departure: sample.departure.as_secs_f64(),
        }
    }
}

pub(super) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Open => "open",
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
    }
}
