//! Errors of the operating system: a file of its own, since most files of the crate return it.

use std::io;
use thiserror::Error;

/// A call that the operating system has refused, and its reason.
#[derive(Debug, Error)]
#[error("cannot {action}: {cause}")]
pub struct LiveError {
    /// Attempted action, a phrase that follows "cannot".
    pub action: &'static str,
    /// Reason for which the operating system refused the call.
    #[source]
    pub cause: io::Error,
}

/// Conversion of a system error into [`LiveError`], with the attempted action.
pub(crate) trait Trying<T> {
    /// Converts the error; `action` follows "cannot".
    fn trying_to(self, action: &'static str) -> Result<T, LiveError>;
}

impl<T, E: Into<io::Error>> Trying<T> for Result<T, E> {
    fn trying_to(self, action: &'static str) -> Result<T, LiveError> {
        self.map_err(|cause| LiveError { action, cause: cause.into() })
    }
}
