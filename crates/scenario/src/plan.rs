//! Plan of a scenario file: its points, methods, stop rule and seed.

use crate::alternatives::Alternatives;
use crate::document::{parse_toml, set};
use crate::error::ScenarioError;
use crate::files::{ReadFile, no_files};
use crate::migrate::migrate;
use crate::points::{Pattern, Point, Points, read_checked};
use crate::profiles;
use crate::schema::check;
use crate::stop::StopRule;
use crate::sweep::{axes, count, take_methods, with_labels};
use crate::tables::{Method, Scenario};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Options that override keys of a scenario file. Each value is JSON; a string may be a quantity (`"1 %"`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Overrides {
    /// Dotted keys with their new values, set in order. A table is merged into that of the file, null removes a key.
    pub set: Vec<(String, Value)>,
    /// Axes of the sweep by dotted key: a list of values, or a range as text. An axis replaces that of the file with
    /// the same keys, or comes last.
    pub over: Vec<(String, Value)>,
    /// Number of runs, in place of the file's `run.runs`, `run.precision` or `run.count`.
    pub runs: Option<Value>,
    /// Target precision, in place of the file's `run.runs`, `run.precision` or `run.count`.
    pub precision: Option<Value>,
    /// Seed in place of the file's `run.seed`.
    pub seed: Option<Value>,
    /// Methods in place of the file's `methods`.
    pub methods: Option<Value>,
}

/// Plan of runs: points of the sweep, methods, stop rule and seed.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Dotted keys that the axes vary, in order.
    pub axes: Vec<String>,
    /// Name and number of steps of each axis; the name joins keys that vary together by commas.
    pub steps: Vec<(String, usize)>,
    /// Points of the sweep.
    pub points: Arc<Points>,
    /// Methods that compute each point, in order.
    pub methods: Vec<Method>,
    /// Rule that ends the runs of each point.
    pub stop: StopRule,
    /// Seed of all random streams. Run `r` of every point draws from the streams of (seed, r), so points have common
    /// random numbers.
    pub seed: u64,
    /// Names of flows that appear only in overrides, not in the file, which may be misspelt.
    pub new_flows: Vec<String>,
}

/// Maximum number of rows (points x runs) of a plan, to bound memory and disk space.
const MOST_ROWS: u64 = 10_000_000;

impl Plan {
    /// Reads a scenario in TOML and resolves all its points; error messages about the syntax contain `name`.
    ///
    /// # Errors
    /// The first error in the scenario, as one line.
    ///
    /// ```
    /// use crossfade_scenario::{Overrides, Plan};
    /// let text = r#"
    ///     schema = 2
    ///     run = { duration = "1000 slots" }
    ///     channel = { model = "iid", p_e = 0.01 }
    ///     link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
    ///     tcp = { flavour = "paper", variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
    ///     sweep = { "channel.p_e" = "log:0.001:0.1:3" }
    /// "#;
    /// let plan = Plan::load(text, "example.toml", &Overrides::default()).unwrap();
    /// assert_eq!(plan.points.at(1).axes["channel.p_e"], 0.01);
    /// ```
    pub fn load(text: &str, name: &str, overrides: &Overrides) -> Result<Self, ScenarioError> {
        Self::load_with_files(text, name, overrides, &no_files)
    }

    /// Like [`Self::load`], for a scenario that names files: `read` returns the text of each.
    ///
    /// # Errors
    /// The first error, as one line.
    pub fn load_with_files(
        text: &str,
        name: &str,
        overrides: &Overrides,
        read: &dyn ReadFile,
    ) -> Result<Self, ScenarioError> {
        Self::load_while(text, name, overrides, read, &|_, _| true, &mut |_| ())
    }

    /// Like [`Self::load_with_files`], but stops once `goes_on` returns false. It is called at intervals with the
    /// number of points resolved and their total; `see` receives each point in order.
    ///
    /// # Errors
    /// The first error, as one line, or that reading was interrupted.
    pub fn load_while(
        text: &str,
        name: &str,
        overrides: &Overrides,
        read: &dyn ReadFile,
        goes_on: &dyn Fn(usize, usize) -> bool,
        see: &mut dyn FnMut(&Point),
    ) -> Result<Self, ScenarioError> {
        let mut root = parse_toml(text, name)?;
        migrate(&mut root)?;
        let new_flows = new_flows(&root, &overrides.set);
        let frames_alone = asks_for_frames_alone(&root, overrides);
        if frames_alone {
            // These keys of the run concern transports.
            for key in ["run.runs", "run.precision", "run.count", "run.metric", "run.max_runs"] {
                set(&mut root, key, &Value::Null)?;
            }
        }
        let profile = |key: &str, name: &str| {
            read.text(name).map_err(|problem| ScenarioError::value(key, &json!(name), problem))
        };
        // A profile that replaces the scenario's replaces it as a whole, including its channel.
        let gives_way = is_link_swept(&root, overrides) || is_link_set(overrides);
        if gives_way && root.get("link").is_some_and(Value::is_string) {
            root.shift_remove("link");
        }
        profiles::expand(&mut root, "", &profile)?;
        profiles::expand_alternatives(&mut root, &profile)?;
        let given = with_labels(root.get("sweep"), &overrides.set);
        for (key, value) in &given {
            set_key(&mut root, key, value)?;
            profiles::expand(&mut root, "", &profile)?;
            Alternatives::set(&mut root, key, value)?;
            profiles::expand_alternatives(&mut root, &profile)?;
        }
        let alternatives = Alternatives::take(&mut root)?;
        apply_stop_rule(&mut root, overrides)?;
        if frames_alone {
            stop_as_a_table_needs(&mut root)?;
        }
        let sweep = root.shift_remove("sweep");
        check(&Value::Object(root.clone()))?;
        let mut axes = axes(sweep, &overrides.over, &given)?;
        alternatives.add_axis(&root, &mut axes);
        apply_methods(&mut root, take_methods(&mut axes), overrides)?;
        let (stop, seed) = plan_values(&root)?;
        refuse_rows(count(&axes)?, stop.most_runs())?;
        let steps = axes.iter().map(|axis| (axis.name(), axis.steps.len())).collect();
        let names = axes.iter().flat_map(|axis| axis.keys.clone()).collect();
        let fixed = given.into_iter().map(|(key, value)| (key.trim().to_owned(), value)).collect();
        let pattern = Pattern::new(root, alternatives, axes, fixed, stop.most_runs());
        let points = Points::read(pattern, read, goes_on, see)?;
        let methods = points.at(0).scenario.methods.clone().unwrap_or_default();
        Ok(Self { axes: names, steps, points: Arc::new(points), methods, stop, seed, new_flows })
    }
}

/// True if an override replaces the table `link` as a whole.
fn is_link_set(overrides: &Overrides) -> bool {
    overrides.set.iter().any(|(key, _)| key.trim() == "link")
}

/// True if the table `link` itself is an axis of the sweep. The profile that the file names is then one of its values.
fn is_link_swept(root: &Map<String, Value>, overrides: &Overrides) -> bool {
    let of_file = root.get("sweep").is_some_and(|sweep| sweep.get("link").is_some());
    of_file || overrides.over.iter().any(|(key, _)| key.trim() == "link")
}

/// Refuses a plan with more rows (points x runs) than allowed.
fn refuse_rows(points: usize, runs: u64) -> Result<(), ScenarioError> {
    if points as u64 * runs <= MOST_ROWS {
        return Ok(());
    }
    let problem = format!("{points} points x {runs} runs are too many rows; at most {MOST_ROWS} are allowed");
    Err(ScenarioError::key("sweep", problem))
}

/// Names of flows that appear only in keys set by overrides, not in the file.
fn new_flows(root: &Map<String, Value>, set: &[(String, Value)]) -> Vec<String> {
    let is_named = |name: &str| root.get("flows").is_some_and(|flows| flows.get(name).is_some());
    let mut new = Vec::new();
    for (key, value) in set.iter().filter(|(_, value)| !value.is_null()) {
        let names = match (key.strip_prefix("flows."), value) {
            (Some(rest), _) => rest.split('.').take(1).collect(),
            (None, Value::Object(flows)) if key == "flows" => flows.keys().map(String::as_str).collect(),
            _ => Vec::new(),
        };
        for name in names {
            if !is_named(name) && !new.iter().any(|known| known == name) {
                new.push(name.to_owned());
            }
        }
    }
    new
}

fn set_key(root: &mut Map<String, Value>, key: &str, value: &Value) -> Result<(), ScenarioError> {
    if key == "sweep" || key.starts_with("sweep.") {
        return Err(ScenarioError::key(key, "an axis is not set; give it with --over"));
    }
    crate::schema::lookup(key)?;
    set(root, key, value)
}

/// True if the overrides request method phy alone of a scenario that has transports, as is usual to compute an
/// error-rate table.
fn asks_for_frames_alone(root: &Map<String, Value>, overrides: &Overrides) -> bool {
    let is_phy_alone = |methods: &Value| {
        let methods = serde_json::from_value(methods.clone()).ok();
        Scenario { methods, ..Scenario::default() }.is_phy_alone()
    };
    overrides.methods.as_ref().is_some_and(is_phy_alone) && !root.get("methods").is_some_and(is_phy_alone)
}

/// Sets the default stop rule for computing an error-rate table: a standard error of 1 % (10,000 frame errors), or
/// 100,000 frames, since rarer errors contribute little to packet losses. With this precision, a hundred runs of a
/// transport cannot distinguish the table from the truth (`bench/phy_fidelity.py`).
fn stop_as_a_table_needs(root: &mut Map<String, Value>) -> Result<(), ScenarioError> {
    let given = |root: &Map<String, Value>, key| root.get("run").is_some_and(|run| run.get(key).is_some());
    if ["runs", "precision", "count"].into_iter().any(|key| given(root, key)) {
        return Ok(());
    }
    for (key, usual) in [("frame_errors", 10_000), ("max_frames", 100_000)] {
        if !given(root, key) {
            set(root, &format!("run.{key}"), &json!(usual))?;
        }
    }
    Ok(())
}

fn apply_stop_rule(root: &mut Map<String, Value>, overrides: &Overrides) -> Result<(), ScenarioError> {
    let replaced: &[&str] = match (&overrides.runs, &overrides.precision) {
        (Some(_), _) => &[
            "run.precision",
            "run.count",
            "run.metric",
            "run.max_runs",
            "run.frame_errors",
            "run.max_frames",
        ],
        (None, Some(_)) if root.get("run").is_some_and(|run| run.get("count").is_some()) => {
            &["run.runs", "run.count", "run.metric"]
        }
        (None, Some(_)) => &["run.runs", "run.frame_errors", "run.max_frames"],
        (None, None) => &[],
    };
    for key in replaced {
        set(root, key, &Value::Null)?;
    }
    let asked = [
        ("run.runs", &overrides.runs),
        ("run.precision", &overrides.precision),
        ("run.seed", &overrides.seed),
        ("methods", &overrides.methods),
    ];
    asked
        .into_iter()
        .filter_map(|(key, value)| Some((key, value.as_ref()?)))
        .try_for_each(|(key, value)| set(root, key, value))
}

/// Sets `methods` to the values of an axis of this name; the option `methods` takes precedence over the file's axis.
fn apply_methods(
    root: &mut Map<String, Value>,
    methods: Option<Value>,
    overrides: &Overrides,
) -> Result<(), ScenarioError> {
    let Some(methods) = methods else { return Ok(()) };
    let asked_for = overrides.over.iter().any(|(name, _)| name.trim() == "methods");
    match (asked_for, &overrides.methods) {
        // Command-line options take precedence over the file.
        (false, Some(_)) => return Ok(()),
        (true, None) => {}
        (false, None) if !root.contains_key("methods") => {}
        _ => return Err(ScenarioError::contradiction("methods", "axis \"methods\"", "give one of the two")),
    }
    set(root, "methods", &methods)?;
    check(&Value::Object(root.clone()))
}

/// Stop rule and seed of a plan, which are equal at every point.
fn plan_values(root: &Map<String, Value>) -> Result<(StopRule, u64), ScenarioError> {
    let mut known = Map::new();
    for key in ["run", "methods"] {
        known.extend(root.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    let mut scenario = read_checked(&Value::Object(known))?;
    scenario.resolve_stop()
}
