//! Result of one case of golden data: a file of its own, since all kinds of golden data report it.

/// Result of one case: a pattern of a trace, a cell of a table, an entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseReport {
    /// Name of the case: `FILE/CASE`.
    pub case: String,
    /// Number of rows of golden data.
    pub rows: usize,
    /// Expected and found number with the tolerance, if the case is a number.
    pub found: Option<String>,
    /// First difference beyond the tolerance, in one line; `None` if there is none.
    pub difference: Option<String>,
}
