//! Markov chains fitted to recorded losses and to sampled fading.

use crate::error::{TraceError, scenario_error};
use crossfade_channel::{
    ChiSquareTest, Interval, LossTrace, MarkovFit, RayleighFit, RunLengths, TraceFormat,
};
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Two-state Markov chain fitted to a loss trace, as JSON text.
#[pyfunction]
#[pyo3(signature = (text, format = "auto", packets = None))]
pub(crate) fn fit_markov(py: Python<'_>, text: &str, format: &str, packets: Option<u64>) -> PyResult<String> {
    py.detach(|| {
        let format: TraceFormat = format.parse().map_err(one_line)?;
        let parsed = LossTrace::parse(text, format, packets).map_err(one_line)?;
        let fit = MarkovFit::new(std::slice::from_ref(&parsed.trace)).map_err(one_line)?;
        let mut object = fitted(&fit);
        object["format"] = json!(parsed.format.name());
        object["packets_assumed"] = json!(parsed.packets_assumed);
        Ok(object.to_string())
    })
    .map_err(TraceError::new_err::<String>)
}

/// Two-state Markov chain fitted to sampled Rayleigh fading, as JSON text.
#[pyfunction]
pub(crate) fn fit_rayleigh(py: Python<'_>, p_e: f64, fd_t: f64) -> PyResult<String> {
    let found = py.detach(|| RayleighFit::new(p_e, fd_t)).map_err(scenario_error)?;
    let mut object = fitted(&found.fit);
    object["format"] = Value::Null;
    object["packets_assumed"] = json!(false);
    object["closed_form"] = json!({ "p_gg": found.closed_form.p_gg(), "p_bb": found.closed_form.p_bb() });
    object["precision"] = json!(found.precision);
    Ok(object.to_string())
}

fn one_line(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn fitted(fit: &MarkovFit) -> Value {
    json!({
        "packets": fit.packets,
        "losses": fit.losses,
        "p_gg": interval(fit.p_gg),
        "p_bb": interval(fit.p_bb),
        "p_e": interval(fit.p_e),
        "mean_burst": interval(fit.mean_burst),
        "log_likelihood": fit.log_likelihood,
        "independence": test(fit.independence),
        "first_order": test(fit.first_order),
        "good_runs": runs(&fit.good_runs),
        "bad_runs": runs(&fit.bad_runs),
        "verdict": fit.verdict().name(),
        "explanation": fit.explanation(),
    })
}

fn interval(interval: Interval) -> Value {
    json!({ "value": interval.value, "low": interval.low, "high": interval.high })
}

fn test(test: Option<ChiSquareTest>) -> Value {
    test.map_or(
        Value::Null,
        |test| json!({ "statistic": test.statistic, "freedom": test.freedom, "p_value": test.p_value }),
    )
}

fn runs(runs: &RunLengths) -> Value {
    let distance = runs.distance;
    json!({
        "lengths": runs.lengths,
        "counts": runs.counts,
        "survival": runs.survival,
        "fitted": runs.fitted,
        "distance": { "length": distance.length, "observed": distance.observed, "fitted": distance.fitted },
        "test": test(runs.test),
    })
}
