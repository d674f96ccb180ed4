//! What the operating system refuses: a file of its own, since most files of the crate return it.

use std::io;
use thiserror::Error;

/// A call that the operating system refused, and why.
#[derive(Debug, Error)]
#[error("cannot {action}: {cause}")]
pub struct LiveError {
    /// What was tried, to follow "cannot".
    pub action: &'static str,
    /// What it said.
    #[source]
    pub cause: io::Error,
}

/// Says what was tried when it failed.
pub(crate) trait Trying<T> {
    /// `action` follows "cannot".
    fn trying_to(self, action: &'static str) -> Result<T, LiveError>;
}

impl<T, E: Into<io::Error>> Trying<T> for Result<T, E> {
    fn trying_to(self, action: &'static str) -> Result<T, LiveError> {
        self.map_err(|cause| LiveError { action, cause: cause.into() })
    }
}
