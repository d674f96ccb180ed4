//! Points of a plan. Since there may be many, only the identity of each point is kept, and points are rebuilt on
//! demand.

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

/// Point of a plan: a scenario with one value for each axis of the sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// Number of the point in the plan, counted from 0.
    pub index: usize,
    /// Values of the axes by dotted key, as written.
    pub axes: Map<String, Value>,
    /// Scenario with all defaults filled in; with draws (`run.draws`), that of run 0.
    pub scenario: Scenario,
    /// Resolved scenario, in the terms of the models.
    pub setup: Setup,
    /// Identity of the point: equal for equal points of any plan under one version of the results.
    pub id: String,
}

impl Point {
    /// Adds the axis values of this point to an error, unless the error's key is an axis.
    pub fn locate(&self, error: ScenarioError) -> ScenarioError {
        locate(error, &self.axes)
    }
}

/// Points of a plan, in which the first axis varies slowest.
///
/// All points were resolved once, so none has an error. Only an identity of about a hundred bytes is kept of each, and
/// the first points as a whole.
#[derive(Debug)]
pub struct Points {
    pattern: Pattern,
    identities: Vec<Identity>,
    /// Points kept as a whole: the first ones, or all points of a small plan.
    kept: Vec<Arc<Point>>,
}

/// Number of points kept as a whole; more would take too much memory, at kilobytes each.
const KEPT: usize = 256;

/// Number of points read between checks for an interruption.
const POINTS_AT_A_TIME: usize = 64;

impl Points {
    /// Resolves all points while `goes_on` returns true. It is called with the number of points done and their total;
    /// `see` receives each point in order. A large plan is first tried along each axis with the first steps of all
    /// others, to find errors early.
    ///
    /// # Errors
    /// The first faulty point found; more than 100,000 points; interruption.
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

    /// Number of points of the plan.
    pub fn len(&self) -> usize {
        self.identities.len()
    }

    /// Always false: a plan has at least one point.
    pub fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    /// Point number `index`, which is rebuilt if it was not kept.
    ///
    /// # Panics
    /// `index` is out of range.
    pub fn at(&self, index: usize) -> Arc<Point> {
        if let Some(point) = self.kept.get(index) {
            return Arc::clone(point);
        }
        self.made_again(index, 0)
    }

    /// True if runs of any point may take draws (`run.draws`).
    pub fn may_have_draws(&self) -> bool {
        let Pattern { root, axes, .. } = &self.pattern;
        let is_given = root.get("run").is_some_and(|run| run.get("draws").is_some());
        is_given || axes.iter().flat_map(|axis| &axis.keys).any(|key| overlap(key, draws::KEY))
    }

    /// Point number `index` with the parameters of `run`, which differ between runs if the scenario has draws
    /// (`run.draws`).
    ///
    /// # Panics
    /// `index` or `run` is out of range.
    pub fn at_run(&self, index: usize, run: u64) -> Arc<Point> {
        if run == 0 || !self.may_have_draws() { self.at(index) } else { self.made_again(index, run) }
    }

    fn made_again(&self, index: usize, run: u64) -> Arc<Point> {
        let id = self.id(index);
        let files = Files::new(&no_files, &self.pattern.parsed);
        let again = self.pattern.resolve(index, run, &files);
        let (axes, scenario, setup) = again.expect("a point resolved before resolves again");
        Arc::new(Point { index, axes, scenario, setup, id })
    }

    /// Iterator over all points in order; each is rebuilt when reached.
    pub fn iter(&self) -> impl Iterator<Item = Arc<Point>> {
        (0..self.len()).map(|index| self.at(index))
    }

    /// Values of the axes at point number `index`, by dotted key.
    pub fn axes(&self, index: usize) -> Map<String, Value> {
        values_at(&self.pattern.axes, index)
    }

    /// Identity ([`Point::id`]) of point number `index`.
    ///
    /// # Panics
    /// `index` is out of range.
    pub fn id(&self, index: usize) -> String {
        self.identities[index].id()
    }

    /// Key of the row of one run of a random method at point number `index`.
    ///
    /// # Panics
    /// `index` is out of range.
    pub fn run_key(&self, index: usize, method: Method, seed: u64, run: u64) -> String {
        match method {
            Method::Simulation => self.identities[index].row_key(seed, run),
            method => self.identities[index].row_key_of(method, seed, run),
        }
    }

    /// Key of the row of a method without randomness at point number `index`.
    ///
    /// # Panics
    /// `index` is out of range.
    pub fn solution_key(&self, index: usize, method: Method) -> String {
        self.identities[index].solution_key(method)
    }

    /// For each point, the index of the first point equal to it. Equal points share their rows.
    pub fn first_of_equals(&self) -> Vec<usize> {
        let mut seen = HashMap::new();
        (0..self.len()).map(|index| *seen.entry(self.id(index)).or_insert(index)).collect()
    }
}

/// Document, alternatives and axes from which the points of a plan are built.
#[derive(Debug)]
pub(crate) struct Pattern {
    root: Map<String, Value>,
    alternatives: Alternatives,
    axes: Vec<Axis>,
    /// Keys and values set by overrides.
    fixed: Vec<(String, Value)>,
    /// Largest number of runs of any point of the plan.
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

    /// Draw table in the file `name`, parsed once.
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

    /// Number of draws (`run.draws`) for the runs of `scenario`; 1 without a draw table.
    fn draws(&self, scenario: &Scenario) -> u64 {
        if scenario.run.draws.is_some() { self.runs } else { 1 }
    }

    /// Refuses a draw table with keys that axes or overrides set, or with fewer draws than runs.
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

    /// Resolves the scenario of `run` at point number `index`; returns the axis values with it.
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
                // Problems of run 0 concern all runs.
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

    /// Indices of the points that differ from the first in one axis only; empty unless they are a small part of `all`
    /// points.
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

/// Adds the axis values of a sweep point to an error, unless the error's key is an axis.
fn locate(mut error: ScenarioError, axes: &Map<String, Value>) -> ScenarioError {
    if !axes.is_empty() && !axes.contains_key(&error.key) {
        let values = axes.iter().map(|(key, value)| format!("{key} = {value}"));
        error.at = Some(values.collect::<Vec<_>>().join(", "));
    }
    error
}

/// Deserialises a document that the schema has checked; only the text of quantities can still be wrong.
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

    /// Reads a plan; returns it together with the points in the order in which they were read.
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
        // The file reader no longer exists by then.
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
        // A small plan reports its first faulty point.
        let (plan, seen) = read(&json!([["tcp.dupthresh", [1, 2]], ["tcp.w_max", [1, "many"]]]));
        assert!(plan.is_err() && seen.len() == 1);
    }
}
