//! Helpers of the tests: scenarios as texts with keys set, and their results.

#![allow(dead_code, reason = "each test file uses some of it")]

use crossfade_core::testing::Runs;
use crossfade_experiment::{ExecutionHandle, Experiment, PointResult, Row, Shard, execute, summarise};
use crossfade_scenario::Overrides;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Shipped scenarios, without those of the papers' figures: name, file and text of each.
pub(crate) fn shipped_scenarios() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/crossfade/scenarios");
    let mut files = Vec::new();
    files_below(&root, &mut files);
    files.sort();
    assert!(files.len() > 20);
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&path).unwrap();
        (name, path, text)
    };
    files.into_iter().map(read).filter(|(.., text)| text.contains("schema = 2")).collect()
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
}

/// Plan of a scenario with keys set; `set` is a list of pairs.
pub(crate) fn plan(text: &str, set: &Value) -> Experiment {
    plan_with(text, set, &[])
}

/// Like [`plan`], for a scenario that names files, given by names and texts.
pub(crate) fn plan_with(text: &str, set: &Value, files: &[(&str, &str)]) -> Experiment {
    load(text, set, files).unwrap_or_else(|error| panic!("{error}"))
}

/// Like [`plan_with`], but returns the error of an invalid scenario as one line.
pub(crate) fn load(text: &str, set: &Value, files: &[(&str, &str)]) -> Result<Experiment, String> {
    let overrides: Overrides = serde_json::from_value(json!({ "set": set })).unwrap();
    let read = |name: &str| {
        let found = files.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    };
    Experiment::load_with_files(text, "test.toml", &overrides, &read).map_err(|error| error.to_string())
}

/// Rows of a plan made on `jobs` threads, in order, without the times that runs took.
pub(crate) fn rows(plan: &Experiment, jobs: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let done = execute(plan, Vec::new(), jobs, Shard::WHOLE, &ExecutionHandle::default(), &mut |new, _| {
        rows.extend(new);
    });
    assert_eq!(done, Ok(true));
    // The time that a run took is not part of its result.
    for row in &mut rows {
        row.seconds = 0.0;
    }
    rows.sort_by_key(|row| (row.point.clone(), row.run));
    rows
}

/// Result of the only point of a plan.
pub(crate) fn result(plan: &Experiment) -> PointResult {
    summarise(plan, &rows(plan, 2)).remove(0)
}

/// Result of the only point of a scenario with keys set.
pub(crate) fn result_of(text: &str, set: &Value) -> PointResult {
    result(&plan(text, set))
}

/// Value and half-width of the 95 % interval of a metric of the whole network.
#[track_caller]
pub(crate) fn metric(result: &PointResult, name: &str) -> (f64, f64) {
    let found = result.metrics.iter().find(|(found, _)| *found == name);
    let (_, metric) = found.unwrap_or_else(|| panic!("{name} is not among {:?}", result.metrics));
    (metric.value, metric.ci95.unwrap_or(f64::NAN))
}

/// Values of a metric in the runs of a scenario with keys set.
pub(crate) fn runs_of(text: &str, set: &Value, name: &str) -> Runs {
    let rows = rows(&plan(text, set), 2);
    rows.iter().map(|row| row.metrics.get(name).unwrap_or(f64::NAN)).collect::<Vec<f64>>().into()
}

/// Function that writes a text about each point: [`crossfade_experiment::events`] or a function like it.
type Write = fn(
    &Experiment,
    u64,
    &mut (dyn FnMut(usize, &str) + Send),
    &AtomicBool,
) -> Result<Option<()>, crossfade_scenario::ScenarioError>;

/// Texts about run 0 of all points.
pub(crate) fn texts(plan: &Experiment, write: Write) -> Vec<String> {
    texts_of_run(plan, 0, write)
}

/// Texts about run number `run` of all points.
pub(crate) fn texts_of_run(plan: &Experiment, run: u64, write: Write) -> Vec<String> {
    let mut texts = vec![String::new(); plan.points.len()];
    let mut sink = |point: usize, lines: &str| texts[point].push_str(lines);
    write(plan, run, &mut sink, &AtomicBool::new(false)).unwrap().unwrap();
    texts
}
