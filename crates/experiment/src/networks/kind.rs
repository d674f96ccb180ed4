//! The trait of kinds of networks.

use crate::parts::Part;
use crate::row::Row;
use crossfade_core::RunSeed;
use crossfade_scenario::{Scenario, ScenarioError, Setup};
use crossfade_sim::{NetworkStatistics, Topology};
use serde_json::Value;

/// A kind of network: how it is built, and its facts, warnings and metrics. `setup` is the scenario with that network.
pub(crate) trait NetworkKind {
    /// Builds its media, with names, and the routes in both directions. Random streams are named after their purpose.
    fn topology(&self, setup: &Setup, seed: RunSeed) -> Topology;

    /// Parts of the network other than flows, in the order of results.
    fn parts(&self) -> Vec<Part>;

    /// Name and value of its facts, which are known without a run.
    fn facts(&self, setup: &Setup) -> (&'static str, Value);

    /// Upper bound of the bytes that a run takes for the network and the packets in it.
    fn memory(&self, setup: &Setup) -> f64;

    /// Warnings before any run.
    fn warnings(&self, setup: &Setup) -> Vec<String>;

    /// Warnings about the runs of these rows.
    fn warnings_of_runs(&self, _setup: &Setup, _rows: &[&Row]) -> Vec<String> {
        Vec::new()
    }

    /// Metrics of its parts in a run, without flows and links: values by key, NaN where undefined.
    fn metrics_of_run(&self, _setup: &Setup, _run: &NetworkStatistics) -> Vec<(String, f64)> {
        Vec::new()
    }

    /// Reason for which method `who`, which assumes a link of constant rate that loses whole packets, cannot solve the
    /// network.
    fn unmet_assumption(&self, scenario: &Scenario, who: &str) -> Option<ScenarioError>;
}
