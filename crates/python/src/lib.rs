//! Python bindings: the module `crossfade._crossfade`. Structured values are passed as JSON text.
//!
//! The stub `python/crossfade/_crossfade.pyi` has the signatures of all functions.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod antennas;
mod congestion;
mod error;
mod estimates;
mod files;
mod fit;
mod interrupt;
mod known;
#[cfg(all(target_os = "linux", feature = "live"))]
mod live;
#[cfg(unix)]
mod memory;
mod panics;
mod plan;
mod record;
mod rows;
mod traces;

use crate::error::{GoldenError, ImpossibleResultError, ScenarioError, TraceError, scenario_error};
use crossfade_channel::{ChannelError, RayleighFading, fading_margin_db, p_e_from_fading_margin_db};
use crossfade_verify::{
    CaseReport, Effort, GoldenChain, GoldenTrace, verify_durations, verify_transport_blocks, verify_weights,
};
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

/// JSON Schema of a scenario, as text.
#[pyfunction]
fn schema() -> String {
    crossfade_scenario::schema().to_string()
}

/// Meaning, values and default of a scenario key, as text.
#[pyfunction]
fn explain(key: &str) -> PyResult<String> {
    crossfade_scenario::explain(key).map_err(scenario_error)
}

/// Published metrics as JSON text, in the order of tables: name, unit, words and meaning of each.
#[pyfunction]
fn metrics() -> PyResult<String> {
    plan::to_json(&*crossfade_experiment::METRICS)
}

/// All methods as JSON text, in the order of drawing: name, alias, words, look, and whether each is random and
/// repeatable.
#[pyfunction]
fn methods() -> PyResult<String> {
    plan::to_json(&crossfade_experiment::methods())
}

/// Kinds of network parts, and names of links, as JSON text, in the order of results.
#[pyfunction]
fn parts() -> String {
    use crossfade_experiment::{LINKS, PARTS};
    json!({ "kinds": PARTS, "links": LINKS }).to_string()
}

/// A value as written on the command line, converted to JSON text.
#[pyfunction]
fn parse_value(text: &str) -> String {
    crossfade_scenario::parse_value(text).to_string()
}

/// Two-state Markov chain that approximates Rayleigh fading.
#[pyfunction]
#[pyo3(signature = (fd_t, *, p_e = None, fading_margin_db = None))]
fn markov_from_rayleigh<'py>(
    py: Python<'py>,
    fd_t: f64,
    p_e: Option<f64>,
    fading_margin_db: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let values = match (p_e, fading_margin_db) {
        (Some(p_e), None) => markov_values(fd_t, p_e),
        (None, Some(margin)) => p_e_from_fading_margin_db(margin).and_then(|p_e| markov_values(fd_t, p_e)),
        _ => return Err(scenario_error("p_e, fading_margin_db: give one of the two")),
    };
    let dict = PyDict::new(py);
    for (name, value) in values.map_err(scenario_error)? {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

fn markov_values(fd_t: f64, p_e: f64) -> Result<[(&'static str, f64); 7], ChannelError> {
    let fading = RayleighFading::new(fd_t)?;
    let chain = fading.markov(p_e)?;
    Ok([
        ("fd_t", fd_t),
        ("p_e", p_e),
        ("fading_margin_db", fading_margin_db(p_e)?),
        ("p_gg", chain.p_gg()),
        ("p_bb", chain.p_bb()),
        ("mean_burst", chain.mean_burst()),
        ("rho", fading.rho()),
    ])
}

/// Replays the golden data of one format, with the patterns of their losses beside traces; returns a JSON list of
/// cases.
#[pyfunction]
#[pyo3(signature = (files, patterns = None))]
fn verify(py: Python<'_>, files: Vec<(String, String)>, patterns: Option<&str>) -> PyResult<String> {
    py.detach(|| {
        let mut cases = Vec::new();
        for (name, text) in &files {
            cases.extend(match patterns {
                Some(patterns) => GoldenTrace::parse(patterns, name, text)?.verify(),
                None if GoldenChain::NAMES.contains(&name.as_str()) => {
                    GoldenChain::parse(name, text)?.verify(Effort::default())
                }
                None if name == "transport-blocks.csv" => verify_transport_blocks(name, text)?,
                None if name == "durations.csv" => verify_durations(name, text)?,
                None => verify_weights(name, text)?,
            });
        }
        let case = |CaseReport { case, rows, found, difference }| {
            json!({ "case": case, "rows": rows, "found": found, "difference": difference })
        };
        Ok(Value::Array(cases.into_iter().map(case).collect()).to_string())
    })
    .map_err(|error: crossfade_verify::GoldenError| GoldenError::new_err(error.to_string()))
}

/// Error-rate table for `nr.error_table` from counted transport blocks, a JSON list; the first line of the table is
/// `remark`.
#[pyfunction]
fn nr_error_table(counted: &str, remark: &str) -> PyResult<String> {
    let counted: Vec<crossfade_experiment::CountedBlocks> = plan::from_json("counted", counted)?;
    crossfade_experiment::nr_error_table(&counted, remark).map_err(scenario_error)
}

#[pymodule]
fn _crossfade(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CROSSFADE_VERSION"))?;
    module.add("RESULTS_VERSION", crossfade_scenario::RESULTS_VERSION)?;
    module.add("USUAL_METRIC", crossfade_experiment::USUAL_METRIC)?;
    module.add("MAIN_METRICS", crossfade_experiment::MAIN_METRICS)?;
    module.add("MAIN_METRICS_OF_SECONDS", crossfade_experiment::MAIN_METRICS_OF_SECONDS)?;
    module.add("MOST_JOBS", crossfade_experiment::MOST_JOBS)?;
    module.add("SOURCE_HASH", env!("CROSSFADE_SOURCE_HASH"))?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("GoldenError", module.py().get_type::<GoldenError>())?;
    module.add("ImpossibleResultError", module.py().get_type::<ImpossibleResultError>())?;
    module.add("TraceError", module.py().get_type::<TraceError>())?;
    module.add("PanicException", module.py().get_type::<PanicException>())?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<plan::Schedule>()?;
    module.add_class::<known::Known>()?;
    congestion::register(module)?;
    #[cfg(all(target_os = "linux", feature = "live"))]
    live::register(module)?;
    module.add_function(wrap_pyfunction!(panics::keep_panics, module)?)?;
    module.add_function(wrap_pyfunction!(panics::panic_said, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(metrics, module)?)?;
    module.add_function(wrap_pyfunction!(methods, module)?)?;
    module.add_function(wrap_pyfunction!(parts, module)?)?;
    module.add_function(wrap_pyfunction!(parse_value, module)?)?;
    module.add_function(wrap_pyfunction!(markov_from_rayleigh, module)?)?;
    module.add_function(wrap_pyfunction!(antennas::antenna_correlations, module)?)?;
    module.add_function(wrap_pyfunction!(antennas::printed_codes_judged, module)?)?;
    module.add_function(wrap_pyfunction!(verify, module)?)?;
    module.add_function(wrap_pyfunction!(nr_error_table, module)?)?;
    module.add_function(wrap_pyfunction!(estimates::estimates, module)?)?;
    module.add_function(wrap_pyfunction!(estimates::student_quantile, module)?)?;
    module.add_function(wrap_pyfunction!(fit::fit_markov, module)?)?;
    module.add_function(wrap_pyfunction!(fit::fit_rayleigh, module)?)?;
    module.add_function(wrap_pyfunction!(record::read_capture, module)?)?;
    module.add_function(wrap_pyfunction!(record::fit_link, module)?)?;
    module.add_function(wrap_pyfunction!(record::fit_stretches, module)?)?;
    module.add_function(wrap_pyfunction!(record::detect_log, module)?)?;
    module.add_function(wrap_pyfunction!(record::read_log, module)?)?;
    module.add_class::<traces::TraceConversion>()?;
    module.add_function(wrap_pyfunction!(traces::trace_formats, module)?)?;
    module.add_function(wrap_pyfunction!(traces::detect_trace, module)?)?;
    module.add_function(wrap_pyfunction!(traces::describe_trace, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_columns, module)?)?;
    module.add_function(wrap_pyfunction!(traces::trace_curves, module)?)?;
    Ok(())
}
