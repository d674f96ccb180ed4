//! A congestion control in Python that is told of acknowledgements in batches: one call a round trip, or a period, with
//! an array that has a row for each acknowledgement.

use super::answers::{Answers, info, says};
use super::failure::Told;
use super::rows::Rows;
use crossfade_core::SimTime;
use crossfade_transport::congestion::{AckSample, CongestionControl, ControlInfo, Needs, Phase, RateSample};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Reasons for the end of a batch; `ends_batch` may name the first three.
const ENDS: [&str; 5] = ["loss", "timeout", "mark", "round", "period"];
const LOSS: usize = 0;
const TIMEOUT: usize = 1;
const MARK: usize = 2;
const ROUND: usize = 3;
const PERIOD: usize = 4;

pub(super) struct BatchedControl {
    told: Told,
    answers: Answers,
    needs: Needs,
    has_info: bool,
    /// For each of the first three of [`ENDS`], true if the class has it in `ends_batch`.
    asked: [bool; 3],
    /// Length of a batch in simulated time; `None`: a batch ends with each round trip.
    period: Option<SimTime>,
    rows: Rows,
    /// Time at which the last batch ended.
    last: SimTime,
    /// Number of delivered segments at the end of the last round trip: the next one ends with a segment sent after
    /// these were delivered.
    round: u64,
    /// Index in [`ENDS`] of the reason for which the next row ends the batch.
    ending: Option<usize>,
}

impl BatchedControl {
    pub(super) fn begin(told: Told, [cwnd, ssthresh]: [f64; 2]) -> Self {
        let answers = Answers::new(cwnd, ssthresh);
        let mut control = Self {
            told,
            answers,
            needs: Needs { samples: true, own_window: true, paced: true, ..Needs::default() },
            has_info: false,
            asked: [false; 3],
            period: None,
            rows: Rows::default(),
            last: SimTime::ZERO,
            round: 0,
            ending: None,
        };
        let started = control.told.tell("start", |object| {
            object.call_method1("start", (cwnd, ssthresh))?;
            let ect_1 = object.getattr_opt("ect_1")?.map_or(Ok(false), |flag| flag.is_truthy())?;
            let asked = (asked(object)?, period(object)?);
            Ok((Answers::of(object, "start", true)?, asked, ect_1, says(object)?))
        });
        if let Some((answers, asked, ect_1, has_info)) = started {
            (control.answers, (control.asked, control.period)) = (answers, asked);
            (control.needs.ect_1, control.has_info) = (ect_1, has_info);
        }
        control
    }

    /// Passes the rows to `on_acks` of the object, and reads its answers.
    fn end(&mut self, now: SimTime, end: usize) {
        (self.last, self.ending) = (now, None);
        let rows = &self.rows;
        let answers = self.told.tell("on_acks", |object| {
            object.setattr("ended_by", ENDS[end])?;
            object.call_method1("on_acks", (rows.array(object.py())?,))?;
            Answers::of(object, "on_acks", true)
        });
        self.answers = answers.unwrap_or(self.answers);
        self.rows.clear();
    }

    /// Ends the batch with the next row, if the class has this reason in `ends_batch`.
    fn note(&mut self, end: usize) {
        if self.asked[end] {
            self.ending.get_or_insert(end);
        }
    }
}

/// Reads the attribute `ends_batch`: for each of the first three of [`ENDS`], true if it is named.
fn asked(object: &Bound<'_, PyAny>) -> PyResult<[bool; 3]> {
    let mut asked = [false; 3];
    let Some(words) = object.getattr_opt("ends_batch")? else { return Ok(asked) };
    let all: Vec<String> = words.extract().map_err(|_| {
        PyTypeError::new_err(format!("ends_batch = {words:?}: must be a tuple of loss, timeout, mark"))
    })?;
    for word in all {
        let at = ENDS[..3].iter().position(|end| *end == word).ok_or_else(|| {
            PyTypeError::new_err(format!("ends_batch has {word:?}: must be of loss, timeout, mark"))
        })?;
        asked[at] = true;
    }
    Ok(asked)
}

/// Reads the attribute `period`, a number of seconds; `None` if it is absent or None.
pub(super) fn period(object: &Bound<'_, PyAny>) -> PyResult<Option<SimTime>> {
    let Some(period) = object.getattr_opt("period")?.filter(|period| !period.is_none()) else {
        return Ok(None);
    };
    let given = match period.extract::<f64>() {
        Ok(seconds) if (1e-9..=1e6).contains(&seconds) => return Ok(Some(SimTime::from_secs_f64(seconds))),
        Ok(seconds) => format!("{seconds:?}"),
        Err(_) => period.repr()?.to_string(),
    };
    Err(PyTypeError::new_err(format!(
        "period = {given}: must be a number of seconds, at least 1e-9 and at most 1e6, or None"
    )))
}

impl CongestionControl for BatchedControl {
    fn cwnd(&self) -> f64 {
        self.answers.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.answers.ssthresh
    }

    fn on_ack(&mut self, _ack: &AckSample) {}

    fn on_loss(&mut self, _now: SimTime, _window: f64) {
        self.note(LOSS);
    }

    fn on_timeout(&mut self, _now: SimTime, _window: f64) {}

    fn set_cwnd(&mut self, _cwnd: f64) {}

    fn on_ecn(&mut self, _now: SimTime, _window: f64) {
        self.note(MARK);
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.answers.pacing_rate
    }

    fn send_quantum(&self) -> Option<u64> {
        self.answers.quantum()
    }

    fn info(&self) -> ControlInfo {
        if self.has_info { info(&self.told) } else { ControlInfo::default() }
    }

    /// A timeout ends a batch at once, since the next acknowledgement may be long in coming.
    fn on_phase(&mut self, now: SimTime, phase: Phase, _in_flight: u64) {
        if phase == Phase::Loss && self.asked[TIMEOUT] {
            self.end(now, TIMEOUT);
        }
    }

    fn on_delivery(&mut self, sample: &RateSample) {
        self.rows.bound(&self.told, self.period);
        self.rows.add(sample, self.answers.cwnd);
        if sample.ce > 0 {
            self.note(MARK);
        }
        let is_round = sample.prior_delivered.is_some_and(|prior| prior >= self.round);
        if is_round {
            self.round = sample.delivered;
        }
        let is_over = match self.period {
            Some(period) => (sample.now.saturating_sub(self.last) >= period).then_some(PERIOD),
            None => is_round.then_some(ROUND),
        };
        if let Some(end) = self.ending.or(is_over) {
            self.end(sample.now, end);
        }
    }
}
