//! Errors in reading a log of another tool.

use thiserror::Error;

/// Error in reading a log; its text is one line for the user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LogError {
    /// A line does not have the format of the log.
    #[error("line {line}: {problem}")]
    Line {
        /// Line, counted from 1.
        line: usize,
        /// Text that names the value and what is allowed.
        problem: String,
    },
    /// The log as a whole is unusable, for the reason in this text.
    #[error("{0}")]
    Whole(String),
}

impl LogError {
    pub(super) fn at(line: usize, problem: impl Into<String>) -> Self {
        Self::Line { line, problem: problem.into() }
    }

    pub(super) fn whole(problem: impl Into<String>) -> Self {
        Self::Whole(problem.into())
    }
}
