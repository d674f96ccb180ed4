//! Errors of traces and tables, and helpers for reading their lines.

use crossfade_core::{SimTime, excerpt};
use thiserror::Error;

/// Error in a trace or table, in one line: the line number, the text found and the allowed values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}{problem}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct TraceError {
    /// Number of the faulty line, counted from 1; `None` if the error concerns the whole text.
    pub line: Option<usize>,
    /// Description of the problem, with the allowed values.
    pub problem: String,
}

impl TraceError {
    /// Creates an error in the line with this number, counted from 1.
    pub fn at(line: usize, problem: impl Into<String>) -> Self {
        Self { line: Some(line), problem: problem.into() }
    }

    /// Creates an error that concerns the whole text.
    pub fn nowhere(problem: impl Into<String>) -> Self {
        Self { line: None, problem: problem.into() }
    }
}

/// Lines of a text that are neither empty nor comments, each with its number from 1. `#` starts a comment.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let content = |line: &'_ str| -> usize { line.find('#').unwrap_or(line.len()) };
    (1..)
        .zip(text.lines())
        .map(move |(number, line)| (number, line[..content(line)].trim()))
        .filter(|(_, line)| !line.is_empty())
}

/// Words of a line, separated by commas, semicolons or white space.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ' ', '\t', ';']).filter(|word| !word.is_empty())
}

/// Numbers of a line that has one for each of `columns`, separated by commas or white space.
pub(super) fn numbers<const N: usize>(
    line: usize,
    text: &str,
    columns: [&str; N],
) -> Result<[f64; N], TraceError> {
    let expected = || format!("{}: must be {N} numbers: {}", excerpt(text), columns.join(", "));
    let mut numbers = [0.0; N];
    let mut words = words(text);
    for (number, column) in numbers.iter_mut().zip(columns) {
        let word = words.next().ok_or_else(|| TraceError::at(line, expected()))?;
        let parsed = word.parse().ok().filter(|x: &f64| x.is_finite());
        let refuse = || TraceError::at(line, format!("{column} = {}: must be a number", excerpt(word)));
        *number = parsed.ok_or_else(refuse)?;
    }
    match words.next() {
        None => Ok(numbers),
        Some(_) => Err(TraceError::at(line, expected())),
    }
}

/// Checks that the time of a row is above that of the row before.
///
/// # Errors
/// If it is not.
pub fn increasing(line: usize, now: SimTime, before: SimTime) -> Result<(), TraceError> {
    if now > before {
        return Ok(());
    }
    let (now, before) = (now.as_secs_f64(), before.as_secs_f64());
    Err(TraceError::at(line, format!("time_s = {now:?}: must be above {before:?}, the time before it")))
}

/// True if `text` is a header, a line of column names: if it begins with an ASCII letter.
pub fn is_header(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Time of a table from a value in `seconds` in the given column.
///
/// # Errors
/// If the time is negative or above 3.2e9 s (100 years).
pub fn time(line: usize, column: &str, seconds: f64) -> Result<SimTime, TraceError> {
    if (0.0..=3.2e9).contains(&seconds) {
        return Ok(SimTime::from_secs_f64(seconds));
    }
    Err(TraceError::at(line, format!("{column} = {seconds:?}: must be between 0 and 3.2e9")))
}
