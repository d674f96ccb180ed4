//! Errors of a cell's configuration: a file of its own, since most files of the crate return them.

use crossfade_channel::ChannelError;
use crossfade_core::OutOfRange;
use thiserror::Error;

/// Error of an invalid cell configuration. The message is one line: parameter, value, and allowed values.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CellError {
    /// A number is outside its range; the parameter is named as in scenarios: `users`, `bins`, `levels`, ...
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The configuration of the fading channel is invalid.
    #[error(transparent)]
    Channel(#[from] ChannelError),
}

/// Returns the error of `parameter` outside its range.
pub(crate) fn out_of_range<T>(
    parameter: &'static str,
    value: impl std::fmt::Display,
    allowed: impl Into<std::borrow::Cow<'static, str>>,
) -> Result<T, CellError> {
    Err(OutOfRange::new(parameter, value, allowed).into())
}
