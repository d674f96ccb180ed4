//! JSON Schema of a scenario, and its uses: checks of keys, types and ranges, and explanations.

use crate::error::{ScenarioError, join, nearest};
use crate::files::file_and_class;
use crate::tables::Scenario;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::sync::LazyLock;

/// JSON Schema of a scenario, and the keys marked `x-plan` in it: they concern the whole plan, cannot be axes, and are
/// not part of a run's identity.
static SCHEMA: LazyLock<(Value, Vec<String>)> = LazyLock::new(|| {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Scenario>();
    let mut marked = Vec::new();
    // First, since later removals change the order of the keys.
    schema.as_object_mut().into_iter().for_each(|schema| take_plan_keys(schema, "", &mut marked));
    Tidy.transform(&mut schema);
    (schema.to_value(), marked)
});

/// Moves the marks `x-plan` of the schema part at `key` to the list `marked`.
fn take_plan_keys(schema: &mut Map<String, Value>, key: &str, marked: &mut Vec<String>) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let (key, Some(property)) = (join(key, name), property.as_object_mut()) else { continue };
        match property.shift_remove("x-plan") {
            Some(_) => marked.push(key),
            None => take_plan_keys(property, &key, marked),
        }
    }
}

/// Keys that concern the whole plan instead of a point, such as `title`.
pub(crate) fn plan_keys() -> &'static [String] {
    &SCHEMA.1
}

/// Name of the table of alternatives, each of which holds tables of the scenario.
pub(crate) const ALTERNATIVES: &str = "alternatives";

/// JSON Schema of a scenario (draft 2020-12), for editors. `x-expects` describes the form of a quantity; `x-default`
/// describes a default that depends on other keys.
pub fn schema() -> Value {
    SCHEMA.0.clone()
}

/// Transformation of the generated schema for TOML, which has no null: an absent key is simply missing, and tables take
/// no other keys.
#[derive(Clone)]
struct Tidy;

impl Transform for Tidy {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            let kept = types.iter().find(|name| *name != "null").cloned();
            schema.insert("type".into(), kept.unwrap_or(Value::Null));
        }
        if let Some(Value::Array(alternatives)) = schema.get("anyOf")
            && let [Value::Object(inner), Value::Object(null)] = alternatives.as_slice()
            && null.get("type").is_some_and(|name| name == "null")
        {
            let inner = inner.clone();
            schema.remove("anyOf");
            for (key, value) in inner {
                schema.as_object_mut().into_iter().for_each(|outer| {
                    outer.entry(key.clone()).or_insert_with(|| value.clone());
                });
            }
        }
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            let marked = |(name, property): (&String, &mut Value)| {
                property.as_object_mut()?.remove("x-required").map(|_| Value::from(name.clone()))
            };
            let required: Vec<Value> = properties.iter_mut().filter_map(marked).collect();
            if !required.is_empty() {
                schema.insert("required".into(), required.into());
            }
            schema.remove("default");
            schema.insert("additionalProperties".into(), Value::Bool(false));
        }
        schema.remove("format");
        transform_subschemas(self, schema);
    }
}

/// Checks a scenario, or a part of it, against the schema: unknown keys, types, words and ranges.
///
/// # Errors
/// The first violation.
pub(crate) fn check(scenario: &Value) -> Result<(), ScenarioError> {
    check_part(&SCHEMA.0, scenario, "")
}

/// Suggestion for an invalid word of a key, to be appended to the allowed `words`.
fn meant(key: &str, word: &str, words: &[&str]) -> Option<String> {
    if let Some(table) = key.strip_suffix("tcp.variant")
        && let Some(control) = congestion_control(word)
    {
        return Some(format!(
            "; did you mean {table}tcp.congestion = \"{control}\" with {table}tcp.variant = \"sack\"?"
        ));
    }
    if key.ends_with("tcp.congestion") && word == "bbr" {
        return Some("; did you mean \"bbr-v1\", which is Linux's \"bbr\", or \"bbr-v3\"?".to_owned());
    }
    nearest(word, words).map(|near| format!("; did you mean \"{near}\"?"))
}

/// Congestion control that was meant by `word`, given as a variant of TCP; `bbr` means `bbr-v1`, which Linux calls
/// `bbr`.
fn congestion_control(word: &str) -> Option<&'static str> {
    ["highspeed", "dctcp", "prague", "bbr-v1", "bbr-v3"]
        .into_iter()
        .find(|control| *control == word || (word == "bbr" && *control == "bbr-v1"))
}

fn check_part(schema: &Value, value: &Value, key: &str) -> Result<(), ScenarioError> {
    let refuse = || Err(ScenarioError::value(key, value, format!("must be {}", expected(schema))));
    if let Some(alternatives) = schema["anyOf"].as_array() {
        // Alternatives differ in their JSON type.
        return match alternatives.iter().find(|alternative| has_type(alternative, value)) {
            Some(alternative) => check_part(alternative, value, key),
            None => refuse(),
        };
    }
    let words = words(schema);
    if !words.is_empty() {
        return match value.as_str() {
            Some(word) if words.contains(&word) => Ok(()),
            Some(word) if schema["x-file"] == "rule" && file_and_class(word).is_some() => Ok(()),
            word => {
                let hint = word.and_then(|word| meant(key, word, &words)).unwrap_or_default();
                let problem = format!("must be {}{hint}", expected(schema));
                Err(ScenarioError::value(key, value, problem))
            }
        };
    }
    if let (Some(properties), false) = (schema["properties"].as_object(), value.is_object()) {
        let keys: Vec<String> = names(properties).iter().map(|name| join(key, name)).collect();
        return Err(ScenarioError::value(
            key,
            value,
            format!("must be a table; its keys: {}", keys.join(", ")),
        ));
    }
    if !has_type(schema, value) {
        return refuse();
    }
    match value {
        Value::Object(table) => check_table(schema, table, key),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(i, item)| check_part(&schema["items"], item, &format!("{key}[{i}]")))
        }
        Value::Number(number) if !in_range(schema, number.as_f64().unwrap_or(f64::NAN)) => {
            Err(ScenarioError::value(key, value, format!("must be {}", range(schema).unwrap_or_default())))
        }
        _ => Ok(()),
    }
}

fn check_table(schema: &Value, table: &Map<String, Value>, key: &str) -> Result<(), ScenarioError> {
    let Some(properties) = schema["properties"].as_object() else {
        // Named tables with a common schema.
        let entry = &schema["additionalProperties"];
        let mut entries = table.iter().filter(|_| entry.is_object());
        return entries.try_for_each(|(name, value)| check_part(entry, value, &join(key, name)));
    };
    table.iter().try_for_each(|(name, value)| match properties.get(name) {
        Some(property) => check_part(property, value, &join(key, name)),
        None => Err(ScenarioError::unknown(key, name, &names(properties))),
    })
}

fn has_type(schema: &Value, value: &Value) -> bool {
    match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        _ => true,
    }
}

fn in_range(schema: &Value, number: f64) -> bool {
    let limit = |name: &str| schema[name].as_f64();
    limit("minimum").is_none_or(|min| number >= min)
        && limit("maximum").is_none_or(|max| number <= max)
        && limit("exclusiveMinimum").is_none_or(|min| number > min)
}

/// Allowed words of a key that takes only words; otherwise empty.
fn words(schema: &Value) -> Vec<&str> {
    let alternatives = schema["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    alternatives.iter().filter_map(|alternative| alternative["const"].as_str()).collect()
}

/// Description of the allowed values of a key, worded to follow "must be".
fn expected(schema: &Value) -> String {
    if let Some(text) = schema["x-expects"].as_str() {
        return text.to_owned();
    }
    let words = words(schema);
    if !words.is_empty() {
        let own = if schema["x-file"] == "rule" {
            ", a class in a Python file such as mine.py, or a Rust file such as mine.rs"
        } else {
            ""
        };
        return format!("one of {}{own}", words.join(", "));
    }
    match schema["type"].as_str() {
        Some("object") => "a table".to_owned(),
        Some("array") => format!("a list, each item {}", expected(&schema["items"])),
        Some("boolean") => "true or false".to_owned(),
        Some(number @ ("integer" | "number")) => {
            let kind = if number == "integer" { "a whole number" } else { "a number" };
            range(schema).map_or(kind.to_owned(), |range| format!("{kind}, {range}"))
        }
        _ => "a string".to_owned(),
    }
}

/// Description of the allowed range of a number; `None` without limits.
fn range(schema: &Value) -> Option<String> {
    match (&schema["minimum"], &schema["exclusiveMinimum"], &schema["maximum"]) {
        (Value::Number(min), _, Value::Number(max)) if min == max => Some(min.to_string()),
        (Value::Number(min), _, Value::Number(max)) => Some(format!("between {min} and {max}")),
        (Value::Number(min), _, _) => Some(format!("at least {min}")),
        (_, Value::Number(min), Value::Number(max)) => Some(format!("above {min} and at most {max}")),
        (_, Value::Number(min), _) => Some(match &schema["exclusiveMaximum"] {
            Value::Number(max) => format!("above {min} and below {max}"),
            _ => format!("above {min}"),
        }),
        _ => None,
    }
}

fn names(properties: &Map<String, Value>) -> Vec<&str> {
    let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Schema of the dotted key `key`.
///
/// # Errors
/// An unknown key, with the nearest known one.
pub(crate) fn lookup(key: &str) -> Result<&'static Value, ScenarioError> {
    // An alternative contains tables of the scenario.
    let inside = key.strip_prefix(ALTERNATIVES).and_then(|rest| rest.strip_prefix('.'));
    if let Some((name, table)) = inside.and_then(|rest| rest.split_once('.')) {
        return lookup(table).map_err(|error| in_alternative(name, table, &error));
    }
    if inside.is_some_and(|name| !name.is_empty()) {
        return lookup(ALTERNATIVES);
    }
    let mut schema: &Value = &SCHEMA.0;
    let mut path = String::new();
    for name in key.split('.') {
        if schema["additionalProperties"].is_object() && !name.is_empty() {
            schema = &schema["additionalProperties"];
            path = join(&path, name);
            continue;
        }
        // A key that is a number or a table has the keys of that table.
        let alternatives = schema["anyOf"].as_array().into_iter().flatten();
        let mut tables = std::iter::once(schema).chain(alternatives);
        let Some(properties) = tables.find_map(|schema| schema["properties"].as_object()) else {
            return Err(ScenarioError::key(key, format!("unknown key; {path} is {}", expected(schema))));
        };
        schema =
            properties.get(name).ok_or_else(|| ScenarioError::unknown(&path, name, &names(properties)))?;
        path = join(&path, name);
    }
    Ok(schema)
}

/// Error of a key inside the alternative `name`, with its full key.
///
/// If the table is missing (`alternatives.lte.rate`), the message lists the tables with such a key.
fn in_alternative(name: &str, key: &str, error: &ScenarioError) -> ScenarioError {
    let place = join(ALTERNATIVES, name);
    if let Some(properties) = SCHEMA.0["properties"].as_object()
        && !properties.contains_key(key.split('.').next().unwrap_or_default())
    {
        let has_it = |table: &&String| *table != ALTERNATIVES && lookup(&join(table, key)).is_ok();
        let meant: Vec<String> = properties.keys().filter(has_it).map(|table| join(table, key)).collect();
        if !meant.is_empty() {
            let meant: Vec<String> = meant.iter().map(|key| join(&place, key)).collect();
            return ScenarioError::key(
                join(&place, key),
                format!("unknown key; did you mean {}?", meant.join(" or ")),
            );
        }
    }
    error.inside(&place)
}

/// Replaces each file name in a scenario by the one that `rename` returns for it.
pub(crate) fn name_files(scenario: &mut Value, rename: &dyn Fn(&str) -> Option<String>) {
    fn walk(schema: &Value, value: &mut Value, rename: &dyn Fn(&str) -> Option<String>) {
        let is_file = |name: &&str| match &schema["x-file"] {
            Value::Bool(is_file) => *is_file,
            of => of == "rule" && file_and_class(name).is_some(),
        };
        if let Some(name) = value.as_str().filter(is_file).and_then(rename) {
            *value = name.into();
        }
        for (key, inner) in value.as_object_mut().into_iter().flatten() {
            let property = schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
            walk(property, inner, rename);
        }
    }
    walk(&SCHEMA.0, scenario, rename);
}

/// Explains a key: meaning, values and default. A table is explained with its keys; the empty key stands for the whole
/// scenario.
///
/// # Errors
/// An unknown key, with the nearest known one.
pub fn explain(key: &str) -> Result<String, ScenarioError> {
    let key = key.trim();
    let schema = if key.is_empty() { &SCHEMA.0 } else { lookup(key)? };
    let mut text = String::new();
    let title = if key.is_empty() { "scenario" } else { key };
    let _ = writeln!(text, "{title}: {}", expected(schema));
    let _ = writeln!(text, "\n{}", description(schema));
    let words = schema["oneOf"].as_array().into_iter().flatten();
    let words = words.map(|word| {
        (word["const"].as_str().or(word["title"].as_str()).unwrap_or_default().to_owned(), description(word))
    });
    text += &columns(&words.collect::<Vec<_>>());
    let named = schema["additionalProperties"].is_object();
    let (table, schema) =
        if named { (join(key, "NAME"), &schema["additionalProperties"]) } else { (key.to_owned(), schema) };
    if let Some(properties) = schema["properties"].as_object() {
        let first_sentence = |property| {
            let summary = description(property);
            summary.split_inclusive(". ").next().unwrap_or_default().trim_end().to_owned()
        };
        let keys = properties.iter().map(|(name, property)| (join(&table, name), first_sentence(property)));
        text.push('\n');
        text += &columns(&keys.collect::<Vec<_>>());
    } else {
        let _ = writeln!(text, "\nDefault: {}", default(key, schema));
    }
    Ok(text)
}

/// Description of a schema part as one paragraph, without line breaks.
fn description(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn default(key: &str, schema: &Value) -> String {
    match (&schema["default"], &schema["x-default"]) {
        (Value::Null, Value::String(text)) => text.clone(),
        (Value::Null, _) if is_required(key) => "none; the key is required".to_owned(),
        (Value::Null, _) => "none".to_owned(),
        (value, _) => value.to_string(),
    }
}

fn is_required(key: &str) -> bool {
    let (table, name) = key.rsplit_once('.').map_or((None, key), |(table, name)| (Some(table), name));
    let parent = table.map_or(Ok(&SCHEMA.0), lookup);
    parent.is_ok_and(|parent| {
        parent["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name))
    })
}

/// Indented lines of names and texts, with aligned texts.
fn columns(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or_default() + 2;
    lines.iter().fold(String::new(), |mut text, (name, meaning)| {
        let _ = writeln!(text, "  {name:<width$}{meaning}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(scenario: &Value) -> String {
        check(scenario).unwrap_err().to_string()
    }

    /// All dotted keys of a schema part.
    fn all_keys(schema: &Value, key: &str) -> Vec<String> {
        let properties = schema["properties"].as_object().into_iter().flatten();
        let inner = properties.flat_map(|(name, property)| all_keys(property, &join(key, name)));
        let entry = &schema["additionalProperties"];
        let named = entry.is_object().then(|| all_keys(entry, &join(key, "NAME")));
        std::iter::once(key.to_owned()).chain(inner).chain(named.into_iter().flatten()).collect()
    }

    #[test]
    fn unknown_keys_are_found_at_any_depth() {
        assert_eq!(
            error(&json!({ "link": { "rat": 1 } })),
            "link.rat: unknown key; did you mean link.rate? (allowed: arq, delay, frame_size, framing, headers, \
             jitter, packet_size, policer, queue, rate, satellite, shaper, trace)"
        );
        assert!(error(&json!({ "tcp": { "rto": { "fix": 1 } } })).contains("did you mean tcp.rto.fixed?"));
        assert!(error(&json!({ "chanel": {} })).contains("did you mean channel?"));
        let flow = error(&json!({ "flows": { "web": { "cuont": 3 } } }));
        assert!(flow.contains("flows.web.cuont: unknown key; did you mean flows.web.count?"), "{flow}");
        let error_of_rto = error(&json!({ "tcp": { "rto": "100 ms" } }));
        assert!(
            error_of_rto
                .starts_with("tcp.rto = \"100 ms\": must be a table; its keys: tcp.rto.backoff, tcp."),
            "{error_of_rto}"
        );
        assert!(
            error(&json!({ "flows": { "web": 3 } }))
                .starts_with("flows.web = 3: must be a table; its keys: flows.web.")
        );
        let tcp = error(&json!({ "flows": { "web": { "tcp": { "w_max": 0 } } } }));
        assert!(tcp.starts_with("flows.web.tcp.w_max = 0: must be"), "{tcp}");
    }

    #[test]
    fn types_words_and_ranges_are_checked() {
        assert_eq!(
            error(&json!({ "channel": { "p_e": 1.5 } })),
            "channel.p_e = 1.5: must be between 0 and 1"
        );
        assert_eq!(
            error(&json!({ "tcp": { "w_max": 24.0 } })),
            "tcp.w_max = 24.0: must be a whole number, between 1 and 1000000, or a size such as \"64 KiB\""
        );
        assert_eq!(
            error(&json!({ "tcp": { "variant": "rino" } })),
            "tcp.variant = \"rino\": must be one of old-tahoe, tahoe, reno, newreno, sack, cubic; \
             did you mean \"reno\"?"
        );
        assert_eq!(
            error(&json!({ "tcp": { "variant": "bbr" } })),
            "tcp.variant = \"bbr\": must be one of old-tahoe, tahoe, reno, newreno, sack, cubic; \
             did you mean tcp.congestion = \"bbr-v1\" with tcp.variant = \"sack\"?"
        );
        assert!(error(&json!({ "flows": { "web": { "tcp": { "variant": "prague" } } } })).ends_with(
            "; did you mean flows.web.tcp.congestion = \"prague\" with flows.web.tcp.variant = \"sack\"?"
        ));
        assert!(
            error(&json!({ "tcp": { "congestion": "bbr" } }))
                .ends_with("; did you mean \"bbr-v1\", which is Linux's \"bbr\", or \"bbr-v3\"?")
        );
        assert_eq!(error(&json!({ "schema": 3 })), "schema = 3: must be between 1 and 2");
        assert_eq!(
            error(&json!({ "channel": { "fd_t": 0 } })),
            "channel.fd_t = 0: must be above 0 and at most 100"
        );
        assert!(error(&json!({ "link": [] })).starts_with("link = []: must be a table; its keys: link."));
        assert_eq!(
            error(&json!({ "channel": { "drops": [1, -1] } })),
            "channel.drops[1] = -1: must be at least 0"
        );
        assert!(
            error(&json!({ "link": { "rate": 1500000 } })).contains("must be a positive bit rate such as")
        );
    }

    #[test]
    fn every_key_is_explained() {
        let keys = all_keys(&SCHEMA.0, "");
        assert!(keys.len() > 50, "{}", keys.len());
        for key in &keys {
            let text = explain(key).unwrap();
            assert!(
                !description(if key.is_empty() { &SCHEMA.0 } else { lookup(key).unwrap() }).is_empty(),
                "{key}"
            );
            assert!(text.lines().count() >= 3, "{text}");
        }
        let fixed = explain("tcp.rto.fixed").unwrap();
        assert!(fixed.contains("100 slots") && fixed.contains("Required for flavour"), "{fixed}");
        assert!(explain("channel.model").unwrap().contains("drop-list"));
        assert!(explain("run.runs").unwrap().contains("Default: 10"));
        assert!(explain("tcp.mss").unwrap().contains("Default: link.packet_size - tcp.headers"));
        assert!(explain("tcp.w_max").unwrap().contains("Default: 64 KiB divided by tcp.mss"));
        assert!(explain("tcp.variant").unwrap().contains("Default: none; the key is required, except"));
        assert!(explain("schema").unwrap().contains("Default: none; the key is required"));
        assert!(explain("channel.drops").unwrap().ends_with("Default: none\n"));
        assert!(explain("tcp").unwrap().contains("tcp.variant"));
        let error = explain("tcp.rto.fixd").unwrap_err().to_string();
        assert!(error.contains("did you mean tcp.rto.fixed?"), "{error}");
        assert!(
            explain("tcp.w_max.x")
                .unwrap_err()
                .to_string()
                .contains("unknown key; tcp.w_max is a whole number")
        );
    }

    #[test]
    fn the_schema_has_no_nulls_and_closed_tables() {
        let text = schema().to_string();
        assert!(![":null", "[null", ",null", "\"null\"", "$ref"].iter().any(|mark| text.contains(mark)));
        assert_eq!(
            schema()["properties"]["reverse"]["properties"]["queue"]["additionalProperties"],
            json!(false)
        );
        assert_eq!(schema()["properties"]["link"]["properties"]["delay"]["default"], json!("0 s"));
        assert_eq!(schema()["required"], json!(["schema", "link", "tcp"]));
        assert!(schema()["properties"]["tcp"]["required"].is_null(), "the variant, but for flavour \"quic\"");
    }
}
