//! Errors of a cell's configuration: a file of its own, since most files of the crate return it.

use crossfade_channel::ChannelError;
use crossfade_core::OutOfRange;
use thiserror::Error;

/// Error of an invalid cell, in one line: the parameter, its value, and what is allowed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CellError {
    /// A number outside its range. Parameters are named as in scenarios: `users`, `bins`, `levels`, ...
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The channel is invalid.
    #[error(transparent)]
    Channel(#[from] ChannelError),
}

/// Error of a parameter outside its range.
pub(crate) fn out_of_range<T>(
    parameter: &'static str,
    value: impl std::fmt::Display,
    allowed: impl Into<std::borrow::Cow<'static, str>>,
) -> Result<T, CellError> {
    Err(OutOfRange::new(parameter, value, allowed).into())
}
