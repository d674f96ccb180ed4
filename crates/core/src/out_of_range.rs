//! A parameter that cannot be.

use std::borrow::Cow;
use std::fmt::Display;
use thiserror::Error;

/// A parameter outside its range. The message is one line: what was given, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{parameter} = {value}: must be {allowed}")]
pub struct OutOfRange {
    /// The parameter, named as in the configuration.
    pub parameter: &'static str,
    /// What was given.
    pub value: String,
    /// What is allowed, to follow "must be".
    pub allowed: Cow<'static, str>,
}

impl OutOfRange {
    /// What to say of `parameter`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_one_line_with_name_value_and_range() {
        let error = OutOfRange::unless(false, "p_e", 1.5, "between 0 and 1").unwrap_err();
        assert_eq!(error.to_string(), "p_e = 1.5: must be between 0 and 1");
        assert_eq!(OutOfRange::unless(true, "p_e", 0.5, "between 0 and 1"), Ok(()));
    }
}
