//! Axes of a sweep: the keys that vary, and their values.

use crate::document::{leaves, overlap};
use crate::error::{ScenarioError, join};
use crate::range::{MOST_POINTS, expand};
use crate::schema::{lookup, plan_keys};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Name of the only key of the whole plan that may be an axis.
const METHODS: &str = "methods";

/// Axis of a sweep: keys that vary together, with one value for each key and step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub(crate) keys: Vec<String>,
    pub(crate) steps: Vec<Vec<Value>>,
}

impl Axis {
    /// Name of the axis, which joins its keys by commas.
    pub(crate) fn name(&self) -> String {
        self.keys.join(",")
    }

    /// Dotted keys that the steps of the axis set.
    fn touched(&self) -> impl Iterator<Item = String> {
        self.steps
            .iter()
            .flat_map(|step| self.keys.iter().zip(step).flat_map(|(key, value)| leaves(key, value)))
    }

    /// Value of each step at a dotted key, which may lie inside a table; `None` where a step does not set it.
    fn at<'a>(&'a self, key: &'a str) -> impl Iterator<Item = Option<&'a Value>> {
        self.steps.iter().map(move |step| {
            self.keys.iter().zip(step).find_map(|(own, value)| {
                let inside = key.strip_prefix(own.as_str())?;
                inside.split_terminator('.').skip(1).try_fold(value, |table, name| table.get(name))
            })
        })
    }

    /// Keeps only the steps with `value` at `key`; if there are none, all steps stay.
    fn keep(&mut self, key: &str, value: &Value) {
        let kept: Vec<bool> =
            self.at(key).map(|found| found.is_some_and(|found| same(found, value))).collect();
        if kept.contains(&true) {
            let mut kept = kept.into_iter();
            self.steps.retain(|_| kept.next().unwrap_or(false));
        }
    }
}

/// Dotted keys that are set when `key` is set to `value`, each with its value.
fn parts<'a>(key: &str, value: &'a Value) -> Vec<(String, &'a Value)> {
    match value {
        Value::Object(table) if !table.is_empty() => {
            table.iter().flat_map(|(name, value)| parts(&join(key, name), value)).collect()
        }
        _ => vec![(key.to_owned(), value)],
    }
}

/// True if two JSON values are equal, where `1` equals `1.0`.
fn same(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().is_some_and(|number| Some(number) == other.as_f64())
}

/// Keys and values of `set`, in which a text that is the label of a step of the file's axis becomes the step's value:
/// `channel = "markov fd_t=0.01"`.
pub(crate) fn with_labels(sweep: Option<&Value>, set: &[(String, Value)]) -> Vec<(String, Value)> {
    let axes: Vec<(String, Value)> =
        sweep.and_then(Value::as_object).map_or_else(Vec::new, |sweep| flatten("", sweep.clone()));
    let meant = |key: &str, value: &Value| {
        let words = value.as_str()?;
        let (_, steps) = axes.iter().find(|(axis, _)| axis.trim() == key.trim())?;
        steps.as_array()?.iter().find(|step| step.is_object() && label(step) == words.trim()).cloned()
    };
    set.iter().map(|(key, value)| (key.clone(), meant(key, value).unwrap_or_else(|| value.clone()))).collect()
}

/// Label of an axis value for tables of results. For a table it is its `model` first, then its other keys.
fn label(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let model = table.get("model").map(label);
            let rest = table.iter().filter(|(key, _)| *key != "model");
            let rest = rest.map(|(key, item)| format!("{key}={}", label(item)));
            model.into_iter().chain(rest).collect::<Vec<_>>().join(" ")
        }
        Value::Array(items) => items.iter().map(label).collect::<Vec<_>>().join(" "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Axes of `sweep`, the file's table, and of `over`, which replace those of the file with the same keys or follow them.
/// An axis of the file is dropped if `fixed` sets all its keys; it keeps the matching steps if `fixed` sets some of
/// them.
///
/// # Errors
/// An invalid axis; two axes that touch one key; another axis that touches a key in `fixed`.
pub(crate) fn axes(
    sweep: Option<Value>,
    over: &[(String, Value)],
    fixed: &[(String, Value)],
) -> Result<Vec<Axis>, ScenarioError> {
    let mut axes: Vec<Axis> = Vec::new();
    if let Some(sweep) = sweep {
        let Value::Object(table) = sweep else {
            return Err(ScenarioError::value("sweep", &sweep, "must be a table of axes"));
        };
        for (name, values) in flatten("", table) {
            axes.push(axis(&name, values)?);
        }
        axes.retain(|axis| !axis.keys.iter().all(|key| fixed.iter().any(|(set, _)| set.trim() == key)));
        for (key, value) in fixed.iter().flat_map(|(key, value)| parts(key.trim(), value)) {
            for axis in &mut axes {
                axis.keep(&key, value);
            }
        }
    }
    for (name, values) in over {
        let axis = axis(name, values.clone())?;
        match axes.iter_mut().find(|old| old.keys == axis.keys) {
            Some(old) => *old = axis,
            None => axes.push(axis),
        }
    }
    refuse_overlaps(&axes, fixed)?;
    Ok(axes)
}

/// Flattens the tables of `sweep` to dotted keys, since `channel.p_e = ...` without quotes makes nested tables in TOML.
fn flatten(prefix: &str, table: Map<String, Value>) -> Vec<(String, Value)> {
    let entries = table.into_iter().flat_map(|(name, value)| {
        let name = join(prefix, &name);
        match value {
            Value::Object(inner) => flatten(&name, inner),
            value => vec![(name, value)],
        }
    });
    entries.collect()
}

fn axis(name: &str, values: Value) -> Result<Axis, ScenarioError> {
    let place = || format!("sweep.{name:?}");
    let keys: Vec<String> = name.split(',').map(|key| key.trim().to_owned()).collect();
    for key in &keys {
        lookup(key)?;
        if key == METHODS {
            if keys.len() > 1 {
                return Err(ScenarioError::key(place(), "methods cannot be zipped with other keys"));
            }
        } else if key == "schema" || plan_keys().contains(key) || key.starts_with("figure.") {
            let reason = "it holds for the whole plan";
            return Err(ScenarioError::key(place(), format!("{key} cannot be an axis: {reason}")));
        }
    }
    let values = match values {
        Value::String(text) => {
            expand(&text).map_err(|problem| ScenarioError::value(place(), &Value::String(text), problem))?
        }
        Value::Array(values) => values,
        other => {
            let forms = "must be a list, \"a,b,c\", \"start:stop:step\" or \"log:start:stop:points\"";
            return Err(ScenarioError::value(place(), &other, forms));
        }
    };
    if values.is_empty() {
        return Err(ScenarioError::key(place(), "must have at least one value"));
    }
    let step = |value: Value| match value {
        value if keys.len() == 1 => Ok(vec![value]),
        Value::Array(items) if items.len() == keys.len() => Ok(items),
        value => {
            let problem = format!("must be a list of {} values, one for each key", keys.len());
            Err(ScenarioError::value(place(), &value, problem))
        }
    };
    let steps: Vec<Vec<Value>> = values.into_iter().map(step).collect::<Result<_, _>>()?;
    let mut seen = HashSet::with_capacity(steps.len());
    if let Some(twice) = steps.iter().find(|step| !seen.insert(Value::from((*step).clone()).to_string())) {
        let value = if let [value] = twice.as_slice() { value.clone() } else { Value::from(twice.clone()) };
        return Err(ScenarioError::value(place(), &value, "is twice among the values of the axis"));
    }
    Ok(Axis { keys, steps })
}

fn refuse_overlaps(axes: &[Axis], fixed: &[(String, Value)]) -> Result<(), ScenarioError> {
    for (i, axis) in axes.iter().enumerate() {
        let mut touched: Vec<String> = axis.touched().collect();
        touched.sort_unstable();
        touched.dedup();
        let meets = |other: &str| touched.iter().any(|key| overlap(key, other));
        for (leaf, value) in fixed.iter().flat_map(|(key, value)| parts(key, value)) {
            let has_it = |found: Option<&Value>| found.is_some_and(|found| same(found, value));
            if meets(&leaf) && (axis.keys == [leaf.as_str()] || !axis.at(&leaf).all(has_it)) {
                let place = format!("{leaf} (set)");
                let name = format!("axis {:?}", axis.name());
                return Err(ScenarioError::contradiction(&place, &name, not_a_step(axis, &leaf)));
            }
        }
        for other in &axes[i + 1..] {
            if let Some(key) = other.touched().find(|key| meets(key)) {
                let (this, other) = (format!("axis {:?}", axis.name()), format!("axis {:?}", other.name()));
                return Err(ScenarioError::contradiction(&other, &this, format!("both set {key}")));
            }
        }
        for (n, key) in axis.keys.iter().enumerate() {
            if let Some(other) = axis.keys[n + 1..].iter().find(|other| overlap(key, other)) {
                let place = format!("sweep.{:?}", axis.name());
                return Err(ScenarioError::key(place, format!("{key} and {other} set the same key")));
            }
        }
    }
    Ok(())
}

/// Explains why a key that an axis sets cannot be set to this value, and what to do instead.
fn not_a_step(axis: &Axis, key: &str) -> String {
    const MOST: usize = 8;
    let mut known: Vec<String> = axis.at(key).flatten().map(label).collect();
    known.dedup();
    if known.is_empty() || axis.keys == [key] {
        return "the axis would change what is set; give it with --over, or set another key".to_owned();
    }
    let more = if known.len() > MOST { ", ..." } else { "" };
    known.truncate(MOST);
    format!(
        "none of its values has that; set one of {}{more}, or replace the axis with --over",
        known.join(", ")
    )
}

/// Removes the axis `methods` and returns its values as a list, since all methods solve the same points.
pub(crate) fn take_methods(axes: &mut Vec<Axis>) -> Option<Value> {
    let at = axes.iter().position(|axis| axis.keys == [METHODS])?;
    Some(axes.remove(at).steps.into_iter().flatten().collect())
}

/// Number of points: all combinations of the axes' steps.
///
/// # Errors
/// More than 100,000 combinations.
pub(crate) fn count(axes: &[Axis]) -> Result<usize, ScenarioError> {
    let total = axes.iter().try_fold(1_usize, |total, axis| total.checked_mul(axis.steps.len()));
    total.filter(|&total| total <= MOST_POINTS).ok_or_else(|| {
        let sizes: Vec<String> = axes.iter().map(|axis| axis.steps.len().to_string()).collect();
        let problem = format!("{} points are too many; at most {MOST_POINTS} are allowed", sizes.join(" x "));
        ScenarioError::key("sweep", problem)
    })
}

/// Keys and values of combination number `index` of the axes' steps; the first axis varies slowest.
pub(crate) fn values_at(axes: &[Axis], index: usize) -> Map<String, Value> {
    let mut rest = index;
    let mut chosen: Vec<(&Axis, &Vec<Value>)> = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        chosen.push((axis, &axis.steps[rest % axis.steps.len()]));
        rest /= axis.steps.len();
    }
    let pairs = chosen.into_iter().rev().flat_map(|(axis, step)| axis.keys.iter().zip(step));
    pairs.map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn points(sweep: Value, over: &[(String, Value)]) -> Value {
        let axes = axes(Some(sweep), over, &[]).unwrap();
        (0..count(&axes).unwrap()).map(|index| Value::Object(values_at(&axes, index))).collect()
    }

    fn error(sweep: Value, over: &[(&str, Value)], fixed: &[(&str, Value)]) -> String {
        let owned = |pairs: &[(&str, Value)]| -> Vec<(String, Value)> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
        };
        let axes = axes(Some(sweep), &owned(over), &owned(fixed));
        axes.and_then(|axes| count(&axes)).unwrap_err().to_string()
    }

    #[test]
    fn axes_are_crossed_in_the_order_of_the_file() {
        assert_eq!(
            points(json!({ "tcp.variant": "reno,tahoe", "channel.p_e": [0.1, "1 %"] }), &[]),
            json!([
                { "tcp.variant": "reno", "channel.p_e": 0.1 },
                { "tcp.variant": "reno", "channel.p_e": "1 %" },
                { "tcp.variant": "tahoe", "channel.p_e": 0.1 },
                { "tcp.variant": "tahoe", "channel.p_e": "1 %" },
            ])
        );
        assert_eq!(points(json!({}), &[]), json!([{}]));
    }

    #[test]
    fn zipped_keys_vary_together_and_unquoted_keys_are_dotted() {
        assert_eq!(
            points(
                json!({ "tcp.w_max, tcp.dupthresh": [[6, 1], [24, 3]], "link": { "rate": ["1 Mbit/s"] } }),
                &[]
            ),
            json!([
                { "tcp.w_max": 6, "tcp.dupthresh": 1, "link.rate": "1 Mbit/s" },
                { "tcp.w_max": 24, "tcp.dupthresh": 3, "link.rate": "1 Mbit/s" },
            ])
        );
    }

    #[test]
    fn over_replaces_in_place_or_adds_behind() {
        let over = [("channel.p_e".to_owned(), json!("0.2")), ("tcp.w_max".to_owned(), json!([6]))];
        assert_eq!(
            points(json!({ "channel.p_e": [0.1], "tcp.variant": ["reno"] }), &over),
            json!([{ "channel.p_e": 0.2, "tcp.variant": "reno", "tcp.w_max": 6 }])
        );
    }

    #[test]
    fn methods_are_taken_out() {
        let sweep = json!({ "methods": "analysis,simulation", "tcp.w_max": [6, 24] });
        let mut axes = axes(Some(sweep), &[], &[]).unwrap();
        assert_eq!(take_methods(&mut axes), Some(json!(["analysis", "simulation"])));
        assert_eq!(axes.iter().map(Axis::name).collect::<Vec<_>>(), ["tcp.w_max"]);
        assert_eq!(take_methods(&mut axes), None);
        let zipped = error(json!({ "methods,tcp.w_max": [["analysis", 6]] }), &[], &[]);
        assert!(zipped.contains("methods cannot be zipped"), "{zipped}");
        let asked = [("methods", json!(["analysis"]))];
        let set = error(json!({}), &asked, &[("methods", json!(["simulation"]))]);
        assert!(set.starts_with("methods (set) contradicts axis \"methods\": "), "{set}");
    }

    #[test]
    fn what_is_set_is_no_axis_of_the_file_any_more() {
        let sweep = json!({ "channel.p_e": [0.1, 0.2], "tcp.w_max,tcp.dupthresh": [[6, 1], [24, 3]] });
        let left = |fixed: &[&str]| {
            let fixed: Vec<_> = fixed.iter().map(|key| ((*key).to_owned(), json!(4))).collect();
            let axes = axes(Some(sweep.clone()), &[], &fixed);
            axes.map(|axes| axes.iter().map(Axis::name).collect::<Vec<_>>())
                .map_err(|error| error.to_string())
        };
        assert_eq!(left(&["channel.p_e"]).unwrap(), ["tcp.w_max,tcp.dupthresh"]);
        assert_eq!(left(&["tcp.w_max", "tcp.dupthresh"]).unwrap(), ["channel.p_e"]);
        // Keys that vary together must be set together.
        assert!(left(&["tcp.w_max"]).unwrap_err().contains("tcp.w_max (set) contradicts axis"));
    }

    #[test]
    fn what_is_set_in_part_of_an_axis_of_the_file_keeps_the_steps_that_have_it() {
        let sweep = json!({
            "channel": [
                { "model": "markov", "fd_t": 0.01 },
                { "model": "markov", "fd_t": 0.08 },
                { "model": "iid" },
            ],
            "tcp.w_max,tcp.dupthresh": [[6, 1], [24, 3], [24, 4]],
        });
        let left = |fixed: &[(&str, Value)]| {
            let fixed: Vec<_> = fixed.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
            let axes = axes(Some(sweep.clone()), &[], &fixed);
            axes.map(|axes| axes.into_iter().map(|axis| axis.steps).collect::<Vec<_>>())
                .map_err(|error| error.to_string())
        };
        let steps = left(&[("channel.fd_t", json!(0.08)), ("tcp.w_max", json!(24.0))]).unwrap();
        assert_eq!(json!(steps), json!([[[{ "model": "markov", "fd_t": 0.08 }]], [[24, 3], [24, 4]]]));
        let models = left(&[("channel.model", json!("markov"))]).unwrap();
        assert_eq!(models[0].len(), 2);
        assert_eq!(
            left(&[("channel.fd_t", json!(0.3))]).unwrap_err(),
            "channel.fd_t (set) contradicts axis \"channel\": none of its values has that; set one of 0.01, 0.08, \
             or replace the axis with --over"
        );
        // Two values that occur together in no step.
        assert!(left(&[("channel.fd_t", json!(0.08)), ("channel.model", json!("iid"))]).is_err());
    }

    #[test]
    fn a_step_may_be_set_by_the_words_that_tables_show() {
        let sweep = json!({ "channel": [{ "model": "markov", "fd_t": 0.01 }, { "model": "iid" }] });
        let set = |value: &str| with_labels(Some(&sweep), &[("channel".to_owned(), json!(value))]);
        assert_eq!(set("markov fd_t=0.01")[0].1, json!({ "model": "markov", "fd_t": 0.01 }));
        assert_eq!(set("iid")[0].1, json!({ "model": "iid" }));
        assert_eq!(set("markov")[0].1, json!("markov"));
        assert_eq!(with_labels(None, &[("title".to_owned(), json!("x"))])[0].1, json!("x"));
    }

    #[test]
    fn one_key_has_one_source() {
        let asked = [("channel.p_e", json!([0.1]))];
        let both = error(json!({}), &asked, &[("channel.p_e", json!(0.2))]);
        assert!(both.starts_with("channel.p_e (set) contradicts axis \"channel.p_e\": "), "{both}");
        let tables = json!({ "channel": [{ "model": "iid" }, { "model": "markov", "p_e": 0.1 }] });
        assert!(
            error(tables.clone(), &[], &[("channel.p_e", json!(0.2))])
                .contains("contradicts axis \"channel\"")
        );
        let axes = axes(Some(tables.clone()), &[], &[("channel.fd_t".to_owned(), json!(0.2))]);
        assert_eq!(axes.unwrap().len(), 1);
        assert_eq!(
            error(tables, &[("channel.p_e", json!([1]))], &[]),
            "axis \"channel.p_e\" contradicts axis \"channel\": both set channel.p_e"
        );
        assert!(error(json!({ "link,link.rate": [[{}, 1]] }), &[], &[]).contains("set the same key"));
    }

    #[test]
    fn what_is_no_axis_is_refused() {
        for (sweep, fragment) in [
            (json!({ "channel.p_x": [1] }), "did you mean channel.p_e?"),
            (json!({ "run.seed": [1, 2] }), "run.seed cannot be an axis"),
            (json!({ "channel.p_e": [] }), "at least one value"),
            (json!({ "channel.p_e": 0.1 }), "must be a list"),
            (json!({ "channel.p_e": "log:0:1:3" }), "two different positive ends"),
            (json!({ "tcp.w_max,tcp.dupthresh": [[1]] }), "a list of 2 values"),
            (
                json!({ "tcp.variant": "sack,reno,sack" }),
                "sweep.\"tcp.variant\" = \"sack\": is twice among the values of the axis",
            ),
            (
                json!({ "tcp.w_max,tcp.dupthresh": [[6, 1], [24, 3], [6, 1]] }),
                "sweep.\"tcp.w_max,tcp.dupthresh\" = [6,1]: is twice among the values of the axis",
            ),
            (
                json!({ "tcp.w_max": "1:1000:1", "tcp.dupthresh": "1:1000:1" }),
                "1000 x 1000 points are too many",
            ),
            (json!([1]), "must be a table of axes"),
        ] {
            let line = error(sweep, &[], &[]);
            assert!(line.contains(fragment), "{line}");
        }
    }
}
