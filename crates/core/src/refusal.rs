//! Errors of input: parameters outside their range, and excerpts of texts.

use std::borrow::Cow;
use std::fmt::Display;
use thiserror::Error;

/// A parameter outside its range. The message is one line: what was given, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{parameter} = {value}: must be {allowed}")]
pub struct OutOfRange {
    /// The parameter, named as in the configuration.
    pub parameter: &'static str,
    /// The given value.
    pub value: String,
    /// Allowed values, as they follow "must be".
    pub allowed: Cow<'static, str>,
}

impl OutOfRange {
    /// Error of `parameter` with this value.
    pub fn new(parameter: &'static str, value: impl Display, allowed: impl Into<Cow<'static, str>>) -> Self {
        Self { parameter, value: value.to_string(), allowed: allowed.into() }
    }

    /// `Ok` if `holds`.
    ///
    /// # Errors
    /// It does not.
    pub fn unless(
        holds: bool,
        parameter: &'static str,
        value: impl Display,
        allowed: impl Into<Cow<'static, str>>,
    ) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::new(parameter, value, allowed)) }
    }
}

/// The most characters that an error quotes of a text.
const LONGEST: usize = 80;

/// `text` in quotation marks, control characters escaped, cut after 80 characters: a cell may be as long as its file.
pub fn excerpt(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_one_line_with_name_value_and_range() {
        let error = OutOfRange::unless(false, "p_e", 1.5, "between 0 and 1").unwrap_err();
        assert_eq!(error.to_string(), "p_e = 1.5: must be between 0 and 1");
        assert_eq!(OutOfRange::unless(true, "p_e", 0.5, "between 0 and 1"), Ok(()));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(excerpt("1,2"), "\"1,2\"");
        assert_eq!(excerpt("a\nb"), "\"a\\nb\"");
        assert_eq!(excerpt(&"ä".repeat(80)), format!("\"{}\"", "ä".repeat(80)));
        assert_eq!(excerpt(&"ä".repeat(5_000_000)), format!("\"{}\"...", "ä".repeat(80)));
    }
}
