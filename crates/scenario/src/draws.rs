//! Draws of parameters (`run.draws`): a table with one row of key values for each run.

use crate::document::{overlap, parse_value, set};
use crate::error::ScenarioError;
use crate::files::file_and_class;
use crate::schema::{lookup, plan_keys};
use crossfade_core::excerpt;
use crossfade_link::trace::TraceError;
use crossfade_link::trace::error::lines;
use serde_json::{Map, Value};
use std::str::FromStr;
use std::sync::Arc;

/// Key that names the file of the draw table.
pub(crate) const KEY: &str = "run.draws";

/// Draw table: values of some keys of a scenario, with one row for each draw.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DrawTable {
    keys: Arc<[String]>,
    rows: Arc<[Vec<Value>]>,
}

impl DrawTable {
    /// Number of draws (rows) in the table.
    pub(crate) fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// First key of the table that equals `other`, contains it, or lies in it.
    pub(crate) fn touches(&self, other: &str) -> Option<&str> {
        self.keys.iter().map(String::as_str).find(|key| overlap(key, other))
    }

    /// Sets the keys of the table in `document` to the values of draw `number`, counted from 0.
    ///
    /// # Errors
    /// A key leads through something that is not a table.
    pub(crate) fn set(&self, document: &mut Map<String, Value>, number: u64) -> Result<(), ScenarioError> {
        let Some(row) = self.rows.get(number as usize) else {
            return Err(ScenarioError::key(KEY, format!("the table has no draw {number}")));
        };
        self.keys.iter().zip(row).try_for_each(|(key, value)| set(document, key, value))
    }
}

/// Comma-separated words of a line, without quotes.
fn cells(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ';', '\t']).map(|cell| cell.trim().trim_matches('"').trim())
}

/// Checks that the draw table may set `key`, and returns it.
fn checked(key: &str) -> Result<String, String> {
    let schema = lookup(key).map_err(|error| error.to_string())?;
    if plan_keys().iter().any(|plan| plan == key)
        || key == KEY
        || key == "schema"
        || key.starts_with("figure.")
    {
        return Err(format!("{key} holds for the whole plan: no draw can set it"));
    }
    if schema["x-file"] == true {
        return Err(format!("{key} names a file: no draw can set it"));
    }
    Ok(key.to_owned())
}

impl FromStr for DrawTable {
    type Err = TraceError;

    /// Reads a draw table. The first line names keys, separated by commas; each further line gives their values; `#`
    /// starts a comment.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let mut lines = lines(text);
        let (number, header) = lines
            .next()
            .ok_or_else(|| TraceError::nowhere("the table is empty: its first line names keys"))?;
        let keys: Vec<String> = cells(header)
            .map(|key| checked(key).map_err(|problem| TraceError::at(number, problem)))
            .collect::<Result<_, _>>()?;
        for (i, key) in keys.iter().enumerate() {
            if let Some(other) = keys[i + 1..].iter().find(|other| overlap(key, other)) {
                return Err(TraceError::at(number, format!("{key} and {other} set the same key")));
            }
        }
        let mut rows = Vec::new();
        for (number, text) in lines {
            let words: Vec<&str> = cells(text).collect();
            if words.len() != keys.len() {
                let problem = format!("{}: must be {} values, one for each key", excerpt(text), keys.len());
                return Err(TraceError::at(number, problem));
            }
            let value = |(key, word): (&String, &str)| match parse_value(word) {
                Value::String(word) if word.is_empty() => Err(format!("{key} has no value")),
                Value::Object(_) | Value::Array(_) => {
                    Err(format!("{key} = {}: must be a number, a word or a quantity", excerpt(word)))
                }
                Value::String(word) if file_and_class(&word).is_some() => {
                    Err(format!("{key} = {}: no draw can name a file", excerpt(&word)))
                }
                value => Ok(value),
            };
            let row = keys.iter().zip(words).map(value).collect::<Result<_, _>>();
            rows.push(row.map_err(|problem| TraceError::at(number, problem))?);
        }
        if rows.is_empty() {
            return Err(TraceError::nowhere("the table has no draws: each line below the first is one"));
        }
        Ok(Self { keys: keys.into(), rows: rows.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_draw_sets_its_keys() {
        let table: DrawTable =
            "# fitted\nchannel.p_e, link.rate\n0.01, 1.5 Mbit/s\n\n2 %,\"2 Mbit/s\"\n".parse().unwrap();
        assert_eq!((table.len(), table.touches("link"), table.touches("tcp")), (2, Some("link.rate"), None));
        let mut document =
            json!({ "link": { "rate": "9 Mbit/s", "delay": "1 ms" } }).as_object().unwrap().clone();
        table.set(&mut document, 1).unwrap();
        let expected =
            json!({ "link": { "rate": "2 Mbit/s", "delay": "1 ms" }, "channel": { "p_e": "2 %" } });
        assert_eq!(Value::Object(document.clone()), expected);
        assert_eq!(
            table.set(&mut document, 2).unwrap_err().to_string(),
            "run.draws: the table has no draw 2"
        );
    }

    #[test]
    fn what_is_no_table_of_draws_names_its_line() {
        for (text, said) in [
            ("# nothing\n", "the table is empty: its first line names keys"),
            ("channel.p_e\n", "the table has no draws: each line below the first is one"),
            ("\nchannel.p_x\n1\n", "line 2: channel.p_x: unknown key; did you mean channel.p_e?"),
            ("run.runs\n1\n", "line 1: run.runs holds for the whole plan: no draw can set it"),
            ("run.draws\n1\n", "line 1: run.draws holds for the whole plan: no draw can set it"),
            ("channel.file\nx\n", "line 1: channel.file names a file: no draw can set it"),
            ("link,link.rate\n1,2\n", "line 1: link and link.rate set the same key"),
            ("channel.p_e,link.rate\n0.1\n", "line 2: \"0.1\": must be 2 values, one for each key"),
            ("channel.p_e,link.rate\n0.1,\n", "line 2: link.rate has no value"),
            ("link.rate\n[1]\n", "line 2: link.rate = \"[1]\": must be a number, a word or a quantity"),
            ("tcp.congestion\nmine.py\n", "line 2: tcp.congestion = \"mine.py\": no draw can name a file"),
        ] {
            let found = text.parse::<DrawTable>().unwrap_err().to_string();
            assert!(found.starts_with(said), "{text:?}: {found}");
        }
    }
}
