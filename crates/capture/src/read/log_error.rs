//! Why a log is refused.

use thiserror::Error;

/// Error of a log, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LogError {
    /// A line that the format does not have.
    #[error("line {line}: {problem}")]
    Line {
        /// Line, counted from 1.
        line: usize,
        /// Problem.
        problem: String,
    },
    /// Something that the log as a whole lacks.
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
