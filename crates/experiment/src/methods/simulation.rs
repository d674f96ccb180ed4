//! Method simulation: one run of a point, from its setup to its metrics.

use crate::build::network;
use crate::handle::{ExecutionHandle, PartDone};
use crate::impossible::{Possible, facts, most_of_run};
use crate::metrics::{ANY_NETWORK, DIED, KEPT, Metrics, distributions};
use crate::networks;
use crate::parts::{FLOW, LINK, Part};
use crate::solver::{FittedChains, NoMetrics, Outcome, Solver};
use crate::statistics::{FlowTotals, Scale, flows, links};
use crossfade_core::{Observer, RunSeed};
use crossfade_scenario::{End, Method, Point, ScenarioError, Setup};
use crossfade_sim::{Capture, Engine, Network, NetworkStatistics, SimulationError, simulate as run};
use std::sync::atomic::AtomicBool;

/// Method simulation: runs of the discrete-event engine.
pub(super) struct Simulation;

impl Solver for Simulation {
    fn refusal(&self, _: &Point) -> Option<ScenarioError> {
        None
    }

    fn run(
        &self,
        point: &Point,
        seed: RunSeed,
        _: &FittedChains,
        handle: &ExecutionHandle,
    ) -> Option<Outcome> {
        let statistics = watched(&point.setup, network(&point.setup, seed), handle)?;
        let metrics = metrics(&point.setup, &statistics);
        let most = most_of_run(&point.setup, &statistics);
        let possible = Possible { method: Method::Simulation, seed, most };
        let checked = possible.check(&metrics).and_then(|()| possible.check(&facts(&statistics)));
        Some(checked.map(|()| metrics).map_err(NoMetrics::from))
    }

    fn is_random(&self) -> bool {
        true
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

/// Number of engine events between two checks for cancellation.
const PORTION: u32 = 4096;

/// Runs a network of a valid scenario and reports its progress; `None` once `handle` is cancelled.
fn watched(setup: &Setup, network: Network, handle: &ExecutionHandle) -> Option<NetworkStatistics> {
    let mut engine =
        Engine::new(network, None, None).unwrap_or_else(|error| unreachable!("a checked network: {error}"));
    let mut done = PartDone::new(handle);
    let is_unwanted = || handle.is_cancelled() || setup.custom_control_has_failed();
    while engine.step(PORTION) {
        if is_unwanted() {
            return None;
        }
        if let (End::At(end), Some(now)) = (setup.end, engine.next_event()) {
            done.is(now.as_nanos() as f64 / end.as_nanos() as f64);
        }
    }
    (!setup.custom_control_has_failed()).then(|| engine.into_statistics())
}

/// Runs a network of a valid scenario with an observer and a capture; `None` once `cancel` is true.
pub(crate) fn run_checked<'a>(
    network: Network,
    observer: Option<&'a mut (dyn Observer + Send)>,
    capture: Option<&'a mut (dyn Capture + Send)>,
    cancel: &AtomicBool,
) -> Option<NetworkStatistics> {
    match run(network, observer, capture, cancel) {
        Ok(statistics) => Some(statistics),
        Err(SimulationError::Interrupted(_)) => None,
        Err(error) => unreachable!("a checked network: {error}"),
    }
}

/// Metrics that are quotients whose denominator may be 0 while the numerator is not.
const QUOTIENTS: [&str; 2] = ["energy_per_packet", "frame_transmissions_per_frame"];

/// All metrics of a run. A quotient with denominator 0 is left out, such as the energy per packet of a run without
/// deliveries.
pub(crate) fn metrics(setup: &Setup, run: &NetworkStatistics) -> Metrics {
    let mut metrics = Metrics::default();
    let values = &mut *metrics;
    let mut insert = |key: String, value: Option<f64>| {
        let of_nothing = |value: f64| {
            value.is_nan() || value == f64::INFINITY && QUOTIENTS.iter().any(|name| key.ends_with(name))
        };
        if let Some(value) = value.filter(|value| !of_nothing(*value)) {
            values.insert(key, value);
        }
    };
    let (flows, links) = (flows(setup, run), links(setup, run));
    let scale = Scale::new(setup, run.duration, &links);
    let mut whole = FlowTotals::default();
    for (_, flow) in &flows {
        whole.join(flow);
    }
    let named: Vec<_> = flows
        .iter()
        .filter(|(flow, _)| !flow.name.is_empty())
        .map(|(flow, totals)| (Part::new(FLOW, &flow.name), flow.count, totals))
        .collect();
    let links: Vec<_> = links.iter().map(|(name, link)| (Part::new(LINK, *name), link)).collect();
    for metric in ANY_NETWORK.iter().chain(KEPT) {
        insert(metric.info.name.to_owned(), metric.of_flows(&whole, &scale));
        for (flow, _, totals) in named.iter().filter(|(_, count, _)| *count > 0) {
            insert(metric.info.key(flow), metric.of_flows(totals, &scale));
        }
        for (part, link) in &links {
            insert(metric.info.key(part), metric.of_link(link));
        }
    }
    for (key, value) in networks::of(setup).metrics_of_run(setup, run) {
        insert(key, Some(value));
    }
    insert(DIED.to_owned(), Some(f64::from(u8::from(run.stalled || whole.died))));
    for (flow, ..) in named.iter().filter(|(_, _, totals)| totals.died) {
        insert(flow.key(DIED), Some(1.0));
    }
    metrics.distributions.extend(distributions(&whole).map(|(name, found)| (name.to_owned(), found)));
    for (flow, _, totals) in &named {
        metrics.distributions.extend(distributions(totals).map(|(name, found)| (flow.key(name), found)));
    }
    metrics
}
