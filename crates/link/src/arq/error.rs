//! What an ARQ link refuses.

use std::fmt::Display;
use thiserror::Error;

/// A link that cannot be. The message is one line: what was given, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{parameter} = {value}: must be {allowed}")]
pub struct ArqError {
    /// The parameter, named as in the configuration.
    pub parameter: &'static str,
    /// What was given.
    pub value: String,
    /// What is allowed, to follow "must be".
    pub allowed: &'static str,
}

impl ArqError {
    /// `Ok` if `holds`.
    pub(crate) fn unless(
        holds: bool,
        parameter: &'static str,
        value: impl Display,
        allowed: &'static str,
    ) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self { parameter, value: value.to_string(), allowed }) }
    }
}
