//! One point by analysis: from its setup to its metrics, or the assumption that fails.

use crate::error::ScenarioError;
use crate::resolve::{LossModel, Setup};
use crate::scenario::{Method, Scenario};
use crate::simulate::rates;
use crossfade_analysis::{AnalysisError, Model, bounds, exact, paper_bounds};
use crossfade_channel::{Clock, TwoStateMarkov};
use crossfade_core::SimTime;
use crossfade_sim::SenderGate;
use crossfade_transport::{Flavour, RtoRule};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How far an exact throughput may be from the truth: far below any simulation's interval.
const ACCURACY: f64 = 1e-6;

/// Metrics named with this and a window's floor are the shares of first losses that find that window.
pub(crate) const LOSS_WINDOW: &str = "loss_window.";

/// What the analysis solves at a point.
///
/// # Errors
/// The first assumption of the analysis that the scenario does not meet, with the key that decides it.
pub(crate) fn model(scenario: &Scenario, setup: &Setup) -> Result<Model, ScenarioError> {
    let tcp = &setup.tcp;
    if tcp.flavour != Flavour::Paper {
        return Err(unmet("tcp.flavour", scenario.tcp.flavour, "flavour \"paper\", the idealised sender"));
    }
    if setup.gate != SenderGate::Slot {
        return Err(unmet("tcp.gate", scenario.tcp.gate, "gate \"slot\", one packet a slot"));
    }
    let instant = "an acknowledgement at the end of the packet's own slot";
    for (key, delay, given) in [
        ("link.delay", setup.forward.delay, scenario.link.delay),
        ("reverse.delay", setup.reverse.delay, scenario.reverse.delay),
    ] {
        if delay > SimTime::ZERO {
            return Err(unmet(key, given, instant));
        }
    }
    if setup.reverse.rate_bps.is_some() {
        return Err(unmet("reverse.rate", scenario.reverse.rate, instant));
    }
    if setup.reverse.loss.may_lose() {
        return Err(unmet(
            "reverse.channel.model",
            scenario.reverse.channel.model,
            "no acknowledgement lost",
        ));
    }
    let (timeout_slots, backoff_max_slots) = timeout(scenario, setup)?;
    let model = Model {
        variant: tcp.variant,
        w_max: tcp.w_max,
        dupthresh: tcp.dupthresh,
        timeout_slots,
        backoff_max_slots,
        channel: chain(scenario, &setup.forward.loss)?,
    };
    model.check().map_err(|error| refuse(&error))?;
    Ok(model)
}

/// The chain of the data channel, one step a slot.
fn chain(scenario: &Scenario, loss: &LossModel) -> Result<TwoStateMarkov, ScenarioError> {
    let channel = &scenario.channel;
    match loss {
        LossModel::Lossless => Ok(TwoStateMarkov::iid(0.0).expect("a probability")),
        LossModel::Iid { p_e } => Ok(TwoStateMarkov::iid(*p_e).expect("checked")),
        LossModel::Markov { chain, clock: Clock::Slot(_) } => Ok(*chain),
        LossModel::Markov { .. } => {
            Err(unmet("channel.clock", channel.clock, "clock \"slot\", a channel that fades while TCP waits"))
        }
        LossModel::Rayleigh { .. } | LossModel::DropList(_) => {
            Err(unmet("channel.model", channel.model, "a two-state Markov channel (none, iid or markov)"))
        }
    }
}

/// The timeout and, with back-off, the longest one, in slots.
fn timeout(scenario: &Scenario, setup: &Setup) -> Result<(u32, Option<u32>), ScenarioError> {
    let whole = |key: &str, time: SimTime, given: Value| {
        let slots = time / setup.slot;
        let exact = setup.slot.as_nanos().checked_mul(slots) == Some(time.as_nanos());
        u32::try_from(slots)
            .ok()
            .filter(|_| exact)
            .ok_or_else(|| unmet(key, given, "a whole number of slots"))
    };
    let rto = &scenario.tcp.rto;
    let RtoRule::Fixed(timeout) = setup.tcp.rto.rule else {
        return Err(unmet("tcp.rto.min", rto.min, "a fixed timeout (tcp.rto.fixed)"));
    };
    let slots = whole("tcp.rto.fixed", timeout, json!(rto.fixed))?;
    if !setup.tcp.rto.backoff {
        return Ok((slots, None));
    }
    Ok((slots, Some(whole("tcp.rto.max", setup.tcp.rto.max, json!(rto.max))?)))
}

/// An assumption of the analysis that `key` does not meet.
fn unmet(key: &str, value: impl serde::Serialize, assumed: &str) -> ScenarioError {
    let value = serde_json::to_value(value).unwrap_or_default();
    ScenarioError::value(key, &value, format!("the analysis assumes {assumed}; use method simulation"))
}

/// Whether `method` may be able to solve `model`.
///
/// # Errors
/// A back-off where bounds are asked for.
pub(crate) fn check(model: &Model, method: Method) -> Result<(), ScenarioError> {
    match (method, model.backoff_max_slots) {
        (Method::AnalysisBounds | Method::AnalysisPaperBounds, Some(backoff_max_slots)) => {
            Err(refuse(&AnalysisError::BackoffNotBounded { backoff_max_slots }))
        }
        _ => Ok(()),
    }
}

/// A refusal by the analysis, with the key that it is about.
fn refuse(error: &AnalysisError) -> ScenarioError {
    match error {
        AnalysisError::OutOfRange { parameter, value, allowed } => {
            let key = match *parameter {
                "w_max" => "tcp.w_max",
                "dupthresh" => "tcp.dupthresh",
                "timeout_slots" => "tcp.rto.fixed in slots",
                "backoff_max_slots" => "tcp.rto.max in slots",
                other => other,
            };
            let problem = format!("must be {allowed}, for the analysis; method simulation takes others");
            // Whole numbers are written as such.
            let value = if value.fract() == 0.0 { json!(*value as i64) } else { json!(value) };
            ScenarioError::value(key, &value, problem)
        }
        AnalysisError::BackoffNotBounded { .. } => ScenarioError::value(
            "tcp.rto.backoff",
            &Value::Bool(true),
            "the bounds assume a constant timeout; use method analysis or simulation",
        ),
        other => ScenarioError::key("analysis", other.to_string()),
    }
}

/// Solves `model` by `method`: its metrics by name.
///
/// # Errors
/// What cannot be solved this way, and what to use instead.
pub(crate) fn analyse(
    setup: &Setup,
    model: &Model,
    method: Method,
) -> Result<BTreeMap<String, f64>, ScenarioError> {
    let named = |name: &str, value| (name.to_owned(), value);
    match method {
        Method::AnalysisBounds | Method::AnalysisPaperBounds => {
            let solve = if method == Method::AnalysisBounds { bounds } else { paper_bounds };
            let found = solve(model).map_err(|error| refuse(&error))?;
            Ok([
                named("throughput_lower", found.throughput_lower),
                named("throughput_upper", found.throughput_upper),
                named("transmissions_per_slot", found.transmissions_per_slot),
            ]
            .into())
        }
        _ => {
            let found = exact(model, ACCURACY).map_err(|error| refuse(&error))?;
            let solution = found.solution;
            let mut metrics = rates(setup, solution.throughput_per_slot, solution.transmissions_per_slot);
            metrics.extend([
                named("timeouts_per_slot", found.timeouts_per_slot),
                named("fast_retransmits_per_slot", found.fast_retransmits_per_slot),
                named("cycle_mean_slots", found.mean_cycle_slots),
                named("truncation_error", found.truncation),
                named("states", found.states as f64),
            ]);
            let windows = found.loss_windows.iter().zip(1..);
            metrics.extend(windows.map(|(share, floor)| (format!("{LOSS_WINDOW}{floor}"), *share)));
            metrics.retain(|_, value| value.is_finite());
            Ok(metrics)
        }
    }
}
