//! Markov chains that stand for channels, each fitted once.

use crossfade_channel::{LossConfig, MarkovView, NotMarkov};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

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
