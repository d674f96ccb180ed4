//! The one error of a scenario: a line that names the key, its value and what is allowed.

use serde_json::Value;
use std::fmt;

/// What is wrong with a scenario. `Display` is one line whatever the input was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The dotted key (`channel.p_e`), or the place in a file (`name.toml:3:8`).
    pub key: String,
    /// The value found there, as JSON and shortened; `None` where there is none.
    pub value: Option<String>,
    /// What is allowed.
    pub problem: String,
    /// The values of the sweep's axes where the problem lies at one of its points only.
    pub at: Option<String>,
}

impl ScenarioError {
    /// A key whose value is not allowed.
    pub fn value(key: impl Into<String>, value: &Value, problem: impl Into<String>) -> Self {
        Self { key: key.into(), value: Some(shorten(&value.to_string())), problem: problem.into(), at: None }
    }

    /// A key, or a place, that is wrong by itself.
    pub fn key(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { key: key.into(), value: None, problem: problem.into(), at: None }
    }

    /// A word that is none of those allowed.
    pub fn word(key: &str, word: &str, allowed: &[&str]) -> Self {
        let hint = nearest(word, allowed).map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
        Self::value(key, &word.into(), format!("must be one of {}{hint}", allowed.join(", ")))
    }

    /// A key that has to be there.
    pub(crate) fn missing(key: &str, expected: &str) -> Self {
        Self::key(key, format!("missing; {expected}"))
    }

    /// A key that another one does not allow.
    pub(crate) fn contradiction(key: &str, other: &str, reason: impl fmt::Display) -> Self {
        Self::key(format!("{key} contradicts {other}"), reason.to_string())
    }

    /// A key that the schema does not know, among those `allowed` beside it; `prefix` is their table.
    pub(crate) fn unknown(prefix: &str, name: &str, allowed: &[&str]) -> Self {
        let problem = match nearest(name, allowed) {
            Some(near) => format!("{MEANT}{}?", join(prefix, near)),
            None => "unknown key".to_owned(),
        };
        Self::key(join(prefix, name), format!("{problem} (allowed: {})", allowed.join(", ")))
    }
}

impl ScenarioError {
    /// Moves an error of a table to the table at `place`: its key, and the key that was probably meant.
    pub(crate) fn inside(&self, place: &str) -> Self {
        let problem = self.problem.replace(MEANT, &format!("{MEANT}{place}."));
        Self { key: join(place, &self.key), problem, ..self.clone() }
    }
}

/// What stands before the key that was probably meant.
const MEANT: &str = "unknown key; did you mean ";

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        one_line(f, &shorten(&self.key))?;
        if let Some(value) = &self.value {
            f.write_str(" = ")?;
            one_line(f, value)?;
        }
        f.write_str(": ")?;
        one_line(f, &cut(&self.problem, LONGEST_PROBLEM))?;
        if let Some(at) = &self.at {
            f.write_str(" (at ")?;
            one_line(f, at)?;
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

/// `table` and `name` as one dotted key.
pub(crate) fn join(table: &str, name: &str) -> String {
    if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }
}

/// The candidate that `word` is probably a misspelling of, if any is near.
pub(crate) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    candidates
        .iter()
        .map(|candidate| (likeness(word, candidate), *candidate))
        .filter(|(likeness, _)| *likeness > 0.6)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Between 0 and 1. One measure likes words that begin alike, the other forgives a letter left out or
/// swapped. A letter more or less that only joins words counts for nothing.
fn likeness(a: &str, b: &str) -> f64 {
    let [a, b] = [a, b].map(|word| word.replace(['_', '-'], ""));
    strsim::jaro_winkler(&a, &b).max(strsim::normalized_damerau_levenshtein(&a, &b))
}

/// The most characters of what is said to be allowed: more than the list of all metrics has.
const LONGEST_PROBLEM: usize = 4_000;

/// Long values are cut: the line has to stay readable.
fn shorten(text: &str) -> String {
    cut(text, 80)
}

/// `text`, or its first `longest` characters.
fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Writes `text` with everything that could end or garble the line escaped.
fn one_line(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            write!(f, "{}", c.escape_default())?;
        } else {
            write!(f, "{c}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_line_names_key_value_and_what_is_allowed() {
        let error = ScenarioError::value("channel.p_e", &json!(1.5), "must be between 0 and 1");
        assert_eq!(error.to_string(), "channel.p_e = 1.5: must be between 0 and 1");
        assert_eq!(
            ScenarioError::unknown("link", "rat", &["delay", "packet_size", "queue", "rate"]).to_string(),
            "link.rat: unknown key; did you mean link.rate? (allowed: delay, packet_size, queue, rate)"
        );
        assert_eq!(
            ScenarioError::unknown("", "zzz", &["link", "tcp"]).to_string(),
            "zzz: unknown key (allowed: link, tcp)"
        );
    }

    #[test]
    fn whatever_the_text_it_stays_one_short_line() {
        let nasty = "a\nb\r\u{2028}\u{7}".repeat(200);
        let line = ScenarioError::value(nasty.clone(), &json!(nasty), "no").to_string();
        assert!(!line.contains(['\n', '\r', '\u{2028}', '\u{7}']), "{line}");
        assert!(line.len() < 1500, "{}", line.len());
    }
}
