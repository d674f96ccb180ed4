//! Errors of the operating system: a file of its own, since most files of the crate return it.

use std::io;
use thiserror::Error;

/// A call that the operating system refused, and its reason.
#[derive(Debug, Error)]
#[error("cannot {action}: {cause}")]
pub struct LiveError {
    /// Attempted action, to follow "cannot".
    pub action: &'static str,
    /// Error of the operating system.
    #[source]
    pub cause: io::Error,
}

/// Adds the attempted action to an error.
pub(crate) trait Trying<T> {
    /// Converts the error; `action` follows "cannot".
    fn trying_to(self, action: &'static str) -> Result<T, LiveError>;
}

impl<T, E: Into<io::Error>> Trying<T> for Result<T, E> {
    fn trying_to(self, action: &'static str) -> Result<T, LiveError> {
        self.map_err(|cause| LiveError { action, cause: cause.into() })
    }
}
