//! Error of a scenario: one line with the key, its value and the allowed values.

use serde_json::Value;
use std::fmt;

/// Error in a scenario. Its `Display` is always one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// Dotted key with the error (`channel.p_e`), or place in a file (`name.toml:3:8`).
    pub key: String,
    /// Value found at the key, as shortened JSON; `None` if there is none.
    pub value: Option<String>,
    /// Description of the problem, or of the allowed values.
    pub problem: String,
    /// Axis values of the sweep point with the problem; `None` if the problem concerns all points.
    pub at: Option<String>,
}

impl ScenarioError {
    /// Error of a key whose value is not allowed.
    pub fn value(key: impl Into<String>, value: &Value, problem: impl Into<String>) -> Self {
        Self { key: key.into(), value: Some(shorten(&value.to_string())), problem: problem.into(), at: None }
    }

    /// Error of a key, or of a place in a file, regardless of its value.
    pub fn key(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { key: key.into(), value: None, problem: problem.into(), at: None }
    }

    /// Error of a word that is not among the allowed ones of a key, with the nearest allowed one.
    pub fn word(key: &str, word: &str, allowed: &[&str]) -> Self {
        let hint = nearest(word, allowed).map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
        Self::value(key, &word.into(), format!("must be one of {}{hint}", allowed.join(", ")))
    }

    /// Error of a missing required key; `expected` describes its value.
    pub(crate) fn missing(key: &str, expected: &str) -> Self {
        Self::key(key, format!("missing; {expected}"))
    }

    /// Error of a key that contradicts `other`, with the reason.
    pub(crate) fn contradiction(key: &str, other: &str, reason: impl fmt::Display) -> Self {
        Self::key(format!("{key} contradicts {other}"), reason.to_string())
    }

    /// Error of a key that the schema lacks, with the nearest allowed one; `allowed` are the keys of its table
    /// `prefix`.
    pub(crate) fn unknown(prefix: &str, name: &str, allowed: &[&str]) -> Self {
        let problem = match nearest(name, allowed) {
            Some(near) => format!("{MEANT}{}?", join(prefix, near)),
            None => "unknown key".to_owned(),
        };
        Self::key(join(prefix, name), format!("{problem} (allowed: {})", allowed.join(", ")))
    }
}

impl ScenarioError {
    /// Moves an error to the table at `place`: prefixes its key, and the suggested key.
    pub(crate) fn inside(&self, place: &str) -> Self {
        let problem = self.problem.replace(MEANT, &format!("{MEANT}{place}."));
        Self { key: join(place, &self.key), problem, ..self.clone() }
    }
}

/// Text in front of the suggested key in an error of an unknown key.
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

/// Dotted key of `name` in `table`.
pub(crate) fn join(table: &str, name: &str) -> String {
    if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }
}

/// Candidate that `word` probably misspells; `None` if none is similar enough.
pub(crate) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    candidates
        .iter()
        .map(|candidate| (likeness(word, candidate), *candidate))
        .filter(|(likeness, _)| *likeness > 0.6)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Similarity of two words between 0 and 1: the larger of two measures, of which one favours a common beginning, and
/// the other tolerates a missing or swapped letter. Characters that join words do not count.
fn likeness(a: &str, b: &str) -> f64 {
    let [a, b] = [a, b].map(|word| word.replace(['_', '-'], ""));
    strsim::jaro_winkler(&a, &b).max(strsim::normalized_damerau_levenshtein(&a, &b))
}

/// Maximum length of a problem in characters, longer than the list of all metrics.
const LONGEST_PROBLEM: usize = 4_000;

/// Shortens a long value to keep the line readable.
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
