//! Why a log is refused.

use thiserror::Error;

/// What is wrong with a log, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LogError {
    /// A line that the format does not have.
    #[error("line {line}: {problem}")]
    Line {
        /// Which line, counted from 1.
        line: usize,
        /// What is wrong.
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
