//! Method `live` where it is impossible: a file of its own, compiled in place of `live` on systems other than Linux
//! and in builds without the feature `live`.

use crate::metrics::Metrics;
use crossfade_core::RunSeed;
use crossfade_scenario::{FlowSetup, Point, ScenarioError};
use std::sync::atomic::AtomicBool;

/// Why the method can say nothing of any point.
#[expect(clippy::unnecessary_wraps, reason = "as where the method is")]
pub(crate) fn refusal(_: &Point) -> Option<ScenarioError> {
    let why = if cfg!(target_os = "linux") { "this build has none (feature live)" } else { "Linux only" };
    Some(ScenarioError::key("methods", format!("live: {why}")))
}

/// Error: this build has no method `live`.
pub(crate) fn run(point: &Point, _: RunSeed, _: &AtomicBool) -> Option<Result<Metrics, ScenarioError>> {
    refusal(point).map(Err)
}

/// Origin of a flow's TCP: never the kernel's in this build.
pub(crate) fn whose_tcp(_: &FlowSetup) -> Option<String> {
    None
}
