//! Facts about a plan as a whole, collected point by point so that no point is kept.

use crate::memory;
use crate::methods::solver;
use crate::networks;
use crate::warnings;
use crossfade_scenario::{Method, Point, ScenarioError};
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Greatest number of warnings that are listed; the others are only counted.
const MOST_WARNINGS: usize = 10;

/// Memory, warnings and refusals over all points of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// Bytes of memory that the largest run of any point may take.
    pub(crate) memory: f64,
    /// The first distinct warnings, at most [`MOST_WARNINGS`].
    warnings: Vec<String>,
    /// Hashes of all distinct warnings.
    distinct: HashSet<u64>,
    /// Error of each method at the first point; `None` once the method can solve some point.
    hopeless: Vec<(Method, Option<ScenarioError>)>,
}

impl Survey {
    /// Adds the facts of a point; points must come in order.
    pub(crate) fn see(&mut self, point: &Point) {
        let methods = point.scenario.methods.as_deref().unwrap_or_default();
        self.memory =
            self.memory.max(memory::of_flows(&point.setup) + networks::of(&point.setup).memory(&point.setup));
        if point.index == 0 {
            let refusal = |method: Method| solver(method).refusal(point).map(|error| point.locate(error));
            self.hopeless = methods.iter().map(|&method| (method, refusal(method))).collect();
        }
        for (method, refusal) in &mut self.hopeless {
            if refusal.is_some() && solver(*method).refusal(point).is_none() {
                *refusal = None;
            }
        }
        for warning in warnings::of_plan(methods, point) {
            let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&warning);
            if self.distinct.insert(hash) && self.warnings.len() < MOST_WARNINGS {
                self.warnings.push(warning);
            }
        }
    }

    /// Checks that each method can solve at least one point.
    ///
    /// # Errors
    /// The error at the first point of a method that can solve none: it was requested by mistake.
    pub(crate) fn refuse_hopeless(&self) -> Result<(), ScenarioError> {
        self.hopeless.iter().find_map(|(_, refusal)| refusal.clone()).map_or(Ok(()), Err)
    }

    /// Warnings of the scenario before any run, with a count of those left out.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let left_out = self.distinct.len() - self.warnings.len();
        let more = (left_out > 0).then(|| format!("and {left_out} more warnings at points of the sweep"));
        self.warnings.iter().cloned().chain(more).collect()
    }
}
