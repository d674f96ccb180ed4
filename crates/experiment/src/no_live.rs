//! Stand-in for method `live` where it is impossible: a file of its own, compiled in place of the module `live` on
//! systems other than Linux and in builds without the feature `live`.

use crate::metrics::Metrics;
use crossfade_core::RunSeed;
use crossfade_scenario::{FlowSetup, Point, ScenarioError};
use std::sync::atomic::AtomicBool;

/// Error of every point: this build cannot run method `live`.
#[expect(clippy::unnecessary_wraps, reason = "as where the method is")]
pub(crate) fn refusal(_: &Point) -> Option<ScenarioError> {
    let why = if cfg!(target_os = "linux") { "this build has none (feature live)" } else { "Linux only" };
    Some(ScenarioError::key("methods", format!("live: {why}")))
}

/// Error of every run: this build cannot run method `live`.
pub(crate) fn run(point: &Point, _: RunSeed, _: &AtomicBool) -> Option<Result<Metrics, ScenarioError>> {
    refusal(point).map(Err)
}

/// TCP implementation of a flow by method `live`; always `None` in this build.
pub(crate) fn whose_tcp(_: &FlowSetup) -> Option<String> {
    None
}
