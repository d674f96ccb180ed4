//! What a queue refuses.

use crate::limit::QueueLimit;
use std::fmt::Display;
use thiserror::Error;

/// A queue that cannot be. The message is one line: what was given, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{parameter} = {value}: must be {allowed}")]
pub struct QueueError {
    /// The parameter, named as in the queue's configuration.
    pub parameter: &'static str,
    /// What was given.
    pub value: String,
    /// What is allowed, to follow "must be".
    pub allowed: &'static str,
}

impl QueueError {
    /// `Ok` if `holds`.
    pub(crate) fn unless(
        holds: bool,
        parameter: &'static str,
        value: impl Display,
        allowed: &'static str,
    ) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self { parameter, value: value.to_string(), allowed }) }
    }

    /// Every packet passes through the queue, also when the transmitter is idle: it must hold one.
    pub(crate) fn unless_holds_a_packet(limit: QueueLimit) -> Result<(), Self> {
        Self::unless(limit.admits(0, 0, 1), "limit", limit, "at least one packet")
    }
}
