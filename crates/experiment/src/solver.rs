//! The trait of methods, and state that their runs share.

use crate::handle::ExecutionHandle;
use crate::impossible::ImpossibleResult;
use crate::metrics::Metrics;
use crossfade_channel::{LossConfig, MarkovView, NotMarkov};
use crossfade_core::RunSeed;
use crossfade_scenario::{FlowSetup, Method, Point, ScenarioError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Metrics of a run, or the reason for none.
pub(crate) type Outcome = Result<Metrics, NoMetrics>;

/// Reason for a run without metrics.
#[derive(Debug)]
pub(crate) enum NoMetrics {
    /// The method cannot solve the point.
    Refused(ScenarioError),
    /// The method gave an impossible value.
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

/// Function that makes a run; `None` if it was interrupted.
pub(crate) type MakeRun<'a> = dyn Fn(&Point, Method, RunSeed) -> Option<Outcome> + Sync + 'a;

/// A method.
pub(crate) trait Solver: Sync {
    /// Reason for which the method cannot solve a point; `None` if it can.
    fn refusal(&self, point: &Point) -> Option<ScenarioError>;

    /// Makes one run of a point, or solves it; `None` once `handle` is cancelled.
    fn run(
        &self,
        point: &Point,
        seed: RunSeed,
        fitted: &FittedChains,
        handle: &ExecutionHandle,
    ) -> Option<Outcome>;

    /// Name of the TCP implementation of a flow, if it is not Crossfade's.
    fn whose_tcp(&self, _flow: &FlowSetup) -> Option<String> {
        None
    }

    /// Whether runs are random, so that several are averaged; a method without randomness runs once.
    fn is_random(&self) -> bool;

    /// Whether the same point and seed give the same row at any time: only such rows may be kept and merged.
    fn is_repeatable(&self) -> bool;
}

/// Markov chains fitted to Rayleigh fading by channel parameters, which points of a sweep share.
#[derive(Clone, Debug, Default)]
pub(crate) struct FittedChains(Arc<Mutex<Found>>);

/// Fitted chains, or why there is none, by the parameters of a channel.
type Found = HashMap<[u64; 2], Result<MarkovView, NotMarkov>>;

impl FittedChains {
    /// The Markov chain of a channel for the analysis, which takes up to a second to fit for Rayleigh fading.
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
