//! What is to be known of a kind of network.

use crate::parts::Part;
use crate::row::Row;
use crossfade_core::RunSeed;
use crossfade_scenario::{Scenario, ScenarioError, Setup};
use crossfade_sim::{NetworkStatistics, Topology};
use serde_json::Value;

/// A kind of network: how it is made, and what is said of it. `setup` is the scenario that has it.
pub(crate) trait NetworkKind {
    /// Its media by name, and the ways there and back. Streams are named after what they serve.
    fn topology(&self, setup: &Setup, seed: RunSeed) -> Topology;

    /// Its parts beside the flows, in the order of results.
    fn parts(&self) -> Vec<Part>;

    /// What can be said of it without a run, and what that is called.
    fn facts(&self, setup: &Setup) -> (&'static str, Value);

    /// Bytes that a run may take for it, and for what is under way in it.
    fn memory(&self, setup: &Setup) -> f64;

    /// Doubts that it raises before anything runs.
    fn warnings(&self, setup: &Setup) -> Vec<String>;

    /// Doubts about the runs of which these are the rows.
    fn warnings_of_runs(&self, _setup: &Setup, _rows: &[&Row]) -> Vec<String> {
        Vec::new()
    }

    /// What its parts did in a run, beside flows and links: values by key, NaN where they are undefined.
    fn metrics_of_run(&self, _setup: &Setup, _run: &NetworkStatistics) -> Vec<(String, f64)> {
        Vec::new()
    }

    /// Why `who`, which assumes a link of constant rate that loses whole packets, can say nothing of it.
    fn unmet_assumption(&self, scenario: &Scenario, who: &str) -> Option<ScenarioError>;
}
