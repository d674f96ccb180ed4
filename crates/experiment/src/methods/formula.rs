//! Methods formula and formula:square-root: throughput of one point from the loss rate of its channel.

use super::assumptions::unforeseen;
use super::bianchi::saturated_star;
use super::error_rates::error_rates;
use super::nr::hybrid_arq;
use super::wlan::saturated_stations;
use crate::closed_forms::{packet_loss, radio};
use crate::handle::ExecutionHandle;
use crate::metrics::{Metrics, rates};
use crate::solver::{FittedChains, NoMetrics, Outcome, Solver};
use crossfade_analysis::{Formula, TcpPath};
use crossfade_channel::LossConfig;
use crossfade_core::{RunSeed, SimTime};
use crossfade_scenario::{MeshSetup, NrSetup, Point, ScenarioError, Setup, WlanSetup};
use crossfade_transport::{CongestionControlKind, RtoRule, TcpConfig};
use serde_json::json;

/// A method that solves a point by a formula, such as Padhye's or the square-root law.
pub(super) struct LossFormula(pub(super) Formula);

impl Solver for LossFormula {
    fn refusal(&self, point: &Point) -> Option<ScenarioError> {
        if let Some(mesh) = self.star(point) {
            return saturated_star(point, mesh).err();
        }
        if let Some(wlan) = self.wlan(point) {
            return saturated_stations(point, wlan).err();
        }
        if let Some(nr) = self.nr(point) {
            return hybrid_arq(point, nr).err();
        }
        match radio(&point.setup) {
            Some((hop, radio)) => error_rates(hop, radio).err().filter(|_| asked(point, self.0).is_err()),
            None => asked(point, self.0).err(),
        }
    }

    fn run(&self, point: &Point, _: RunSeed, _: &FittedChains, _: &ExecutionHandle) -> Option<Outcome> {
        if let Some(mesh) = self.star(point) {
            return Some(saturated_star(point, mesh).map_err(NoMetrics::from));
        }
        if let Some(wlan) = self.wlan(point) {
            return Some(saturated_stations(point, wlan).map_err(NoMetrics::from));
        }
        if let Some(nr) = self.nr(point) {
            return Some(hybrid_arq(point, nr).map_err(NoMetrics::from));
        }
        let Some((hop, radio)) = radio(&point.setup) else {
            return Some(formula(point, self.0).map_err(NoMetrics::from));
        };
        // Error rates and TCP throughput, each if it has a closed form.
        Some(match (error_rates(hop, radio), formula(point, self.0)) {
            (Ok(mut rates), of_tcp) => {
                rates.extend(of_tcp.unwrap_or_default());
                Ok(rates)
            }
            (Err(_), Ok(of_tcp)) => Ok(of_tcp),
            (Err(error), Err(_)) => Err(error.into()),
        })
    }

    fn is_random(&self) -> bool {
        false
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

impl LossFormula {
    /// Mesh of the point, which method formula solves by Bianchi's model; `None` for other networks or formulas.
    fn star<'a>(&self, point: &'a Point) -> Option<&'a MeshSetup> {
        point.setup.mesh().filter(|_| self.0 == Formula::Padhye)
    }

    /// Wi-Fi network of the point, which method formula solves for saturated stations; `None` for other networks or
    /// formulas.
    fn wlan<'a>(&self, point: &'a Point) -> Option<&'a WlanSetup> {
        point.setup.wlan().filter(|_| self.0 == Formula::Padhye)
    }

    /// NR cell of the point, which method formula solves by hybrid ARQ in closed form; `None` for other networks or
    /// formulas.
    fn nr<'a>(&self, point: &'a Point) -> Option<&'a NrSetup> {
        point.setup.nr().filter(|_| self.0 == Formula::Padhye)
    }
}

/// Formula to solve and its inputs. Method formula takes CUBIC's response function for CUBIC, which has no square-root
/// law.
///
/// # Errors
/// Those of [`path`], and a congestion control other than Reno and CUBIC.
fn asked(point: &Point, which: Formula) -> Result<(Formula, TcpPath), ScenarioError> {
    let path = path(point)?;
    let Point { scenario, setup, .. } = point;
    let control = setup.only_bulk_tcp().and_then(|tcp| tcp.config.congestion_control());
    match (which, control.unwrap_or(CongestionControlKind::Reno)) {
        (Formula::SquareRoot, CongestionControlKind::Cubic) => {
            let problem =
                "the square-root law is Reno's; use method formula, which has CUBIC's response function";
            Err(ScenarioError::value("tcp.variant", &json!(scenario.tcp.variant), problem))
        }
        (_, CongestionControlKind::Cubic) => Ok((Formula::Cubic, path)),
        (other, CongestionControlKind::Reno) => Ok((other, path)),
        _ => {
            let problem = "the formulas are Reno's and CUBIC's; use method simulation";
            Err(ScenarioError::value("tcp.congestion", &json!(scenario.tcp.congestion), problem))
        }
    }
}

/// Inputs of the formulas, with times in slots.
///
/// # Errors
/// If the point is not one endless TCP connection, or its channel has no loss rate.
fn path(point: &Point) -> Result<TcpPath, ScenarioError> {
    let Point { scenario, setup, .. } = point;
    let Some(tcp) = setup.only_bulk_tcp() else {
        let names = scenario.flows.keys().cloned().collect::<Vec<_>>().join(", ");
        let problem = "a formula assumes one connection without end; use method simulation";
        return Err(ScenarioError::key(format!("flows ({names})"), problem));
    };
    let Some(config) = tcp.config.tcp() else {
        let problem = "the formulas are TCP's, with its timeouts; use method simulation";
        return Err(ScenarioError::value("tcp.flavour", &json!("quic"), problem));
    };
    if let Some((hop, radio)) = radio(setup) {
        let p = packet_loss(hop, setup.packet_size, radio, "a formula")?;
        return Ok(tcp_path(setup, config, p));
    }
    if let Some(error) = unforeseen(scenario, setup, "a formula") {
        return Err(error);
    }
    let loss = setup.links().and_then(|links| links.forward.loss());
    let p = loss.and_then(LossConfig::rate).ok_or_else(|| {
        let problem = "a formula assumes a loss rate, and a drop list has none; use method simulation";
        ScenarioError::value("channel.model", &json!(scenario.channel.model), problem)
    })?;
    Ok(tcp_path(setup, config, p))
}

/// Inputs of the formulas for a connection that loses packets with probability `p`.
fn tcp_path(setup: &Setup, tcp: &TcpConfig, p: f64) -> TcpPath {
    let slots = |time: SimTime| time.as_nanos() as f64 / setup.slot.as_nanos() as f64;
    let rtt = setup.round_trip(&setup.flows[0]);
    let timeout = match tcp.rto.rule {
        RtoRule::Fixed(timeout) => timeout,
        // An estimated timeout stays near the round trip, and at its minimum if that is longer.
        RtoRule::Estimated { min, .. } => min.max(rtt),
    };
    TcpPath {
        p,
        rtt: slots(rtt),
        t0: slots(timeout),
        // The others acknowledge each segment; flavour rfc delays acknowledgements, but counts the bytes they cover
        // (RFC 3465).
        b: 1.0,
        w_max: f64::from(tcp.w_max),
        unit_s: setup.slot.as_secs_f64(),
    }
}

/// Metrics of a point by a formula. Energy and transmissions assume that the sender retransmits lost segments and no
/// others.
///
/// # Errors
/// Those of [`asked`], and inputs outside the formula's range.
fn formula(point: &Point, which: Formula) -> Result<Metrics, ScenarioError> {
    let (which, path) = asked(point, which)?;
    let throughput = crossfade_analysis::formula(which, &path)
        .map_err(|error| ScenarioError::key("formula", error.to_string()))?;
    let mss = point.setup.only_bulk_tcp().map_or(0, |tcp| tcp.mss);
    let mut metrics = rates(&point.setup, mss, throughput, throughput / (1.0 - path.p));
    metrics.retain(|_, value| value.is_finite());
    Ok(metrics)
}
