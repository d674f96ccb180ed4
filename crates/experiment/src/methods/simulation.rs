//! One run of a point by simulation: from its setup to its metrics.

use super::fitted::FittedChains;
use super::solver::{Outcome, Solver};
use crate::build::network;
use crate::metrics::{DIED, METRICS, Metrics, distributions, flow_key};
use crate::statistics::{FlowTotals, Scale, flows, links};
use crossfade_core::{Observer, RunSeed};
use crossfade_scenario::{Point, ScenarioError, Setup};
use crossfade_sim::{Capture, Network, NetworkStatistics, SimulationError, simulate as run};
use std::sync::atomic::AtomicBool;

/// Runs of the event engine.
pub(super) struct Simulation;

impl Solver for Simulation {
    fn refusal(&self, _: &Point) -> Option<ScenarioError> {
        None
    }

    fn run(&self, point: &Point, seed: RunSeed, _: &FittedChains, cancel: &AtomicBool) -> Option<Outcome> {
        let statistics = run_checked(network(&point.setup, seed), (), (), cancel)?;
        Some(Ok(metrics(&point.setup, &statistics)))
    }

    fn is_random(&self) -> bool {
        true
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

/// Runs a network that resolving has checked; `None` if `cancel` became true.
pub(crate) fn run_checked<O: Observer, C: Capture>(
    network: Network,
    observer: O,
    capture: C,
    cancel: &AtomicBool,
) -> Option<NetworkStatistics> {
    match run(network, observer, capture, cancel) {
        Ok(statistics) => Some(statistics),
        Err(SimulationError::Interrupted(_)) => None,
        Err(error) => unreachable!("a checked network: {error}"),
    }
}

/// All metrics of a run; 0/0 is none: a run without deliveries has no energy per packet.
fn metrics(setup: &Setup, run: &NetworkStatistics) -> Metrics {
    let mut metrics = Metrics::new();
    let mut insert = |key: String, value: Option<f64>| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            metrics.insert(key, value);
        }
    };
    let (flows, links) = (flows(setup, run), links(setup, run));
    let scale = Scale::new(setup, run.duration, &links);
    let mut whole = FlowTotals::default();
    for (_, flow) in &flows {
        whole.join(flow);
    }
    for metric in &METRICS {
        insert(metric.name.to_owned(), metric.of_flows(&whole, &scale));
        for (flow, totals) in flows.iter().filter(|(flow, _)| !flow.name.is_empty()) {
            insert(metric.flow_key(&flow.name), metric.of_flows(totals, &scale));
        }
        for (name, link) in &links {
            insert(metric.link_key(name), metric.of_link(link));
        }
    }
    for (name, value) in distributions(&whole) {
        insert(name, Some(value));
    }
    for (flow, totals) in flows.iter().filter(|(flow, _)| !flow.name.is_empty()) {
        for (name, value) in distributions(totals) {
            insert(flow_key(&flow.name, &name), Some(value));
        }
    }
    insert(DIED.to_owned(), Some(f64::from(u8::from(run.stalled || whole.died))));
    metrics
}
