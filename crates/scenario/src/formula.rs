//! One point by a formula that knows the channel by its loss rate alone.

use crate::analyse::changing_link;
use crate::error::ScenarioError;
use crate::plan::Point;
use crate::resolve::Setup;
use crate::scenario::{Method, Scenario};
use crate::warnings::round_trip;
use crossfade_analysis::{Formula, TcpPath};
use crossfade_core::SimTime;
use crossfade_transport::{Flavour, RtoRule};
use serde_json::json;
use std::collections::BTreeMap;

/// What the formulas ask for, with times in slots.
///
/// # Errors
/// A channel without a loss rate.
pub(crate) fn path(scenario: &Scenario, setup: &Setup) -> Result<TcpPath, ScenarioError> {
    let Some(tcp) = setup.only_bulk_tcp() else {
        let names = scenario.flows.keys().cloned().collect::<Vec<_>>().join(", ");
        let problem = "a formula assumes one connection without end; use method simulation";
        return Err(ScenarioError::key(format!("flows ({names})"), problem));
    };
    if let Some(error) = changing_link(scenario, setup, "a formula") {
        return Err(error);
    }
    let p = setup.forward.loss.rate().ok_or_else(|| {
        let problem = "a formula assumes a loss rate, and a drop list has none; use method simulation";
        ScenarioError::value("channel.model", &json!(scenario.channel.model), problem)
    })?;
    let slots = |time: SimTime| time.as_nanos() as f64 / setup.slot.as_nanos() as f64;
    let rtt = round_trip(setup, &setup.flows[0]);
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
pub(crate) fn formula(point: &Point, method: Method) -> Result<BTreeMap<String, f64>, ScenarioError> {
    let path = path(&point.scenario, &point.setup)?;
    let which = if method == Method::Formula { Formula::Padhye } else { Formula::SquareRoot };
    let throughput = crossfade_analysis::formula(which, &path)
        .map_err(|error| ScenarioError::key("formula", error.to_string()))?;
    let mss = point.setup.only_bulk_tcp().map_or(0, |tcp| tcp.mss);
    let mut metrics = crate::simulate::rates(&point.setup, mss, throughput, throughput / (1.0 - path.p));
    metrics.retain(|_, value| value.is_finite());
    Ok(metrics)
}
