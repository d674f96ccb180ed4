//! Method live: one run of a point on the kernel's TCP, in real time.

use crate::handle::ExecutionHandle;
use crate::solver::{FittedChains, NoMetrics, Outcome, Solver};
use crossfade_core::RunSeed;
use crossfade_scenario::{FlowSetup, Point, ScenarioError};

/// Method live: real TCP connections through the links of a scenario.
pub(super) struct Live;

impl Solver for Live {
    fn refusal(&self, point: &Point) -> Option<ScenarioError> {
        crate::live::refusal(point)
    }

    fn run(
        &self,
        point: &Point,
        seed: RunSeed,
        _: &FittedChains,
        handle: &ExecutionHandle,
    ) -> Option<Outcome> {
        crate::live::run(point, seed, &handle.cancel).map(|run| run.map_err(NoMetrics::from))
    }

    fn whose_tcp(&self, flow: &FlowSetup) -> Option<String> {
        crate::live::whose_tcp(flow)
    }

    fn is_random(&self) -> bool {
        true
    }

    fn is_repeatable(&self) -> bool {
        false
    }
}
