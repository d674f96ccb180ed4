//! What a control of the user's own answers with, and what a sender can use of that.

use super::failure::Told;
use crate::error::scenario_error;
use crossfade_transport::congestion::RuleInfo;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::fmt::Write as _;

/// More of a value is not shown.
const MOST_SHOWN: usize = 60;

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
        let refused = |value: &str, allowed: &str| match object.get_type().name() {
            Ok(class) => scenario_error(format!("{class}.{value} after {method}: {allowed}")),
            Err(error) => error,
        };
        let real = |name: &str, allowed| {
            let value = object.getattr(name)?;
            value.extract().map_err(|_: PyErr| refused(&shown(name, &value), allowed))
        };
        let mut answers = Self::new(real("cwnd", "must be a number")?, real("ssthresh", "must be a number")?);
        if paced && object.getattr_opt("pacing_rate")?.is_some_and(|value| !value.is_none()) {
            answers.pacing_rate = Some(real("pacing_rate", "must be a number, or None")?);
        }
        if paced && let Some(value) = object.getattr_opt("send_quantum")?.filter(|value| !value.is_none()) {
            let whole = value.extract().map_err(|_: PyErr| {
                refused(&shown("send_quantum", &value), "must be a whole number, or None")
            });
            answers.send_quantum = Some(whole?);
        }
        match answers.problem() {
            None => Ok(answers),
            Some(problem) => {
                let (value, allowed) = problem.split_once(": ").unwrap_or((&problem, ""));
                Err(refused(value, allowed))
            }
        }
    }
}

/// An attribute of the wrong kind.
fn shown(name: &str, value: &Bound<'_, PyAny>) -> String {
    let value = value.repr().map_or_else(|_| value.get_type().to_string(), |shown| shown.to_string());
    format!("{name} = {}", value.chars().take(MOST_SHOWN).collect::<String>())
}

/// Whether an object says what it is at.
pub(crate) fn says(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.getattr_opt("info")?.is_some_and(|method| method.is_callable()))
}

/// What an object says of itself: the numbers, and words, of the dict that its method `info` gives, by name.
pub(super) fn info(told: &Told) -> RuleInfo {
    let own = told.tell("info", |object| {
        let given = object.call_method0("info")?;
        let class = object.get_type().name()?;
        let problem = |what: String| scenario_error(format!("{class}.info() gives {what}"));
        let items = given
            .cast::<PyDict>()
            .map_err(|_| problem(format!("{}: must be a dict of numbers by name", given.get_type())))?;
        let mut text = String::new();
        for (name, value) in items {
            let name = name.to_string();
            let value = match value.cast::<PyString>() {
                Ok(word) => word.to_string(),
                Err(_) => value
                    .extract::<f64>()
                    .map_err(|_| not_a_figure(&name, &value))
                    .map_err(problem)?
                    .to_string(),
            };
            if !is_word(&name) || !is_word(&value) {
                return Err(problem(not_a_figure(&name, &value)));
            }
            // Writing to a string cannot fail.
            let _ = write!(text, "{}{name}={value}", if text.is_empty() { "" } else { " " });
        }
        Ok(text)
    });
    RuleInfo { own: Some(own.unwrap_or_default()), ..RuleInfo::default() }
}

fn not_a_figure(name: &str, value: &dyn std::fmt::Display) -> String {
    format!("{name:?} = {value}: names and values must be numbers or words of letters, digits and . _ + -")
}

/// Whether a name or a value is one word in a table.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte))
}
