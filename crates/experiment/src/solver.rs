//! What a method is: the trait that each has, and what its runs share.

use crate::handle::ExecutionHandle;
use crate::impossible::ImpossibleResult;
use crate::metrics::Metrics;
use crossfade_channel::{LossConfig, MarkovView, NotMarkov};
use crossfade_core::RunSeed;
use crossfade_scenario::{FlowSetup, Method, Point, ScenarioError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

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

    /// One run of a point, or its solution; `None` once `handle` says so.
    fn run(
        &self,
        point: &Point,
        seed: RunSeed,
        fitted: &FittedChains,
        handle: &ExecutionHandle,
    ) -> Option<Outcome>;

    /// TCP of a flow that is not Crossfade's.
    fn whose_tcp(&self, _flow: &FlowSetup) -> Option<String> {
        None
    }

    /// Whether runs differ, so that several are averaged; what is not random is solved once.
    fn is_random(&self) -> bool;

    /// Whether the same point and seed give the same row at any time: only such rows may be kept and merged.
    fn is_repeatable(&self) -> bool;
}

/// Chains fitted to Rayleigh fading, by what they were fitted to: points of a sweep share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct FittedChains(Arc<Mutex<Found>>);

/// What was found for the parameters of a channel.
type Found = HashMap<[u64; 2], Result<MarkovView, NotMarkov>>;

impl FittedChains {
    /// What the analysis may take a channel for. Takes up to a second for Rayleigh fading.
    pub(crate) fn view(&self, loss: &LossConfig) -> Result<MarkovView, NotMarkov> {
        let Some(parameters) = loss.needs_fit() else { return loss.markov_view() };
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&parameters).cloned();
        // Not under the lock: other threads have other points. Two may fit the same, and find the same.
        known.unwrap_or_else(|| {
            let found = loss.markov_view();
            lock().insert(parameters, found.clone());
            found
        })
    }
}
