//! A congestion control that is a Python object and hears of many acknowledgements at once: one call a round trip, or a
//! period, with an array of a row for each.

use super::answers::{Answers, info, says};
use super::failure::Told;
use crossfade_core::SimTime;
use crossfade_transport::congestion::{AckSample, CongestionControl, Needs, Phase, RateSample, RuleInfo};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyBytes};

/// The fields of a row, and what numpy calls their types; in the order of [`BatchedControl::add`].
const FIELDS: [(&str, &str); 19] = [
    ("now", "f8"),
    ("cwnd", "f8"),
    ("rate", "f8"),
    ("rtt", "f8"),
    ("srtt", "f8"),
    ("interval", "f8"),
    ("departure", "f8"),
    ("delivered", "i8"),
    ("prior_delivered", "i8"),
    ("newly_acked", "i8"),
    ("newly_lost", "i8"),
    ("lost", "i8"),
    ("lost_since_sent", "i8"),
    ("tx_in_flight", "i8"),
    ("in_flight", "i8"),
    ("prior_in_flight", "i8"),
    ("ce", "i8"),
    ("app_limited", "?"),
    ("phase", "u1"),
];

/// What ended a batch; what a class may ask for in `ends_batch` comes first.
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
    /// Which of the first three of [`ENDS`] end a batch.
    asked: [bool; 3],
    /// A batch ends so long after the one before; without it, with each round trip.
    period: Option<SimTime>,
    rows: Vec<u8>,
    /// When the last batch ended.
    last: SimTime,
    /// The round trip ends with a segment that left when so many had arrived.
    round: u64,
    /// What ends the batch with the next row.
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
            rows: Vec::new(),
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

    fn add(&mut self, sample: &RateSample) {
        let seconds = |time: Option<SimTime>| time.map_or(f64::NAN, SimTime::as_secs_f64);
        let reals = [
            sample.now.as_secs_f64(),
            self.answers.cwnd,
            sample.rate.unwrap_or(f64::NAN),
            seconds(sample.rtt),
            seconds(sample.srtt),
            sample.interval.as_secs_f64(),
            sample.departure.as_secs_f64(),
        ];
        let counts = [
            sample.delivered,
            sample.prior_delivered.unwrap_or(u64::MAX), // -1
            sample.newly_acked,
            sample.newly_lost,
            sample.lost,
            sample.lost_since_sent,
            sample.tx_in_flight,
            sample.in_flight,
            sample.prior_in_flight,
            sample.ce,
        ];
        for real in reals {
            self.rows.extend_from_slice(&real.to_ne_bytes());
        }
        for count in counts {
            self.rows.extend_from_slice(&count.to_ne_bytes());
        }
        self.rows.extend_from_slice(&[u8::from(sample.app_limited), sample.phase as u8]);
    }

    /// Hands the rows over.
    fn end(&mut self, now: SimTime, end: usize) {
        (self.last, self.ending) = (now, None);
        let rows = &self.rows;
        let answers = self.told.tell("on_acks", |object| {
            object.setattr("ended_by", ENDS[end])?;
            object.call_method1("on_acks", (array(object.py(), rows)?,))?;
            Answers::of(object, "on_acks", true)
        });
        self.answers = answers.unwrap_or(self.answers);
        self.rows.clear();
    }

    /// The batch is to end with the next row, if the class asked for this.
    fn note(&mut self, end: usize) {
        if self.asked[end] {
            self.ending.get_or_insert(end);
        }
    }
}

/// Which of the first three of [`ENDS`] are in `ends_batch`.
fn asked(object: &Bound<'_, PyAny>) -> PyResult<[bool; 3]> {
    let mut asked = [false; 3];
    let Some(words) = object.getattr_opt("ends_batch")? else { return Ok(asked) };
    for word in words.extract::<Vec<String>>()? {
        let at = ENDS[..3].iter().position(|end| *end == word).ok_or_else(|| {
            PyTypeError::new_err(format!("ends_batch has {word:?}: must be of loss, timeout, mark"))
        })?;
        asked[at] = true;
    }
    Ok(asked)
}

/// The attribute `period`, in seconds.
fn period(object: &Bound<'_, PyAny>) -> PyResult<Option<SimTime>> {
    let Some(period) = object.getattr_opt("period")?.filter(|period| !period.is_none()) else {
        return Ok(None);
    };
    let seconds: f64 = period.extract()?;
    if !(1e-9..=1e6).contains(&seconds) {
        return Err(PyTypeError::new_err(format!(
            "period = {seconds:?}: must be a number of seconds, at least 1e-9 and at most 1e6, or None"
        )));
    }
    Ok(Some(SimTime::from_secs_f64(seconds)))
}

/// Rows as numpy's structured array; nobody can write to it.
fn array<'py>(py: Python<'py>, rows: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    static TOOLS: PyOnceLock<(Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();
    let (frombuffer, dtype) = TOOLS.get_or_try_init(py, || {
        let numpy = py.import("numpy")?;
        let dtype = numpy.getattr("dtype")?.call1((FIELDS.to_vec(),))?;
        PyResult::Ok((numpy.getattr("frombuffer")?.unbind(), dtype.unbind()))
    })?;
    let options = [("dtype", dtype)].into_py_dict(py)?;
    frombuffer.bind(py).call((PyBytes::new(py, rows),), Some(&options))
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

    fn info(&self) -> RuleInfo {
        if self.has_info { info(&self.told) } else { RuleInfo::default() }
    }

    /// A timeout ends a batch at once: no acknowledgement may come for long.
    fn on_phase(&mut self, now: SimTime, phase: Phase, _in_flight: u64) {
        if phase == Phase::Loss && self.asked[TIMEOUT] {
            self.end(now, TIMEOUT);
        }
    }

    fn on_delivery(&mut self, sample: &RateSample) {
        self.add(sample);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_as_long_as_its_fields() {
        let bytes: usize = FIELDS.iter().map(|(_, kind)| if kind.ends_with('8') { 8 } else { 1 }).sum();
        assert_eq!(bytes, 17 * 8 + 2);
    }
}
