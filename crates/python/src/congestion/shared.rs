//! A congestion control in Python that is one object for many flows of a run. Once a period it is told of the
//! acknowledgements of all flows, in an array that has a row for each.
//!
//! Periods are of simulated time: number k contains the acknowledgements from k periods on and before k + 1. Its rows
//! are passed on when the first acknowledgement of a later period arrives, for whichever flow. The answer applies to a
//! flow from its own first acknowledgement of a later period on. A flow is therefore independent of the times at which
//! other flows send, and is controlled as by an object of its own.

use super::answers::Answers;
use super::batched::period;
use super::failure::Told;
use super::rows::FlowRows;
use crate::error::scenario_error;
use crossfade_core::SimTime;
use crossfade_transport::congestion::{AckSample, CongestionControl, Needs, RateSample};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// State that the flows of a run share.
pub(super) struct Group {
    told: Told,
    period: SimTime,
    /// Number of the period of [`Self::rows`].
    at: u64,
    rows: FlowRows,
    /// Last answer for each flow, by the flow's index.
    answers: Vec<Answers>,
    /// Indices of flows that have ended and may still have rows in this period.
    left: Vec<usize>,
    /// Indices of ended flows that new flows may take.
    free: Vec<usize>,
}

impl Group {
    pub(super) fn new(told: Told) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            told,
            period: SimTime::MAX,
            at: 0,
            rows: FlowRows::default(),
            answers: Vec::new(),
            left: Vec::new(),
            free: Vec::new(),
        }))
    }

    /// Starts a flow; returns its index, and the requirements of its control on the sender.
    fn begin(&mut self, [cwnd, ssthresh]: [f64; 2]) -> (usize, Needs) {
        let is_first = self.answers.is_empty();
        let flow = self.free.pop().unwrap_or(self.answers.len());
        if flow == self.answers.len() {
            self.answers.push(Answers::new(cwnd, ssthresh));
        }
        let flows = self.answers.len();
        let started = self.told.tell("start", |object| {
            object.call_method1("start", (flow, cwnd, ssthresh))?;
            let ect_1 = object.getattr_opt("ect_1")?.map_or(Ok(false), |flag| flag.is_truthy())?;
            let period = if is_first { Some(common_period(object)?) } else { None };
            Ok((Answers::of_flows(object, "start", flows, flow..flow + 1)?, ect_1, period))
        });
        let mut needs = Needs { samples: true, own_window: true, paced: true, ..Needs::default() };
        if let Some((answers, ect_1, period)) = started {
            self.answers[flow] = answers[0];
            needs.ect_1 = ect_1;
            self.period = period.unwrap_or(self.period);
        }
        (flow, needs)
    }

    /// Number of the period of `now`; earlier periods are ended first.
    fn advance(&mut self, now: SimTime) -> u64 {
        let at = now.as_nanos() / self.period.as_nanos();
        if at > self.at {
            self.at = at;
            self.end();
        }
        at
    }

    /// Passes the rows of a period to `on_acks` of the object, and reads its answers.
    fn end(&mut self) {
        let (rows, flows) = (&self.rows, self.answers.len());
        if rows.len() > 0 {
            let answers = self.told.tell("on_acks", |object| {
                object.call_method1("on_acks", (rows.array(object.py())?,))?;
                Answers::of_flows(object, "on_acks", flows, 0..flows)
            });
            self.answers = answers.unwrap_or_else(|| std::mem::take(&mut self.answers));
            self.rows.clear();
        }
        self.free.append(&mut self.left);
    }

    fn add(&mut self, sample: &RateSample, cwnd: f64, flow: usize) {
        self.rows.bound(&self.told, self.period);
        self.rows.add(sample, cwnd, flow);
    }
}

/// Reads the attribute `period`, which a shared control must have.
fn common_period(object: &Bound<'_, PyAny>) -> PyResult<SimTime> {
    if object.getattr_opt("ends_batch")?.map_or(Ok(false), |words| words.is_truthy())? {
        return Err(scenario_error(
            "ends_batch: must not be there, a batch of many flows ends with its period",
        ));
    }
    period(object)?.ok_or_else(|| {
        scenario_error(
            "period = None: must be a number of seconds, the same for all flows that share a class",
        )
    })
}

/// Congestion control of one flow of a [`Group`].
pub(super) struct SharedControl {
    group: Arc<Mutex<Group>>,
    flow: usize,
    needs: Needs,
    answers: Answers,
    /// Number of the period of the flow's last acknowledgement.
    at: u64,
}

impl SharedControl {
    pub(super) fn begin(group: Arc<Mutex<Group>>, windows: [f64; 2]) -> Self {
        let (flow, needs, answers) = {
            let mut group = lock(&group);
            let (flow, needs) = group.begin(windows);
            (flow, needs, group.answers[flow])
        };
        Self { group, flow, needs, answers, at: 0 }
    }
}

fn lock(group: &Mutex<Group>) -> MutexGuard<'_, Group> {
    group.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for SharedControl {
    fn drop(&mut self) {
        lock(&self.group).left.push(self.flow);
    }
}

impl CongestionControl for SharedControl {
    fn cwnd(&self) -> f64 {
        self.answers.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.answers.ssthresh
    }

    fn on_ack(&mut self, _ack: &AckSample) {}

    fn on_loss(&mut self, _now: SimTime, _window: f64) {}

    fn on_timeout(&mut self, _now: SimTime, _window: f64) {}

    fn set_cwnd(&mut self, _cwnd: f64) {}

    fn needs(&self) -> Needs {
        self.needs
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.answers.pacing_rate
    }

    fn send_quantum(&self) -> Option<u64> {
        self.answers.quantum()
    }

    fn on_delivery(&mut self, sample: &RateSample) {
        let mut group = lock(&self.group);
        let at = group.advance(sample.now);
        if at > self.at {
            self.at = at;
            self.answers = group.answers[self.flow];
        }
        group.add(sample, self.answers.cwnd, self.flow);
    }
}
