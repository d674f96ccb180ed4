//! Trait of methods, and the state that their runs share.

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

/// Reason why a run has no metrics.
#[derive(Debug)]
pub(crate) enum NoMetrics {
    /// The method cannot solve the point.
    Refused(ScenarioError),
    /// The method gave an impossible value, which is a bug.
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

/// Function that makes a run of a point by a method; `None` if it was cancelled.
pub(crate) type MakeRun<'a> = dyn Fn(&Point, Method, RunSeed) -> Option<Outcome> + Sync + 'a;

/// A method: simulation, analysis, a formula, live emulation, or the physical layer alone.
pub(crate) trait Solver: Sync {
    /// Reason why the method cannot solve `point`; `None` if it can.
    fn refusal(&self, point: &Point) -> Option<ScenarioError>;

    /// Makes one run of `point`, or solves it; `None` once `handle` is cancelled.
    fn run(
        &self,
        point: &Point,
        seed: RunSeed,
        fitted: &FittedChains,
        handle: &ExecutionHandle,
    ) -> Option<Outcome>;

    /// TCP implementation that a flow has under this method; `None`: Crossfade's own.
    fn whose_tcp(&self, _flow: &FlowSetup) -> Option<String> {
        None
    }

    /// True if runs are random, so that several are averaged; false for a method that runs once.
    fn is_random(&self) -> bool;

    /// True if the same point and seed always give the same row; only such rows may be cached and merged.
    fn is_repeatable(&self) -> bool;
}

/// Cache of Markov chains fitted to Rayleigh fading, shared by the points of a sweep.
#[derive(Clone, Debug, Default)]
pub(crate) struct FittedChains(Arc<Mutex<Found>>);

/// Fitted chains, or the reasons why none fits, by the parameters of the channel.
type Found = HashMap<[u64; 2], Result<MarkovView, NotMarkov>>;

impl FittedChains {
    /// Markov chain of a loss process for the analysis; for Rayleigh fading it is fitted, which takes up to a second.
    pub(crate) fn view(&self, loss: &LossConfig) -> Result<MarkovView, NotMarkov> {
        let Some(parameters) = loss.needs_fit() else { return loss.markov_view() };
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&parameters).cloned();
        // The fit runs outside the lock, since other threads have other points. Two threads may fit one channel, with
        // equal results.
        known.unwrap_or_else(|| {
            let found = loss.markov_view();
            lock().insert(parameters, found.clone());
            found
        })
    }
}
