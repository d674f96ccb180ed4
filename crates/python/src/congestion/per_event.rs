//! A congestion control in Python that is told of each event. It is slow, since every event takes the GIL.

use super::answers::{Answers, info, says};
use super::failure::{Failure, Told};
use super::samples::{AckSample, LostSegment, RateSample, SendEvent, phase_name};
use crossfade_core::{SimTime, Stream};
use crossfade_transport::congestion::{self, CongestionControl, ControlInfo, Needs, Phase};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use rand::Rng;

/// Calls the methods of a Python object and reads its attributes `cwnd` and `ssthresh` after each. Pacing attributes
/// and optional methods are used if the object has them.
pub(crate) struct PythonControl {
    told: Told,
    answers: Answers,
    has: Has,
    limits_itself: bool,
}

/// Optional methods and attributes of an object, found when its connection begins.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "methods, each there or not")]
struct Has {
    needs: Needs,
    rate: bool,
    send: bool,
    lost: bool,
    repaired: bool,
    phase: bool,
    delivery: bool,
    limits: bool,
    info: bool,
}

impl Has {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let has = |name: &str| object.getattr_opt(name).map(|found| found.is_some());
        let is = |name: &str| object.getattr_opt(name)?.map_or(Ok(false), |flag| flag.is_truthy());
        let mut found = Self {
            needs: Needs {
                own_window: is("own_window")?,
                ect_1: is("ect_1")?,
                random: has("seed")?,
                ..Needs::default()
            },
            rate: has("pacing_rate")? || has("send_quantum")?,
            send: has("on_send")?,
            lost: has("on_segment_lost")?,
            repaired: has("on_probe_repaired")?,
            phase: has("on_phase")?,
            delivery: has("on_delivery")?,
            limits: has("limits_itself")?,
            info: says(object)?,
        };
        found.needs.paced = found.rate;
        let hears = [found.send, found.lost, found.repaired, found.phase, found.delivery, found.limits];
        found.needs.samples = hears.contains(&true);
        Ok(found)
    }
}

impl PythonControl {
    pub(crate) fn new(object: Py<PyAny>, windows: [f64; 2], failure: Failure) -> Self {
        Self::begin(Told::new(object, None, failure), windows)
    }

    pub(super) fn begin(told: Told, [cwnd, ssthresh]: [f64; 2]) -> Self {
        let started = told.tell("start", |object| {
            object.call_method1("start", (cwnd, ssthresh))?;
            // An attribute may be set only when the connection begins.
            let has = Has::of(object)?;
            Ok((has, Answers::of(object, "start", has.rate)?))
        });
        let (has, answers) = started.unwrap_or((Has::default(), Answers::new(cwnd, ssthresh)));
        Self { told, answers, has, limits_itself: false }
    }

    fn call<A: for<'py> PyCallArgs<'py>>(&mut self, method: &str, arguments: A) {
        let paced = self.has.rate;
        let answers = self.told.tell(method, |object| {
            object.call_method1(method, arguments)?;
            Answers::of(object, method, paced)
        });
        self.answers = answers.unwrap_or(self.answers);
    }
}

impl CongestionControl for PythonControl {
    fn cwnd(&self) -> f64 {
        self.answers.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.answers.ssthresh
    }

    fn on_ack(&mut self, ack: &congestion::AckSample) {
        self.call("on_ack", (AckSample::from(ack),));
    }

    fn on_loss(&mut self, now: SimTime, window: f64) {
        self.call("on_loss", (now.as_secs_f64(), window));
    }

    fn on_timeout(&mut self, now: SimTime, window: f64) {
        self.call("on_timeout", (now.as_secs_f64(), window));
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.call("set_cwnd", (cwnd,));
    }

    fn on_ecn(&mut self, now: SimTime, window: f64) {
        self.call("on_ecn", (now.as_secs_f64(), window));
    }

    fn undo(&mut self) {
        self.call("undo", ());
    }

    fn on_idle_end(&mut self, now: SimTime, idle: SimTime) {
        self.call("on_idle_end", (now.as_secs_f64(), idle.as_secs_f64()));
    }

    fn needs(&self) -> Needs {
        self.has.needs
    }

    fn seed(&mut self, mut stream: Stream) {
        self.call("seed", (stream.next_u64(),));
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.answers.pacing_rate
    }

    fn send_quantum(&self) -> Option<u64> {
        self.answers.quantum()
    }

    fn on_send(&mut self, send: &congestion::SendEvent) {
        if self.has.send {
            self.call("on_send", (SendEvent::from(send),));
        }
    }

    fn on_segment_lost(&mut self, lost: &congestion::LostSegment) {
        if self.has.lost {
            self.call("on_segment_lost", (LostSegment::from(lost),));
        }
    }

    fn on_probe_repaired(&mut self, now: SimTime, app_limited: bool) {
        if self.has.repaired {
            self.call("on_probe_repaired", (now.as_secs_f64(), app_limited));
        }
    }

    fn on_phase(&mut self, now: SimTime, phase: Phase, in_flight: u64) {
        if self.has.phase {
            self.call("on_phase", (now.as_secs_f64(), phase_name(phase), in_flight));
        }
    }

    fn on_delivery(&mut self, sample: &congestion::RateSample) {
        if self.has.delivery {
            self.call("on_delivery", (RateSample::from(sample),));
        }
        if self.has.limits {
            let limits =
                self.told.tell("limits_itself", |object| object.call_method0("limits_itself")?.is_truthy());
            self.limits_itself = limits.unwrap_or(self.limits_itself);
        }
    }

    fn limits_itself(&self) -> bool {
        self.limits_itself
    }

    fn info(&self) -> ControlInfo {
        if self.has.info { info(&self.told) } else { ControlInfo::default() }
    }
}
