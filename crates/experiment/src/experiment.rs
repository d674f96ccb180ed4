//! A plan together with what the methods say of it.

use crate::memory;
use crate::methods::solver;
use crate::metrics::{METRICS, units};
use crate::warnings;
use crate::{cell, mesh};
use crossfade_scenario::{Method, Overrides, Plan, Point, ReadFile, ScenarioError, StopRule};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::ops::Deref;

/// What a precision is about if nothing else is said, also in results files.
const USUAL_METRIC: &str = "goodput_bps";

/// A plan of which each method can say something.
#[derive(Clone, Debug)]
pub struct Experiment(Plan);

impl Deref for Experiment {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.0
    }
}

impl Experiment {
    /// Reads a scenario in TOML; `name` stands in messages about its syntax.
    ///
    /// # Errors
    /// Anything that is not right, as one line; see [`Self::new`].
    pub fn load(text: &str, name: &str, overrides: &Overrides) -> Result<Self, ScenarioError> {
        Plan::load(text, name, overrides).and_then(Self::new)
    }

    /// The same of a scenario that names files: `read` gives the text of each.
    ///
    /// # Errors
    /// Anything that is not right, as one line; see [`Self::new`].
    pub fn load_with_files(
        text: &str,
        name: &str,
        overrides: &Overrides,
        read: &ReadFile<'_>,
    ) -> Result<Self, ScenarioError> {
        Plan::load_with_files(text, name, overrides, read).and_then(Self::new)
    }

    /// The same as long as `goes_on` says so, which is told now and then how many points were read, of how many.
    ///
    /// # Errors
    /// Anything that is not right, as one line; that it was interrupted.
    pub fn load_while(
        text: &str,
        name: &str,
        overrides: &Overrides,
        read: &ReadFile<'_>,
        goes_on: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Self, ScenarioError> {
        Plan::load_while(text, name, overrides, read, goes_on).and_then(Self::new)
    }

    /// The experiment of a plan.
    ///
    /// # Errors
    /// A method that can say nothing at any point: it was asked for by mistake.
    pub fn new(plan: Plan) -> Result<Self, ScenarioError> {
        let experiment = Self(plan);
        experiment.refuse_unknown_metric()?;
        experiment.refuse_hopeless_methods()?;
        Ok(experiment)
    }

    fn refuse_unknown_metric(&self) -> Result<(), ScenarioError> {
        let known = |name: &str| METRICS.iter().any(|metric| metric.is_of_whole() && metric.name == name);
        match self.stop.metric() {
            Some(name) if !known(name) => {
                let names = METRICS.iter().filter(|metric| metric.is_of_whole()).map(|metric| metric.name);
                Err(ScenarioError::word("run.metric", name, &names.collect::<Vec<_>>()))
            }
            _ => Ok(()),
        }
    }

    fn refuse_hopeless_methods(&self) -> Result<(), ScenarioError> {
        for method in &self.methods {
            let mut refusals = self.points.iter().map(|point| (point, solver(*method).refusal(point)));
            if let Some((point, Some(first))) = refusals.next()
                && refusals.all(|(_, refusal)| refusal.is_some())
            {
                return Err(point.locate(first));
            }
        }
        Ok(())
    }

    /// The key of the row of `run` at `point`.
    pub fn row_key(&self, point: &Point, method: Method, run: u64) -> String {
        if solver(method).is_random() {
            point.run_key(method, self.seed, run)
        } else {
            point.solution_key(method)
        }
    }

    /// The part whose runs may be made beside each other, and the part whose runs take the machine's time as it
    /// comes: those are made alone.
    pub(crate) fn split(&self) -> (Option<Self>, Option<Self>) {
        let part = |is_repeatable| {
            let mut plan = self.0.clone();
            plan.methods.retain(|&method| solver(method).is_repeatable() == is_repeatable);
            (!plan.methods.is_empty()).then_some(Self(plan))
        };
        (part(true), part(false))
    }

    /// How many runs a method takes at most: what is solved is solved once.
    pub fn most_runs(&self, method: Method) -> u64 {
        if solver(method).is_random() { self.stop.most_runs() } else { 1 }
    }

    /// The keys of all rows that may be needed, each once.
    pub fn keys(&self) -> Vec<String> {
        let firsts = self.first_of_equals();
        let distinct = self.points.iter().filter(|point| firsts[point.index] == point.index);
        distinct
            .flat_map(|point| self.methods.iter().map(move |&method| (point, method)))
            .flat_map(|(point, method)| {
                (0..self.most_runs(method)).map(move |run| self.row_key(point, method, run))
            })
            .collect()
    }

    /// Bytes of memory that a run of any point may take, and the most that the scenario allows.
    pub fn memory(&self) -> (f64, Option<u64>) {
        let most = self.points.iter().map(|point| memory::of_run(&point.setup)).fold(0.0, f64::max);
        (most, self.points.first().and_then(|point| point.scenario.run.memory).map(|memory| memory.0))
    }

    /// What doubts the scenario itself raises, before anything runs.
    pub fn warnings(&self) -> Vec<String> {
        const MOST: usize = 10;
        let mut seen = HashSet::new();
        let all = self.points.iter().flat_map(|point| warnings::of_plan(&self.methods, point));
        let mut distinct: Vec<String> = all.filter(|warning| seen.insert(warning.clone())).collect();
        if distinct.len() > MOST {
            let left_out = distinct.split_off(MOST).len();
            distinct.push(format!("and {left_out} more warnings at points of the sweep"));
        }
        distinct
    }

    /// The plan as JSON: the first point's scenario and what can be said of its mesh or cell, seed, stop rule, axes and their steps, points, units of
    /// all metrics and warnings.
    pub fn describe(&self) -> Value {
        let stop = match &self.stop {
            StopRule::Runs(runs) => json!({ "runs": runs }),
            StopRule::Precision { metric, relative, max_runs } if metric == USUAL_METRIC => {
                json!({ "precision": relative, "max_runs": max_runs })
            }
            StopRule::Precision { metric, relative, max_runs } => {
                json!({ "precision": relative, "max_runs": max_runs, "metric": metric })
            }
            StopRule::Count { metric, count, max_runs } => {
                json!({ "count": count, "max_runs": max_runs, "metric": metric })
            }
        };
        let points: Vec<Value> =
            self.points.iter().map(|point| json!({ "axes": point.axes, "id": point.id })).collect();
        let mut description = json!({
            "scenario": self.points.first().map(|point| &point.scenario),
            "methods": self.methods,
            "seed": self.seed,
            "stop": stop,
            "axes": self.axes,
            "steps": self.steps.iter().map(|(name, steps)| (name.clone(), json!(steps))).collect::<Map<_, _>>(),
            "points": points,
            "units": units(),
            "warnings": self.warnings(),
        });
        let first = self.points.first().map(|point| &point.setup);
        if let Some(mesh) = first.and_then(mesh::facts) {
            description["mesh"] = json!(mesh);
        }
        if let Some(cell) = first.and_then(cell::facts) {
            description["cell"] = json!(cell);
        }
        description
    }
}
