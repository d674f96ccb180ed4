//! Errors of user input: parameters outside their range, and quoted excerpts of texts.

use std::borrow::Cow;
use std::fmt::Display;
use thiserror::Error;

/// Error of a parameter outside its range. The message is one line: parameter, value, and allowed values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{parameter} = {value}: must be {allowed}")]
pub struct OutOfRange {
    /// Name of the parameter as in the configuration.
    pub parameter: &'static str,
    /// Given value as text.
    pub value: String,
    /// Allowed values, worded to follow "must be".
    pub allowed: Cow<'static, str>,
}

impl OutOfRange {
    /// Error of `parameter` with the given value, naming the allowed ones.
    pub fn new(parameter: &'static str, value: impl Display, allowed: impl Into<Cow<'static, str>>) -> Self {
        Self { parameter, value: value.to_string(), allowed: allowed.into() }
    }

    /// Checks a condition on `parameter`: `Ok` if `holds`, otherwise the error of [`Self::new`].
    ///
    /// # Errors
    /// `holds` is false.
    pub fn unless(
        holds: bool,
        parameter: &'static str,
        value: impl Display,
        allowed: impl Into<Cow<'static, str>>,
    ) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::new(parameter, value, allowed)) }
    }
}

/// Greatest number of characters of a text that an error quotes.
const LONGEST: usize = 80;

/// `text` in quotation marks for an error message: control characters are escaped, and it is cut after 80 characters,
/// because one cell of a table may be as long as its file.
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
