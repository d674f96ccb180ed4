//! One point by a formula that knows the channel by its loss rate alone.

use super::assumptions::changing_link;
use super::fitted::FittedChains;
use super::solver::{NoMetrics, Outcome, Solver};
use crate::control::Control;
use crate::metrics::{Metrics, rates};
use crossfade_analysis::{Formula, TcpPath};
use crossfade_channel::LossConfig;
use crossfade_core::{RunSeed, SimTime};
use crossfade_scenario::{Point, ScenarioError};
use crossfade_transport::{Flavour, RtoRule};
use serde_json::json;

/// A formula.
pub(super) struct LossFormula(pub(super) Formula);

impl Solver for LossFormula {
    fn refusal(&self, point: &Point) -> Option<ScenarioError> {
        path(point).err()
    }

    fn run(&self, point: &Point, _: RunSeed, _: &FittedChains, _: &Control) -> Option<Outcome> {
        Some(formula(point, self.0).map_err(NoMetrics::from))
    }

    fn is_random(&self) -> bool {
        false
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

/// What the formulas ask for, with times in slots.
///
/// # Errors
/// A channel without a loss rate.
fn path(point: &Point) -> Result<TcpPath, ScenarioError> {
    let Point { scenario, setup, .. } = point;
    let Some(tcp) = setup.only_bulk_tcp() else {
        let names = scenario.flows.keys().cloned().collect::<Vec<_>>().join(", ");
        let problem = "a formula assumes one connection without end; use method simulation";
        return Err(ScenarioError::key(format!("flows ({names})"), problem));
    };
    if let Some(error) = changing_link(scenario, setup, "a formula") {
        return Err(error);
    }
    let p = setup.forward.loss().and_then(LossConfig::rate).ok_or_else(|| {
        let problem = "a formula assumes a loss rate, and a drop list has none; use method simulation";
        ScenarioError::value("channel.model", &json!(scenario.channel.model), problem)
    })?;
    let slots = |time: SimTime| time.as_nanos() as f64 / setup.slot.as_nanos() as f64;
    let rtt = setup.round_trip(&setup.flows[0]);
    let timeout = match tcp.config.rto.rule {
        RtoRule::Fixed(timeout) => timeout,
        // An estimate stays near the round trip, and so at its minimum where that is longer.
        RtoRule::Estimated { min, .. } => min.max(rtt),
    };
    // RFC 1122: a delayed acknowledgement answers every second segment.
    let delayed = tcp.config.flavour == Flavour::Rfc && tcp.config.rfc.delayed_ack.is_some();
    let b = if delayed { 2.0 } else { 1.0 };
    Ok(TcpPath { p, rtt: slots(rtt), t0: slots(timeout), b, w_max: f64::from(tcp.config.w_max) })
}

/// The metrics of a point by a formula. Energy and transmissions are those of a sender that repeats what was
/// lost and nothing else.
///
/// # Errors
/// See [`path`].
fn formula(point: &Point, which: Formula) -> Result<Metrics, ScenarioError> {
    let path = path(point)?;
    let throughput = crossfade_analysis::formula(which, &path)
        .map_err(|error| ScenarioError::key("formula", error.to_string()))?;
    let mss = point.setup.only_bulk_tcp().map_or(0, |tcp| tcp.mss);
    let mut metrics = rates(&point.setup, mss, throughput, throughput / (1.0 - path.p));
    metrics.retain(|_, value| value.is_finite());
    Ok(metrics)
}
