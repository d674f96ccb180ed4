//! Mutator of scenarios that knows the keys: it sets, removes, copies and sweeps them. Changes of single bytes would
//! mostly give invalid TOML or unknown keys, which the parser rejects at once.

use crate::draw::Draw;
use crossfade_scenario::schema;
use serde_json::Value as Schema;
use std::sync::LazyLock;
use toml::{Table, Value};

/// A key or table of a scenario with its schema; `*` in the path stands for any name.
struct Key {
    path: Vec<String>,
    schema: Schema,
}

static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let mut keys = Vec::new();
    collect(&schema(), &mut Vec::new(), &mut keys);
    keys
});

fn collect(schema: &Schema, path: &mut Vec<String>, keys: &mut Vec<Key>) {
    let mut inner = |name: &str, schema| {
        path.push(name.to_owned());
        collect(schema, path, keys);
        path.pop();
    };
    if let Some(properties) = schema["properties"].as_object() {
        properties.iter().for_each(|(name, schema)| inner(name, schema));
    } else if schema["additionalProperties"].is_object() {
        inner("*", &schema["additionalProperties"]);
    } else if let Some(alternatives) = schema["anyOf"].as_array() {
        alternatives.iter().for_each(|schema| collect(schema, path, keys));
        return;
    }
    if !path.is_empty() {
        keys.push(Key { path: path.clone(), schema: schema.clone() });
    }
}

/// TOML values of wrong types, with wrong units, and far out of range.
const ODD: [&str; 32] = [
    "-1",
    "0",
    "1",
    "2.5",
    "1e308",
    "-1e308",
    "1e-308",
    "9223372036854775807",
    "nan",
    "inf",
    "true",
    "''",
    "'x'",
    "[]",
    "{}",
    "[[]]",
    "[1, 1]",
    "'0'",
    "'1 %'",
    "'101 %'",
    "'1e308 s'",
    "'-1 ms'",
    "'1 ns'",
    "'0 slots'",
    "'1e30 Gbit/s'",
    "'1 bit/s'",
    "'0 B'",
    "'65535 B'",
    "'unlimited'",
    "'1e308 dB'",
    "'log:1:10:3'",
    "1979-05-27",
];
const NUMBERS: [&str; 16] =
    ["0", "1", "2", "3", "4", "5", "8", "10", "17", "64", "100", "1000", "65536", "0.5", "0.01", "1e6"];
/// Texts for keys that take any text: names of flows, metrics, axes and files.
const WORDS: [&str; 12] = [
    "a",
    "b",
    "others",
    "goodput_bps",
    "rtt_mean_s",
    "flow:a.goodput_bps",
    "timeouts",
    "channel.p_e",
    "tcp.w_max",
    "x.csv",
    "mine.py",
    "a,b",
];
const RANGES: [&str; 6] = ["1:4:1", "0.1:0.3:0.1", "log:0.001:0.1:3", "1:9:0", "4:1:1", "reno,cubic"];

impl Draw {
    fn parsed(&mut self, texts: &[&str]) -> Value {
        self.of(texts).parse().unwrap_or(Value::Boolean(false))
    }

    /// A value that the schema allows, or in one of eight cases an odd one.
    fn value(&mut self, schema: &Schema) -> Value {
        if self.below(8) == 0 {
            return self.parsed(&ODD);
        }
        if schema["x-file"] == true {
            return Value::String(format!("file{}", self.below(10)));
        }
        // Examples in the schema are quoted; their number may be replaced.
        let examples: Vec<&str> = schema["x-expects"]
            .as_str()
            .map_or_else(Vec::new, |text| text.split('"').skip(1).step_by(2).collect());
        if !examples.is_empty() && self.below(3) > 0 {
            let text = self.of(&examples);
            let unit = text.find(' ').map_or("", |at| &text[at..]);
            let is_kept = unit.is_empty() || self.below(3) == 0;
            return Value::String(if is_kept {
                (*text).to_owned()
            } else {
                format!("{}{unit}", self.of(&NUMBERS))
            });
        }
        if let Some(alternatives) = schema["anyOf"].as_array() {
            let alternative = self.of(alternatives);
            return self.value(alternative);
        }
        let words = schema["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
        if !words.is_empty() {
            return Value::String(self.of(words)["const"].as_str().unwrap_or_default().to_owned());
        }
        match schema["type"].as_str() {
            Some("boolean") => Value::Boolean(self.below(2) == 0),
            Some("array") => {
                let count = self.below(5);
                Value::Array((0..count).map(|_| self.value(&schema["items"])).collect())
            }
            Some("integer" | "number") => {
                let limits = ["minimum", "maximum", "exclusiveMinimum"].map(|name| schema[name].as_f64());
                match self.of(&limits) {
                    Some(limit) if self.below(2) == 0 => Value::Float(*limit),
                    Some(limit) => Value::Integer((*limit as i64).saturating_add(self.below(3) as i64 - 1)),
                    None => self.parsed(&NUMBERS),
                }
            }
            Some("object") => self.table(schema),
            _ => Value::String((*self.of(&WORDS)).to_owned()),
        }
    }

    /// A table with its required keys and some others.
    fn table(&mut self, schema: &Schema) -> Value {
        let mut table = Table::new();
        if let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty())
        {
            let needed = |name: &String| {
                schema["required"].as_array().is_some_and(|names| names.iter().any(|other| other == name))
            };
            // One in this many of the optional keys is set.
            let sparse = *self.of(&[1, 2, properties.len()]);
            for (name, inner) in properties {
                if needed(name) || self.below(sparse) == 0 {
                    let value = self.value(inner);
                    table.insert(name.clone(), value);
                }
            }
        }
        Value::Table(table)
    }

    /// A random key, and its path in `scenario`; a name of the user's is mostly one that exists.
    fn key(&mut self, scenario: &Table) -> (Vec<String>, &'static Key) {
        let mut key = self.of(&KEYS);
        // Most keys belong to tables of other kinds of scenarios, so draw again while the table is missing.
        for _ in 0..self.below(12) {
            let above = &key.path[..key.path.len() - 1];
            if above.is_empty() || above.iter().any(|name| name == "*") || find(scenario, above).is_some() {
                break;
            }
            key = self.of(&KEYS);
        }
        let mut path = key.path.clone();
        for at in 0..path.len() {
            if path[at] == "*" {
                let there = find(scenario, &path[..at]).and_then(Value::as_table);
                let names: Vec<&String> = there.map_or_else(Vec::new, |table| table.keys().collect());
                let is_new = names.is_empty() || self.below(8) == 0;
                path[at] =
                    if is_new { ["a", "b"][self.below(2)].to_owned() } else { (*self.of(&names)).clone() };
            }
        }
        (path, key)
    }

    /// Path of a random existing value or table.
    fn place(&mut self, scenario: &Table) -> Vec<String> {
        let (mut path, mut table) = (Vec::new(), scenario);
        while !table.is_empty() {
            let (name, value) = table.iter().nth(self.below(table.len())).expect("below their number");
            path.push(name.clone());
            match value {
                Value::Table(inner) if self.below(6) > 0 => table = inner,
                _ => break,
            }
        }
        path
    }

    fn change(&mut self, scenario: &mut Table) {
        match self.below(18) {
            0 | 1 => {
                let path = self.place(scenario);
                if let Some((last, tables)) = path.split_last() {
                    table_at(scenario, tables).remove(last);
                }
            }
            2 | 3 => self.sweep(scenario),
            4 => {
                let from = self.place(scenario);
                let (to, _) = self.key(scenario);
                if let Some(value) = find(scenario, &from).cloned() {
                    put(scenario, &to, value);
                }
            }
            5 | 6 => self.set_together(scenario),
            7..=9 => {
                let path = self.place(scenario);
                if let Some(mut value) = find(scenario, &path).cloned() {
                    self.nudge(&mut value);
                    put(scenario, &path, value);
                }
            }
            _ => {
                let (path, key) = self.key(scenario);
                let value = self.value(&key.schema);
                put(scenario, &path, value);
            }
        }
    }

    /// Sets several keys of one table, which must be consistent.
    fn set_together(&mut self, scenario: &mut Table) {
        let (mut path, key) = self.key(scenario);
        let above = key.path.len() - 1;
        let is_beside =
            |other: &&Key| other.path.len() == above + 1 && other.path[..above] == key.path[..above];
        let beside: Vec<&Key> = KEYS.iter().filter(is_beside).collect();
        for _ in 0..2 + self.below(4) {
            let other = *self.of(&beside);
            let value = self.value(&other.schema);
            path[above].clone_from(&other.path[above]);
            put(scenario, &path, value);
        }
    }

    /// Changes an existing value a little or a lot.
    fn nudge(&mut self, value: &mut Value) {
        match value {
            Value::Integer(number) => *number = self.number_for(*number as f64) as i64,
            Value::Float(number) => *number = self.number_for(*number),
            Value::Boolean(flag) => *flag = !*flag,
            Value::String(text) => {
                if let Some(other) = self.quantity_for(text) {
                    *text = other;
                }
            }
            Value::Array(items) if !items.is_empty() => {
                let at = self.below(items.len());
                match self.below(4) {
                    0 => drop(items.remove(at)),
                    1 => items.push(items[at].clone()),
                    _ => self.nudge(&mut items[at]),
                }
            }
            _ => {}
        }
    }

    /// Adds an axis of one or two keys to the sweep.
    fn sweep(&mut self, scenario: &mut Table) {
        let keys: Vec<_> = (0..1 + self.below(4) / 3).map(|_| self.key(scenario)).collect();
        let name = keys.iter().map(|(path, _)| path.join(".")).collect::<Vec<_>>().join(",");
        let count = self.below(4);
        let values = if keys.len() > 1 {
            let step =
                |draw: &mut Self| Value::Array(keys.iter().map(|(_, key)| draw.value(&key.schema)).collect());
            Value::Array((0..count).map(|_| step(self)).collect())
        } else if self.below(3) == 0 {
            Value::String((*self.of(&RANGES)).to_owned())
        } else {
            Value::Array((0..count).map(|_| self.value(&keys[0].1.schema)).collect())
        };
        put(scenario, &["sweep".to_owned(), name], values);
    }
}

fn find<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let value = table.get(first)?;
    if rest.is_empty() { Some(value) } else { find(value.as_table()?, rest) }
}

/// The table at `path`; anything else there is replaced by a new table.
fn table_at<'a>(mut table: &'a mut Table, path: &[String]) -> &'a mut Table {
    for name in path {
        if !table.get(name).is_some_and(Value::is_table) {
            table.insert(name.clone(), Value::Table(Table::new()));
        }
        table = table.get_mut(name).and_then(Value::as_table_mut).expect("just made");
    }
    table
}

fn put(scenario: &mut Table, path: &[String], value: Value) {
    if let Some((last, tables)) = path.split_last() {
        table_at(scenario, tables).insert(last.clone(), value);
    }
}

/// The scenario `text` with one to four changes determined by `seed`; `None` if it is no TOML, and in one of five
/// cases.
pub(crate) fn changed(text: &[u8], seed: u32) -> Option<String> {
    let mut draw = Draw(u64::from(seed));
    if draw.below(5) == 0 {
        return None;
    }
    let mut scenario: Table = std::str::from_utf8(text).ok()?.parse().ok()?;
    for _ in 0..1 + draw.below(4) {
        draw.change(&mut scenario);
    }
    toml::to_string(&scenario).ok()
}

/// The scenario `text` with one to four tables or values of `other`; `None` if either is no TOML, and in three of four
/// cases.
pub(crate) fn crossed(text: &[u8], other: &[u8], seed: u32) -> Option<String> {
    let mut draw = Draw(u64::from(seed));
    if draw.below(4) > 0 {
        return None;
    }
    let parsed = |text| std::str::from_utf8(text).ok()?.parse::<Table>().ok();
    let (mut scenario, other) = (parsed(text)?, parsed(other)?);
    for _ in 0..1 + draw.below(4) {
        let path = draw.place(&other);
        if let Some(value) = find(&other, &path).cloned() {
            put(&mut scenario, &path, value);
        }
    }
    toml::to_string(&scenario).ok()
}
