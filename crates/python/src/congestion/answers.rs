//! Answers of a user's congestion control in Python, and checks that a sender can use them.

use super::failure::Told;
use crate::error::scenario_error;
use crossfade_transport::congestion::ControlInfo;
use numpy::{AllowTypeChange, PyArrayLike1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::fmt::Write as _;
use std::ops::Range;

/// Greatest number of characters of a value in an error message.
const MOST_SHOWN: usize = 60;

/// Answer of a congestion control: windows in segments, pacing rate in segments per second, burst in segments.
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

    /// Text about the first value that no sender can use: its name, its value, and what is allowed; `None` if all are
    /// usable.
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

    /// Send quantum in segments as a sender takes it.
    pub(super) fn quantum(&self) -> Option<u64> {
        self.send_quantum.map(i64::cast_unsigned)
    }

    /// Reads the attributes `cwnd` and `ssthresh` of `object` after its method `method` returned, and with `paced` also
    /// `pacing_rate` and `send_quantum`.
    pub(super) fn of(object: &Bound<'_, PyAny>, method: &str, paced: bool) -> PyResult<Self> {
        let real = |name, allowed| number(object, method, &object.getattr(name)?, name, allowed);
        let mut answers = Self::new(real("cwnd", "must be a number")?, real("ssthresh", "must be a number")?);
        if paced {
            if object.getattr_opt("pacing_rate")?.is_some_and(|value| !value.is_none()) {
                answers.pacing_rate = Some(real("pacing_rate", "must be a number, or None")?);
            }
            answers.send_quantum = send_quantum(object, method)?;
        }
        answers.checked(object, method, "")
    }

    /// Reads the answers for the flows `wanted` among `flows` flows that share `object`: its attributes are arrays with
    /// an element per flow. An infinite pacing rate means no pacing.
    pub(super) fn of_flows(
        object: &Bound<'_, PyAny>,
        method: &str,
        flows: usize,
        wanted: Range<usize>,
    ) -> PyResult<Vec<Self>> {
        let array = |name| of_each(object, method, name, flows);
        let (cwnd, ssthresh) = (array("cwnd")?, array("ssthresh")?);
        let has_rates = object.getattr_opt("pacing_rate")?.is_some_and(|rates| !rates.is_none());
        let rates = has_rates.then(|| array("pacing_rate")).transpose()?;
        let send_quantum = send_quantum(object, method)?;
        let (cwnd, ssthresh) = (cwnd.as_array(), ssthresh.as_array());
        let rates = rates.as_ref().map(|rates| rates.as_array());
        let of_flow = |flow: usize| {
            let rate = rates.map(|rates| rates[flow]).filter(|rate| *rate != f64::INFINITY);
            let answers =
                Self { cwnd: cwnd[flow], ssthresh: ssthresh[flow], pacing_rate: rate, send_quantum };
            answers.checked(object, method, &format!("[{flow}]"))
        };
        wanted.map(of_flow).collect()
    }

    /// Checks that a sender can use the answers; `place` is the index of the flow in errors, empty for an object of one
    /// flow.
    fn checked(self, object: &Bound<'_, PyAny>, method: &str, place: &str) -> PyResult<Self> {
        let Some(problem) = self.problem() else { return Ok(self) };
        let class = object.get_type().name()?;
        let (value, allowed) = problem.split_once(": ").unwrap_or((&problem, ""));
        let (name, value) = value.split_once(" = ").unwrap_or((value, ""));
        let place = if name == "send_quantum" { "" } else { place };
        Err(scenario_error(format!("{class}.{name}{place} = {value} after {method}: {allowed}")))
    }
}

/// Reads the attribute `name`, an array with a number for each of `flows` flows.
fn of_each<'py>(
    object: &Bound<'py, PyAny>,
    method: &str,
    name: &str,
    flows: usize,
) -> PyResult<PyArrayLike1<'py, f64, AllowTypeChange>> {
    let values = object.getattr(name)?;
    match values.extract::<PyArrayLike1<'py, f64, AllowTypeChange>>() {
        Ok(array) if array.len()? == flows => Ok(array),
        _ => {
            let class = object.get_type().name()?;
            let what = match values.getattr_opt("shape")? {
                Some(shape) => format!("shape {shape}"),
                None => format!("type {}", values.get_type().name()?),
            };
            let allowed = format!("must be numbers of shape ({flows},), one for each flow");
            Err(scenario_error(format!("{class}.{name} of {what} after {method}: {allowed}")))
        }
    }
}

fn send_quantum(object: &Bound<'_, PyAny>, method: &str) -> PyResult<Option<i64>> {
    let name = "send_quantum";
    let given = object.getattr_opt(name)?.filter(|value| !value.is_none());
    given.map(|value| number(object, method, &value, name, "must be a whole number, or None")).transpose()
}

/// Converts the value of attribute `name` to a number; `allowed` is what the error says about allowed values.
fn number<'py, T: FromPyObjectOwned<'py>>(
    object: &Bound<'py, PyAny>,
    method: &str,
    value: &Bound<'py, PyAny>,
    name: &str,
    allowed: &str,
) -> PyResult<T> {
    let Ok(number) = value.extract() else {
        let class = object.get_type().name()?;
        let shown = value.repr().map_or_else(|_| value.get_type().to_string(), |shown| shown.to_string());
        let shown: String = shown.chars().take(MOST_SHOWN).collect();
        return Err(scenario_error(format!("{class}.{name} = {shown} after {method}: {allowed}")));
    };
    Ok(number)
}

/// True if an object has a method `info`, which reports its state.
pub(crate) fn says(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.getattr_opt("info")?.is_some_and(|method| method.is_callable()))
}

/// State that a Python object reports: numbers and words of the dict that its method `info` returns, as `name=value`.
pub(super) fn info(told: &Told) -> ControlInfo {
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
    ControlInfo { own: Some(own.unwrap_or_default()), ..ControlInfo::default() }
}

fn not_a_figure(name: &str, value: &dyn std::fmt::Display) -> String {
    format!("{name:?} = {value}: names and values must be numbers or words of letters, digits and . _ + -")
}

/// True if a name or value may stand in the info column of events: one word of letters, digits and `._+-`.
pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte))
}
