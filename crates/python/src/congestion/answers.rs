//! What a control of the user's own answers with, and what a sender can use of that.

use crate::error::scenario_error;
use pyo3::prelude::*;

/// Windows in segments, a rate in segments a second, a burst in segments.
#[derive(Clone, Copy)]
pub(super) struct Answers {
    pub(super) cwnd: f64,
    pub(super) ssthresh: f64,
    pub(super) pacing_rate: Option<f64>,
    pub(super) send_quantum: Option<i64>,
}

impl Answers {
    pub(super) fn new(cwnd: f64, ssthresh: f64) -> Self {
        Self { cwnd, ssthresh, pacing_rate: None, send_quantum: None }
    }

    /// The first of them that no sender can use: its name, its value, and what is allowed.
    pub(super) fn problem(&self) -> Option<String> {
        let is_rate = |rate: f64| rate > 0.0 && rate.is_finite();
        if !(1.0..=f64::MAX).contains(&self.cwnd) {
            Some(format!("cwnd = {:?}: must be finite and at least 1", self.cwnd))
        } else if !(1.0..=f64::INFINITY).contains(&self.ssthresh) {
            Some(format!("ssthresh = {:?}: must be at least 1", self.ssthresh))
        } else if let Some(rate) = self.pacing_rate.filter(|rate| !is_rate(*rate)) {
            Some(format!("pacing_rate = {rate:?}: must be finite and above 0, or none"))
        } else {
            let few = self.send_quantum.filter(|quantum| *quantum < 1)?;
            Some(format!("send_quantum = {few}: must be at least 1, or none"))
        }
    }

    /// The burst as a sender takes it.
    pub(super) fn quantum(&self) -> Option<u64> {
        self.send_quantum.map(i64::cast_unsigned)
    }

    /// The attributes of `object` as they are behind its `method`; of the rate only with `paced`.
    pub(super) fn of(object: &Bound<'_, PyAny>, method: &str, paced: bool) -> PyResult<Self> {
        let mut answers =
            Self::new(object.getattr("cwnd")?.extract()?, object.getattr("ssthresh")?.extract()?);
        if paced {
            answers.pacing_rate = optional(object, "pacing_rate")?;
            answers.send_quantum = optional(object, "send_quantum")?;
        }
        match answers.problem() {
            None => Ok(answers),
            Some(problem) => {
                let class = object.get_type().name()?;
                let (value, allowed) = problem.split_once(": ").unwrap_or((&problem, ""));
                Err(scenario_error(format!("{class}.{value} after {method}: {allowed}")))
            }
        }
    }
}

/// An attribute that may not be there, or be None.
fn optional<'py, T>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    object.getattr_opt(name)?.filter(|value| !value.is_none()).map(|value| value.extract()).transpose()
}
