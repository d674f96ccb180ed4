//! Facts about a plan as a whole, collected point by point without keeping the points.

use crate::memory;
use crate::methods::solver;
use crate::networks;
use crate::warnings;
use crossfade_scenario::{Method, Point, ScenarioError};
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// Largest number of warnings that are listed; further ones are only counted.
const MOST_WARNINGS: usize = 10;

/// Facts about all points of a plan together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// Bytes of memory that a run of any point may take.
    pub(crate) memory: f64,
    /// The first distinct warnings.
    warnings: Vec<String>,
    /// The hashes of all distinct ones.
    distinct: HashSet<u64>,
    /// Why each method can say nothing of the first point, unless it can of some point.
    hopeless: Vec<(Method, Option<ScenarioError>)>,
}

impl Survey {
    /// Takes up a point; all come in order.
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

    /// # Errors
    /// A method that can say nothing at any point: it was asked for by mistake.
    pub(crate) fn refuse_hopeless(&self) -> Result<(), ScenarioError> {
        self.hopeless.iter().find_map(|(_, refusal)| refusal.clone()).map_or(Ok(()), Err)
    }

    /// Warnings that the scenario itself raises, before anything runs.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let left_out = self.distinct.len() - self.warnings.len();
        let more = (left_out > 0).then(|| format!("and {left_out} more warnings at points of the sweep"));
        self.warnings.iter().cloned().chain(more).collect()
    }
}
