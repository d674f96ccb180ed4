//! What a method is: the trait that each has.

use crate::control::Control;
use crate::fitted::FittedChains;
use crate::impossible::ImpossibleResult;
use crate::metrics::Metrics;
use crossfade_core::RunSeed;
use crossfade_scenario::{FlowSetup, Method, Point, ScenarioError};

/// Metrics by name, or why there are none.
pub(crate) type Outcome = Result<Metrics, NoMetrics>;

/// Why a run has no metrics.
#[derive(Debug)]
pub(crate) enum NoMetrics {
    /// The method can say nothing of the point.
    Refused(ScenarioError),
    /// What it says cannot be.
    Impossible(ImpossibleResult),
}

impl From<ScenarioError> for NoMetrics {
    fn from(error: ScenarioError) -> Self {
        Self::Refused(error)
    }
}

impl From<ImpossibleResult> for NoMetrics {
    fn from(error: ImpossibleResult) -> Self {
        Self::Impossible(error)
    }
}

/// What makes a run; `None` if it was interrupted.
pub(crate) type MakeRun<'a> = dyn Fn(&Point, Method, RunSeed) -> Option<Outcome> + Sync + 'a;

/// A way to obtain figures.
pub(crate) trait Solver: Sync {
    /// Why it can say nothing of a point, if it cannot.
    fn refusal(&self, point: &Point) -> Option<ScenarioError>;

    /// One run of a point, or its solution; `None` once `control` says so.
    fn run(&self, point: &Point, seed: RunSeed, fitted: &FittedChains, control: &Control) -> Option<Outcome>;

    /// Whose TCP a flow has, where it is none of ours.
    fn whose_tcp(&self, _flow: &FlowSetup) -> Option<String> {
        None
    }

    /// Whether runs differ, so that several are averaged; what is not random is solved once.
    fn is_random(&self) -> bool;

    /// Whether the same point and seed give the same row at any time: only such rows may be kept and merged.
    fn is_repeatable(&self) -> bool;
}
