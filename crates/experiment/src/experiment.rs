//! Experiments: plans of which each method can solve at least one point.

use crate::methods::solver;
use crate::metrics::{METRICS, units};
use crate::networks;
use crate::solver::FittedChains;
use crate::survey::Survey;
use crate::warnings;
use crossfade_scenario::{Method, Overrides, Plan, Point, Points, ReadFile, ScenarioError, StopRule};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// Name of the metric to which `precision` applies if no metric is named, in scenarios and results files.
pub const USUAL_METRIC: &str = "goodput_bps";

/// A plan of which each method can solve at least one point.
#[derive(Clone, Debug)]
pub struct Experiment {
    plan: Plan,
    survey: Arc<Survey>,
    fitted: FittedChains,
}

impl Deref for Experiment {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

impl Experiment {
    /// Reads a scenario in TOML with `overrides` of its keys; `name` stands for the file in messages about its syntax.
    ///
    /// # Errors
    /// The first error of the scenario as one line, or a method that can solve no point.
    pub fn load(text: &str, name: &str, overrides: &Overrides) -> Result<Self, ScenarioError> {
        let no_files = |_: &str| Err("this scenario was given without files".to_owned());
        Self::load_with_files(text, name, overrides, &no_files)
    }

    /// Like [`Self::load`], for a scenario that names files: `read` gives the text of each.
    ///
    /// # Errors
    /// Those of [`Self::load`], and those of `read`.
    pub fn load_with_files(
        text: &str,
        name: &str,
        overrides: &Overrides,
        read: &dyn ReadFile,
    ) -> Result<Self, ScenarioError> {
        Self::load_while(text, name, overrides, read, &|_, _| true)
    }

    /// Like [`Self::load_with_files`], but stops once `goes_on` returns false. `goes_on` is called periodically with
    /// the number of points read so far and their total.
    ///
    /// # Errors
    /// Those of [`Self::load`], or an interruption.
    pub fn load_while(
        text: &str,
        name: &str,
        overrides: &Overrides,
        read: &dyn ReadFile,
        goes_on: &dyn Fn(usize, usize) -> bool,
    ) -> Result<Self, ScenarioError> {
        let mut survey = Survey::default();
        let plan = Plan::load_while(text, name, overrides, read, goes_on, &mut |point| survey.see(point))?;
        let experiment = Self { plan, survey: Arc::new(survey), fitted: FittedChains::default() };
        experiment.refuse_unknown_metric()?;
        experiment.refuse_draws_of_what_is_solved_once()?;
        experiment.survey.refuse_hopeless()?;
        Ok(experiment)
    }

    /// Checks that no method without randomness is combined with parameters drawn per run: it runs once, and would
    /// solve the scenario of the first draw alone.
    fn refuse_draws_of_what_is_solved_once(&self) -> Result<(), ScenarioError> {
        match self.methods.iter().find(|method| !solver(**method).is_random()) {
            Some(method) if self.points.may_have_draws() => {
                let problem = format!(
                    "method {} solves one scenario, not its draws; use method simulation",
                    method.name()
                );
                Err(ScenarioError::key("run.draws", problem))
            }
            _ => Ok(()),
        }
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

    /// Key of the row of run number `run` at point number `point` by `method`: equal keys mean equal rows.
    pub fn row_key(&self, point: usize, method: Method, run: u64) -> String {
        if solver(method).is_random() {
            self.points.run_key(point, method, self.seed, run)
        } else {
            self.points.solution_key(point, method)
        }
    }

    /// Splits the plan by method: runs that may be made in parallel, and runs in real time, of which only one runs at a
    /// time.
    pub(crate) fn split(&self) -> (Option<Self>, Option<Self>) {
        let part = |is_repeatable| {
            let mut plan = self.plan.clone();
            plan.methods.retain(|&method| solver(method).is_repeatable() == is_repeatable);
            (!plan.methods.is_empty()).then(|| Self { plan, ..self.clone() })
        };
        (part(true), part(false))
    }

    /// Cache of Markov chains fitted to fading channels for the analysis of points.
    pub(crate) fn fitted(&self) -> &FittedChains {
        &self.fitted
    }

    /// Greatest number of runs of a point by `method`: 1 if the method has no randomness.
    pub fn most_runs(&self, method: Method) -> u64 {
        if solver(method).is_random() { self.stop.most_runs() } else { 1 }
    }

    /// Keys of all rows that the plan may need, each once.
    pub fn keys(&self) -> Vec<String> {
        let firsts = self.points.first_of_equals();
        let distinct = (0..firsts.len()).filter(|&index| firsts[index] == index);
        distinct
            .flat_map(|index| self.methods.iter().map(move |&method| (index, method)))
            .flat_map(|(index, method)| {
                (0..self.most_runs(method)).map(move |run| self.row_key(index, method, run))
            })
            .collect()
    }

    /// Estimated memory in bytes of the largest run of any point, and the limit of the scenario in bytes.
    pub fn memory(&self) -> (f64, Option<u64>) {
        (self.survey.memory, self.points.at(0).scenario.run.memory.map(|memory| memory.0))
    }

    /// Warnings about the scenario, before any run.
    pub fn warnings(&self) -> Vec<String> {
        let new_flows = self.new_flows.iter().map(|name| warnings::new_flow(name, &self.points.at(0)));
        new_flows.chain(self.survey.warnings()).collect()
    }

    /// Description of the plan as JSON: the first point's scenario, facts about its network (under the name of the
    /// network's kind), seed, stop rule, axes and their steps, points, units of all metrics, and warnings.
    pub fn describe(&self) -> impl Serialize {
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
        let first = self.points.at(0);
        Description {
            methods: &self.methods,
            seed: self.seed,
            stop,
            axes: &self.axes,
            steps: self.steps.iter().map(|(name, steps)| (name.clone(), json!(steps))).collect(),
            points: Listed(&self.points),
            units: units(),
            warnings: self.warnings(),
            facts: {
                let (kind, facts) = networks::of(&first.setup).facts(&first.setup);
                [("network", json!(kind)), (kind, facts)].into()
            },
            scenario: first,
        }
    }
}

/// Content of [`Experiment::describe`]. Points are serialised one by one.
#[derive(Serialize)]
struct Description<'a> {
    #[serde(serialize_with = "scenario_of")]
    scenario: Arc<Point>,
    methods: &'a [Method],
    seed: u64,
    stop: Value,
    axes: &'a [String],
    steps: Map<String, Value>,
    points: Listed<'a>,
    units: Map<String, Value>,
    warnings: Vec<String>,
    /// Facts about the network of the first point, under the name of its kind.
    #[serde(flatten)]
    facts: BTreeMap<&'static str, Value>,
}

fn scenario_of<S: Serializer>(point: &Arc<Point>, serializer: S) -> Result<S::Ok, S::Error> {
    point.scenario.serialize(serializer)
}

struct Listed<'a>(&'a Points);

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let point = |index| json!({ "axes": self.0.axes(index), "id": self.0.id(index) });
        serializer.collect_seq((0..self.0.len()).map(point))
    }
}
