//! Named alternatives: tables that replace whole tables of a scenario, selected by name.

use crate::document::set;
use crate::error::{ScenarioError, join, nearest};
use crate::schema::{ALTERNATIVES as TABLE, check, lookup};
use crate::sweep::Axis;
use serde_json::{Map, Value, json};

/// Key that selects an alternative, and name of the axis over all of them.
pub(crate) const KEY: &str = "alternative";

/// Names of the tables that an alternative may replace: those defining what is simulated, not the number of runs or the
/// random numbers.
const REPLACED: [&str; 11] =
    ["channel", "phy", "link", "reverse", "wired", "mesh", "cell", "nr", "wlan", "tcp", "flows"];

/// Alternatives of a scenario by name, each with the tables that it replaces, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alternatives(Map<String, Value>);

impl Alternatives {
    /// Removes the alternatives from a document in which all keys are set, checks them, and returns them.
    ///
    /// # Errors
    /// An entry that is no set of named tables, a table outside the replaceable ones, or an error inside a table.
    pub(crate) fn take(root: &mut Map<String, Value>) -> Result<Self, ScenarioError> {
        let Some(found) = root.shift_remove(TABLE) else { return Ok(Self::default()) };
        let Value::Object(by_name) = found else {
            return Err(ScenarioError::value(TABLE, &found, "must be a table of alternatives by name"));
        };
        for (name, tables) in &by_name {
            let place = join(TABLE, name);
            let Value::Object(tables) = tables else {
                return Err(ScenarioError::value(place, tables, "must be a table of tables such as link"));
            };
            if tables.is_empty() {
                return Err(ScenarioError::key(place, "must name at least one table such as link"));
            }
            for (table, value) in tables {
                if !REPLACED.contains(&table.as_str()) {
                    // Fails for a key that belongs to no table.
                    lookup(&join(&place, table))?;
                    return Err(ScenarioError::unknown(&place, table, &REPLACED));
                }
                if !value.is_object() {
                    return Err(ScenarioError::value(join(&place, table), value, "must be a table"));
                }
            }
            check(&Value::Object(tables.clone())).map_err(|error| error.inside(&place))?;
        }
        Ok(Self(by_name))
    }

    /// Sets a key also inside those alternatives that replace its table, where the key of the document itself would
    /// have no effect.
    ///
    /// # Errors
    /// The key leads through something that is not a table.
    pub(crate) fn set(root: &mut Map<String, Value>, key: &str, value: &Value) -> Result<(), ScenarioError> {
        let table = key.split('.').next().unwrap_or_default();
        let by_name = root.get_mut(TABLE).and_then(Value::as_object_mut);
        let replacing = by_name.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut);
        for tables in replacing.filter(|tables| tables.contains_key(table)) {
            set(tables, key, value)?;
        }
        Ok(())
    }

    /// Inserts an axis over all alternatives before all other axes, unless a key or an axis already selects an
    /// alternative.
    pub(crate) fn add_axis(&self, root: &Map<String, Value>, axes: &mut Vec<Axis>) {
        let is_chosen =
            root.contains_key(KEY) || axes.iter().any(|axis| axis.keys.iter().any(|key| key == KEY));
        if !self.0.is_empty() && !is_chosen {
            let steps = self.0.keys().map(|name| vec![json!(name)]).collect();
            axes.insert(0, Axis { keys: vec![KEY.to_owned()], steps });
        }
    }

    /// Replaces the document's tables by those of the selected alternative (by an axis, or else by the document);
    /// returns its name.
    ///
    /// # Errors
    /// No alternative has that name.
    pub(crate) fn replace(
        &self,
        document: &mut Map<String, Value>,
        axes: &Map<String, Value>,
    ) -> Result<Option<String>, ScenarioError> {
        let own = document.shift_remove(KEY);
        let Some(chosen) = axes.get(KEY).or(own.as_ref()) else { return Ok(None) };
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let found = chosen.as_str().and_then(|name| self.0.get(name)).and_then(Value::as_object);
        let Some(tables) = found else {
            let near = chosen.as_str().and_then(|name| nearest(name, &names));
            let hint = near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
            let problem = if names.is_empty() {
                "there is no table of alternatives; [alternatives.NAME] holds those of one".to_owned()
            } else {
                format!("must be one of {}{hint}", names.join(", "))
            };
            return Err(ScenarioError::value(KEY, chosen, problem));
        };
        for (table, value) in tables {
            document.insert(table.clone(), value.clone());
        }
        Ok(chosen.as_str().map(str::to_owned))
    }

    /// Prefixes the key of an error with the place of the alternative `name` if the key is in one of its tables.
    pub(crate) fn locate(&self, name: &str, error: ScenarioError) -> ScenarioError {
        let table = error.key.split('.').next().unwrap_or_default();
        let is_inside = self.0.get(name).is_some_and(|tables| tables.get(table).is_some());
        if is_inside { error.inside(&join(TABLE, name)) } else { error }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Overrides, Plan};
    use serde_json::{Value, json};

    const TEXT: &str = r#"
        schema = 2
        run = { duration = "1000 slots" }
        channel = { model = "iid", p_e = 0.01 }
        link = { rate = "1.5 Mbit/s", packet_size = "1400 B" }
        tcp = { flavour = "paper", variant = "reno", w_max = 24, rto = { fixed = "100 slots" } }
        [alternatives.wired]
        channel = { model = "none" }
        [alternatives.radio]
        channel = { model = "markov", p_e = 0.1, mean_burst = 4 }
        link = { rate = "3 Mbit/s", packet_size = "700 B" }
    "#;

    fn plan(overrides: &Value) -> Result<Plan, String> {
        let overrides: Overrides = serde_json::from_value(overrides.clone()).unwrap();
        Plan::load(TEXT, "x.toml", &overrides).map_err(|error| error.to_string())
    }

    /// Axes of each point of a plan, with the point's loss rate and link rate.
    fn points(overrides: &Value) -> Vec<String> {
        let plan = plan(overrides).unwrap();
        let point = |point: std::sync::Arc<crate::Point>| {
            let scenario = serde_json::to_value(&point.scenario).unwrap();
            assert!(scenario.get("alternative").is_none() && scenario.get("alternatives").is_none());
            let (channel, link) = (&scenario["channel"], &scenario["link"]);
            format!("{} {} {}", Value::Object(point.axes.clone()), channel["p_e"], link["rate"])
        };
        plan.points.iter().map(point).collect()
    }

    #[test]
    fn each_replaces_the_tables_that_it_names() {
        assert_eq!(
            points(&json!({})),
            [
                r#"{"alternative":"wired"} null "1500000 bit/s""#,
                r#"{"alternative":"radio"} 0.1 "3000000 bit/s""#
            ]
        );
        // A single selected alternative makes no axis; a list gives the order.
        assert_eq!(points(&json!({ "set": [["alternative", "radio"]] })), [r#"{} 0.1 "3000000 bit/s""#]);
        assert_eq!(points(&json!({ "over": [["alternative", "radio,wired"]] })).len(), 2);
    }

    #[test]
    fn what_is_set_and_swept_reaches_them() {
        let set = json!({ "set": [["link.delay", "5 ms"], ["link.rate", "2 Mbit/s"]] });
        assert_eq!(
            points(&set),
            [
                r#"{"alternative":"wired"} null "2000000 bit/s""#,
                r#"{"alternative":"radio"} 0.1 "2000000 bit/s""#
            ]
        );
        let over = json!({ "set": [["alternative", "radio"]], "over": [["channel.p_e", [0.2, 0.3]]] });
        assert_eq!(
            points(&over),
            [r#"{"channel.p_e":0.2} 0.2 "3000000 bit/s""#, r#"{"channel.p_e":0.3} 0.3 "3000000 bit/s""#]
        );
        let one = json!({ "set": [["alternatives.radio.channel.p_e", 0.25], ["alternative", "radio"]] });
        assert_eq!(points(&one), [r#"{} 0.25 "3000000 bit/s""#]);
    }

    #[test]
    fn rows_are_those_of_the_scenario_that_is_written_out() {
        let ids = |overrides: Value| plan(&overrides).unwrap().points.id(0);
        let written =
            json!({ "set": [["alternatives", null], ["channel", null], ["channel.model", "none"]] });
        assert_eq!(ids(json!({})), ids(written));
    }

    #[test]
    fn what_is_wrong_is_one_line() {
        for (set, said) in [
            (
                json!([["alternative", "rado"]]),
                "alternative = \"rado\": must be one of wired, radio; did you mean",
            ),
            (json!([["alternative", 3]]), "alternative = 3: must be a string"),
            (json!([["alternatives", null], ["alternative", "a"]]), "there is no table of alternatives"),
            (
                json!([["alternatives.lte", {}]]),
                "alternatives.lte: must name at least one table such as link",
            ),
            (
                json!([["alternatives.lte", 3]]),
                "alternatives.lte = 3: must be a table of tables such as link",
            ),
            (json!([["alternatives", 3]]), "alternatives = 3: must be a table"),
            (json!([["alternatives.lte", { "run": {} }]]), "alternatives.lte.run: unknown key"),
            (json!([["alternatives.lte", { "link": 3 }]]), "alternatives.lte.link = 3: must be a table"),
            (
                json!([["alternatives.lte", { "channel": { "p_f": 3 } }]]),
                "alternatives.lte.channel.p_f: unknown key; did you mean alternatives.lte.channel.p_e?",
            ),
            (
                json!([["alternatives.lte.chanel.p_e", 3]]),
                "alternatives.lte.chanel: unknown key; did you mean alternatives.lte.channel?",
            ),
            (
                json!([["alternatives.lte.rate", "5 Mbit/s"]]),
                "alternatives.lte.rate: unknown key; did you mean alternatives.lte.link.rate or \
                 alternatives.lte.reverse.rate",
            ),
            (
                json!([["alternatives.lte", { "rate": "5 Mbit/s" }]]),
                "alternatives.lte.rate: unknown key; did you mean alternatives.lte.link.rate or",
            ),
            (
                json!([["alternatives.radio.link.rate", "fast"]]),
                "alternatives.radio.link.rate = \"fast\": must be",
            ),
        ] {
            let error = plan(&json!({ "set": set })).unwrap_err();
            assert!(error.contains(said) && !error.contains('\n'), "{set}: {error}");
        }
    }
}
