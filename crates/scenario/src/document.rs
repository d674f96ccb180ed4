//! Scenario texts as JSON values: reading TOML, reading values of the command line, setting dotted keys.
//!
//! Overrides and axes work on these values, before any key has a meaning.

use crate::error::{ScenarioError, join};
use serde_json::{Map, Number, Value};

/// Reads a TOML document to JSON values; error messages contain `name`.
///
/// # Errors
/// If the text is not TOML, or contains dates or non-finite numbers, which no key takes.
pub(crate) fn parse_toml(text: &str, name: &str) -> Result<Map<String, Value>, ScenarioError> {
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| syntax_error(text, name, &error))?;
    table
        .into_iter()
        .map(|(key, value)| {
            let json = to_json(value, &key)?;
            Ok((key, json))
        })
        .collect()
}

/// Syntax error in one line: `FILE:LINE:COLUMN: message`.
fn syntax_error(text: &str, name: &str, error: &toml::de::Error) -> ScenarioError {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let before = &text.as_bytes()[..at];
    let line = before.split(|&byte| byte == b'\n').count();
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
    let message: Vec<&str> = error.message().lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    ScenarioError::key(format!("{}:{line}:{column}", end_of(name)), message.join(", "))
}

/// End of a long path, so that the line number after it is not cut off from the message.
fn end_of(name: &str) -> String {
    const LONGEST: usize = 60;
    match name.char_indices().rev().nth(LONGEST) {
        Some((start, first)) => format!("...{}", &name[start + first.len_utf8()..]),
        None => name.to_owned(),
    }
}

fn to_json(value: toml::Value, key: &str) -> Result<Value, ScenarioError> {
    Ok(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Float(number) => Number::from_f64(number)
            .ok_or_else(|| ScenarioError::key(format!("{key} = {number}"), "must be a finite number"))?
            .into(),
        toml::Value::Datetime(date) => {
            return Err(ScenarioError::key(format!("{key} = {date}"), "no key takes a date"));
        }
        toml::Value::Array(items) => {
            let items = items.into_iter().enumerate();
            items.map(|(i, item)| to_json(item, &format!("{key}[{i}]"))).collect::<Result<_, _>>()?
        }
        toml::Value::Table(table) => {
            let entries = table.into_iter().map(|(name, value)| {
                let json = to_json(value, &join(key, &name))?;
                Ok((name, json))
            });
            Value::Object(entries.collect::<Result<_, _>>()?)
        }
    })
}

/// Parses a value as written on the command line: a TOML number, string, truth value, array or inline table; any other
/// text is a string (`reno`, `1.5 Mbit/s`).
///
/// ```
/// use crossfade_scenario::parse_value;
/// use serde_json::json;
/// assert_eq!(parse_value("0.01"), json!(0.01));
/// assert_eq!(parse_value("100 ms"), json!("100 ms"));
/// assert_eq!(parse_value("{ model = \"iid\" }"), json!({ "model": "iid" }));
/// ```
pub fn parse_value(text: &str) -> Value {
    let text = text.trim();
    let toml = text.parse::<toml::Value>().ok().and_then(|value| to_json(value, "").ok());
    // ".5" and "5." are common ways to write numbers, but not TOML.
    let number = || text.parse().ok().and_then(Number::from_f64).map(Value::Number);
    toml.or_else(number).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Sets the dotted `key` of a scenario to `value`. Tables are merged (RFC 7396): keys missing in the value stay, and
/// `null` removes a key.
///
/// # Errors
/// If the key leads through a value that is not a table, or has an empty part.
pub(crate) fn set(root: &mut Map<String, Value>, key: &str, value: &Value) -> Result<(), ScenarioError> {
    let mut table = root;
    let mut path = String::new();
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        if part.is_empty() {
            return Err(ScenarioError::key(format!("{key:?}"), "must be a dotted key such as channel.p_e"));
        }
        path = join(&path, part);
        if parts.peek().is_none() {
            merge(table, part, value);
            return Ok(());
        }
        let entry = table.entry(part).or_insert_with(|| Value::Object(Map::new()));
        if !entry.is_object() {
            return Err(ScenarioError::value(path, entry, format!("must be a table, to set {key}")));
        }
        table = entry.as_object_mut().expect("checked above");
    }
    Ok(())
}

/// Merges the JSON value `patch` into `target` (RFC 7396): tables are merged, `null` removes a key, other values
/// replace.
pub(crate) fn merge_value(target: &mut Value, patch: &Value) {
    if let (Some(table), Value::Object(patch)) = (target.as_object_mut(), patch) {
        for (name, value) in patch {
            merge(table, name, value);
        }
    }
}

fn merge(table: &mut Map<String, Value>, key: &str, value: &Value) {
    match (value, table.get_mut(key)) {
        (Value::Null, _) => {
            table.shift_remove(key);
        }
        (Value::Object(patch), Some(Value::Object(target))) => {
            for (name, value) in patch {
                merge(target, name, value);
            }
        }
        _ => {
            table.insert(key.to_owned(), value.clone());
        }
    }
}

/// Dotted keys that change when `key` is set to `value`.
pub(crate) fn leaves(key: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Object(table) if !table.is_empty() => {
            table.iter().flat_map(|(name, value)| leaves(&join(key, name), value)).collect()
        }
        _ => vec![key.to_owned()],
    }
}

/// True if one of two dotted keys equals the other or lies inside its table.
pub(crate) fn overlap(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(text: &str) -> String {
        parse_toml(text, "x.toml").unwrap_err().to_string()
    }

    #[test]
    fn syntax_errors_have_line_and_column_and_one_line() {
        assert!(error("schema = 1\nlink = { rate = }\n").starts_with("x.toml:2:17: "));
        assert!(error("a = 1\na = 2\n").starts_with("x.toml:2:1: duplicate key"));
        assert!(error("a = \"ü\" x").starts_with("x.toml:1:9: "));
        assert!(!error("a = \"\n\"").contains('\n'));
    }

    #[test]
    fn dates_and_numbers_that_are_not_finite_are_refused() {
        assert_eq!(error("[channel]\np_e = nan"), "channel.p_e = NaN: must be a finite number");
        assert_eq!(error("a = [1.0, -inf]"), "a[1] = -inf: must be a finite number");
        assert_eq!(error("title = 1979-05-27"), "title = 1979-05-27: no key takes a date");
    }

    #[test]
    fn deep_nesting_is_an_error_or_a_value_but_no_overflow() {
        for depth in [50, 100_000] {
            let text = format!("a = {}{}", "[".repeat(depth), "]".repeat(depth));
            let _ = parse_toml(&text, "x.toml");
            let _ = parse_value(&text[4..]);
        }
    }

    #[test]
    fn values_of_the_command_line() {
        for (text, value) in [
            ("reno", json!("reno")),
            ("24", json!(24)),
            (" .5", json!(0.5)),
            ("1e-3", json!(1e-3)),
            ("true", json!(true)),
            ("\"a b\"", json!("a b")),
            ("[1, 2]", json!([1, 2])),
            ("nan", json!("nan")),
            ("1979-05-27", json!("1979-05-27")),
            ("1\nb = 2", json!("1\nb = 2")),
            ("", json!("")),
        ] {
            assert_eq!(parse_value(text), value, "{text}");
        }
    }

    #[test]
    fn setting_merges_tables_and_null_removes() {
        let mut root = parse_toml("channel = { model = \"iid\", p_e = 0.1 }", "").unwrap();
        set(&mut root, "channel", &json!({ "model": "markov", "fd_t": 0.01 })).unwrap();
        set(&mut root, "channel.p_e", &Value::Null).unwrap();
        set(&mut root, "link.queue.limit", &json!("5 packets")).unwrap();
        let expected = json!({
            "channel": { "model": "markov", "fd_t": 0.01 },
            "link": { "queue": { "limit": "5 packets" } },
        });
        assert_eq!(Value::Object(root.clone()), expected);
        let error = set(&mut root, "channel.model.x", &json!(1)).unwrap_err().to_string();
        assert_eq!(error, "channel.model = \"markov\": must be a table, to set channel.model.x");
        assert!(set(&mut root, "link..rate", &json!(1)).is_err());
    }

    #[test]
    fn keys_overlap_when_one_holds_the_other() {
        assert!(overlap("channel", "channel.p_e") && overlap("a.b", "a.b"));
        assert!(!overlap("channel.p_e", "channel.p_error"));
        assert_eq!(
            leaves("channel", &json!({ "model": "iid", "q": { "l": 1 } })),
            ["channel.model", "channel.q.l"]
        );
    }
}
