//! The points of a plan. There may be many: each keeps its identity alone, and is made again when it is asked for.

use crate::alternatives::{self, Alternatives};
use crate::document::{leaves, overlap};
use crate::draws::{self, DrawTable};
use crate::error::ScenarioError;
use crate::files::{Files, Parsed, ReadFile, no_files};
use crate::identity::Identity;
use crate::profiles;
use crate::resolve::resolve;
use crate::schema::check;
use crate::setup::Setup;
use crate::sweep::{Axis, count, values_at};
use crate::tables::{Method, Scenario};
use crossfade_link::trace::TraceError;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// One point of a plan: a scenario without choice.
#[derive(Clone, Debug)]
pub struct Point {
    /// Number of the point in the plan, from 0.
    pub index: usize,
    /// The values of the axes, by dotted key, as they were written.
    pub axes: Map<String, Value>,
    /// The scenario, all defaults filled in; where runs take draws, that of run 0.
    pub scenario: Scenario,
    /// The scenario in the terms of the models.
    pub setup: Setup,
    /// Equal for equal points of any plan with the same results version.
    pub id: String,
}

impl Point {
    /// Says that an error lies at this point of the sweep, unless its key is the axis.
    pub fn locate(&self, error: ScenarioError) -> ScenarioError {
        locate(error, &self.axes)
    }
}

/// The points of a plan; the first axis varies slowest.
///
/// Each was read once, so that none has an error; what is kept of it are some hundred bytes.
#[derive(Debug)]
pub struct Points {
    pattern: Pattern,
    identities: Vec<Identity>,
    /// The first of them, whole: all of a small plan.
    kept: Vec<Arc<Point>>,
}

/// So many points are kept whole: what is more takes kilobytes each.
const KEPT: usize = 256;

/// So many points are read before somebody may have pressed Ctrl-C.
const POINTS_AT_A_TIME: usize = 64;

impl Points {
    /// Reads all points, which `see` is shown in order, as long as `goes_on` says so: it is told how many were read, of
    /// how many. In a large plan each value of each axis is tried first, beside the first ones of the others.
    ///
    /// # Errors
    /// What is wrong with the first faulty point that is met; more than 100,000 points; that it was interrupted.
    pub(crate) fn read(
        pattern: Pattern,
        read: &dyn ReadFile,
        goes_on: &dyn Fn(usize, usize) -> bool,
        see: &mut dyn FnMut(&Point),
    ) -> Result<Self, ScenarioError> {
        let all = count(&pattern.axes)?;
        let files = Files::new(read, &pattern.parsed);
        let go_on = |done: usize| {
            let asked = done.is_multiple_of(POINTS_AT_A_TIME);
            let interrupted = asked && !goes_on(done, all);
            if interrupted { Err(ScenarioError::key("sweep", "interrupted")) } else { Ok(()) }
        };
        go_on(0)?;
        for (tried, index) in pattern.along_axes(all).into_iter().enumerate() {
            go_on(tried + 1)?;
            pattern.resolve(index, 0, &files)?;
        }
        let (mut identities, mut kept) = (Vec::with_capacity(all), Vec::new());
        for index in 0..all {
            let (axes, scenario, setup) = pattern.resolve(index, 0, &files)?;
            let identity = Identity::of(&scenario, &files);
            let point = Point { index, axes, id: identity.id(), scenario, setup };
            see(&point);
            for run in 1..pattern.draws(&point.scenario) {
                go_on(index + 1)?;
                let (axes, scenario, setup) = pattern.resolve(index, run, &files)?;
                see(&Point { index, axes, id: point.id.clone(), scenario, setup });
            }
            identities.push(identity);
            if index < KEPT {
                kept.push(Arc::new(point));
            }
            go_on(index + 1)?;
        }
        Ok(Self { pattern, identities, kept })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.identities.len()
    }

    /// Never: a plan has one point at least.
    pub fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    /// The point of that number, made again unless it is one of the first.
    ///
    /// # Panics
    /// There is no such point.
    pub fn at(&self, index: usize) -> Arc<Point> {
        if let Some(point) = self.kept.get(index) {
            return Arc::clone(point);
        }
        self.made_again(index, 0)
    }

    /// Whether runs of some point may take draws.
    pub fn may_have_draws(&self) -> bool {
        let Pattern { root, axes, .. } = &self.pattern;
        let is_given = root.get("run").is_some_and(|run| run.get("draws").is_some());
        is_given || axes.iter().flat_map(|axis| &axis.keys).any(|key| overlap(key, draws::KEY))
    }

    /// The point of that number as `run` has it: with its draw, where runs take draws.
    ///
    /// # Panics
    /// There is no such point, or no such run.
    pub fn at_run(&self, index: usize, run: u64) -> Arc<Point> {
        if run == 0 || !self.may_have_draws() { self.at(index) } else { self.made_again(index, run) }
    }

    fn made_again(&self, index: usize, run: u64) -> Arc<Point> {
        let id = self.id(index);
        let files = Files::new(&no_files, &self.pattern.parsed);
        let again = self.pattern.resolve(index, run, &files);
        let (axes, scenario, setup) = again.expect("what was read once is read again");
        Arc::new(Point { index, axes, scenario, setup, id })
    }

    /// All of them, each made when it comes.
    pub fn iter(&self) -> impl Iterator<Item = Arc<Point>> {
        (0..self.len()).map(|index| self.at(index))
    }

    /// The values of the axes at a point.
    pub fn axes(&self, index: usize) -> Map<String, Value> {
        values_at(&self.pattern.axes, index)
    }

    /// [`Point::id`] of a point.
    ///
    /// # Panics
    /// There is no such point.
    pub fn id(&self, index: usize) -> String {
        self.identities[index].id()
    }

    /// The key of the row of `run` at a point by a method that is random.
    ///
    /// # Panics
    /// There is no such point.
    pub fn run_key(&self, index: usize, method: Method, seed: u64, run: u64) -> String {
        match method {
            Method::Simulation => self.identities[index].row_key(seed, run),
            method => self.identities[index].row_key_of(method, seed, run),
        }
    }

    /// The key of the row of a method that is not random.
    ///
    /// # Panics
    /// There is no such point.
    pub fn solution_key(&self, index: usize, method: Method) -> String {
        self.identities[index].solution_key(method)
    }

    /// For each point the first one that is equal to it: equal points share their rows.
    pub fn first_of_equals(&self) -> Vec<usize> {
        let mut seen = HashMap::new();
        (0..self.len()).map(|index| *seen.entry(self.id(index)).or_insert(index)).collect()
    }
}

/// What all points are made of.
#[derive(Debug)]
pub(crate) struct Pattern {
    root: Map<String, Value>,
    alternatives: Alternatives,
    axes: Vec<Axis>,
    /// What was set beside the file.
    fixed: Vec<(String, Value)>,
    /// No point needs more runs.
    runs: u64,
    parsed: Parsed,
    tables: Mutex<HashMap<String, DrawTable>>,
}

impl Pattern {
    pub(crate) fn new(
        root: Map<String, Value>,
        alternatives: Alternatives,
        axes: Vec<Axis>,
        fixed: Vec<(String, Value)>,
        runs: u64,
    ) -> Self {
        Self { root, alternatives, axes, fixed, runs, parsed: Parsed::default(), tables: Mutex::default() }
    }

    /// The table of draws in the file of that name, understood once.
    fn table(&self, name: &str, files: &Files<'_>) -> Result<DrawTable, ScenarioError> {
        let tables = || self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = tables().get(name) {
            return Ok(found.clone());
        }
        let refuse = |error: TraceError| ScenarioError::value(draws::KEY, &name.into(), error.to_string());
        let table: DrawTable = files.text(draws::KEY, name)?.parse().map_err(refuse)?;
        tables().insert(name.to_owned(), table.clone());
        Ok(table)
    }

    /// How many draws runs of `scenario` may take: one where there is no table.
    fn draws(&self, scenario: &Scenario) -> u64 {
        if scenario.run.draws.is_some() { self.runs } else { 1 }
    }

    /// Refuses draws of what is set otherwise, and more runs than there are draws.
    fn check_draws(&self, name: &str, table: &DrawTable) -> Result<(), ScenarioError> {
        for axis in &self.axes {
            if let Some(key) = axis.keys.iter().find_map(|key| table.touches(key)) {
                let (key, axis) = (format!("axis {:?}", axis.name()), key.to_owned());
                let reason = format!("each run takes {axis} from the table");
                return Err(ScenarioError::contradiction(&key, draws::KEY, reason));
            }
        }
        for (key, value) in self.fixed.iter().filter(|(key, _)| key != draws::KEY) {
            if let Some(drawn) = leaves(key, value).iter().find_map(|leaf| table.touches(leaf)) {
                let reason = format!("each run takes {drawn} from the table");
                return Err(ScenarioError::contradiction(&format!("{key} (set)"), draws::KEY, reason));
            }
        }
        if self.runs > table.len() {
            let problem = format!(
                "has {} draws, and there may be {} runs: give run.runs, or run.max_runs, of at most as many",
                table.len(),
                self.runs
            );
            return Err(ScenarioError::value(draws::KEY, &name.into(), problem));
        }
        Ok(())
    }

    /// The scenario at one point of the sweep, of that run.
    fn resolve(
        &self,
        index: usize,
        run: u64,
        files: &Files<'_>,
    ) -> Result<(Map<String, Value>, Scenario, Setup), ScenarioError> {
        let axes = values_at(&self.axes, index);
        let mut alternative = None;
        let resolved = (|| {
            let mut document = self.root.clone();
            alternative = self.alternatives.replace(&mut document, &axes)?;
            for (key, value) in axes.iter().filter(|(key, _)| *key != alternatives::KEY) {
                crate::document::set(&mut document, key, value)?;
                profiles::expand(&mut document, "", &|key, name| Ok(files.text(key, name)?.to_string()))?;
            }
            let drawn = document.get("run").and_then(|run| run.get("draws")).and_then(Value::as_str);
            if let Some(name) = drawn.map(str::to_owned) {
                let table = self.table(&name, files)?;
                // What holds of one run holds of all.
                if run == 0 {
                    self.check_draws(&name, &table)?;
                }
                table.set(&mut document, run)?;
            }
            let document = Value::Object(document);
            check(&document)?;
            let mut scenario: Scenario = read_checked(&document)?;
            scenario.resolve_stop()?;
            let setup = resolve(&mut scenario, files)?;
            Ok((scenario, setup))
        })();
        match resolved {
            Ok((scenario, setup)) => Ok((axes, scenario, setup)),
            Err(error) if run > 0 => Err(ScenarioError { at: Some(format!("draw {run}")), ..error }),
            Err(error) => {
                let is_beside = axes.contains_key(&error.key)
                    || self.fixed.iter().any(|(key, value)| leaves(key, value).contains(&error.key));
                let place = alternative.filter(|_| !is_beside);
                let error = place.map_or(error.clone(), |name| self.alternatives.locate(&name, error));
                Err(locate(error, &axes))
            }
        }
    }

    /// The points, of so many, where all axes but one are at their first steps. None where that is no small part.
    fn along_axes(&self, all: usize) -> Vec<usize> {
        if all <= KEPT || 4 * self.axes.iter().map(|axis| axis.steps.len()).sum::<usize>() > all {
            return Vec::new();
        }
        let mut stride = all;
        let along = self.axes.iter().flat_map(|axis| {
            stride /= axis.steps.len();
            (0..axis.steps.len()).map(move |step| step * stride)
        });
        along.collect()
    }
}

/// Says at which point of the sweep an error lies, unless its key is the axis.
fn locate(mut error: ScenarioError, axes: &Map<String, Value>) -> ScenarioError {
    if !axes.is_empty() && !axes.contains_key(&error.key) {
        let values = axes.iter().map(|(key, value)| format!("{key} = {value}"));
        error.at = Some(values.collect::<Vec<_>>().join(", "));
    }
    error
}

/// Reads a checked document. What can still be wrong is a quantity.
pub(crate) fn read_checked(document: &Value) -> Result<Scenario, ScenarioError> {
    serde_path_to_error::deserialize(document).map_err(|error| {
        let key = error.path().to_string();
        let found = key.split('.').try_fold(document, |value, name| value.get(name));
        ScenarioError::value(&key, found.unwrap_or(&Value::Null), error.inner().to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Overrides, Plan};
    use serde_json::json;

    const TEXT: &str = r#"
        schema = 1
        run = { duration = "1000 slots" }
        channel = { model = "trace", file = "a" }
        link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
        tcp = { variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
    "#;

    /// Reads a plan; gives it with its points as they came.
    fn read(over: &Value) -> (Result<Plan, String>, Vec<String>) {
        let overrides: Overrides = serde_json::from_value(json!({ "over": over })).unwrap();
        let file = |name: &str| Ok(format!("# packets 100\n{}\n", if name == "a" { 1 } else { 2 }));
        let mut seen = Vec::new();
        let plan = Plan::load_while(TEXT, "x.toml", &overrides, &file, &|_, _| true, &mut |point| {
            seen.push(format!("{point:?}"));
        });
        (plan.map_err(|error| error.to_string()), seen)
    }

    #[test]
    fn points_that_are_made_again_are_those_that_were_read() {
        // What reads files is gone by then.
        let (plan, seen) = read(&json!([["tcp.w_max", "1:200:1"], ["channel.file", ["a", "b"]]]));
        let points = plan.unwrap().points;
        assert_eq!((points.len(), points.kept.len(), seen.len()), (400, KEPT, 400));
        for (index, point) in points.iter().enumerate() {
            assert_eq!(format!("{point:?}"), seen[index]);
            assert_eq!((point.index, &point.id), (index, &points.id(index)));
            assert_eq!(point.axes, points.axes(index));
        }
        assert_eq!(points.first_of_equals(), (0..400).collect::<Vec<_>>());
    }

    #[test]
    fn a_faulty_value_of_an_axis_of_a_large_plan_is_found_before_all_points_are_read() {
        let mut values: Vec<Value> = (1..100).map(Value::from).collect();
        values.push(json!("many"));
        let (plan, seen) = read(&json!([["tcp.dupthresh", "1:20:1"], ["tcp.w_max", values]]));
        assert!(plan.as_ref().is_err_and(|line| line.starts_with("tcp.w_max = \"many\": ")), "{plan:?}");
        assert_eq!(seen.len(), 0);
        // In a small one the first point that is faulty is named.
        let (plan, seen) = read(&json!([["tcp.dupthresh", [1, 2]], ["tcp.w_max", [1, "many"]]]));
        assert!(plan.is_err() && seen.len() == 1);
    }
}
