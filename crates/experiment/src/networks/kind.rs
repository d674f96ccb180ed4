//! Trait of the kinds of networks.

use crate::parts::Part;
use crate::row::Row;
use crossfade_core::RunSeed;
use crossfade_scenario::{Scenario, ScenarioError, Setup};
use crossfade_sim::{NetworkStatistics, Topology};
use serde_json::Value;

/// A kind of network: its construction, facts, warnings and metrics. `setup` is the scenario with this network.
pub(crate) trait NetworkKind {
    /// Builds the media, with names, and the routes in both directions. Random streams are named after their purpose.
    fn topology(&self, setup: &Setup, seed: RunSeed) -> Topology;

    /// Parts of the network other than flows, in the order of results.
    fn parts(&self) -> Vec<Part>;

    /// Name of the kind, and facts about the network that need no run.
    fn facts(&self, setup: &Setup) -> (&'static str, Value);

    /// Estimated bytes of a run for the network and the packets in it.
    fn memory(&self, setup: &Setup) -> f64;

    /// Warnings about the network before any run.
    fn warnings(&self, setup: &Setup) -> Vec<String>;

    /// Warnings about the network after the runs of `_rows`.
    fn warnings_of_runs(&self, _setup: &Setup, _rows: &[&Row]) -> Vec<String> {
        Vec::new()
    }

    /// Metrics of the network's parts in a run other than flows and links: values by key, NaN if undefined.
    fn metrics_of_run(&self, _setup: &Setup, _run: &NetworkStatistics) -> Vec<(String, f64)> {
        Vec::new()
    }

    /// Reason why method `who`, which assumes a link of constant rate that loses whole packets, cannot solve the
    /// network; `None` if it can.
    fn unmet_assumption(&self, scenario: &Scenario, who: &str) -> Option<ScenarioError>;
}
