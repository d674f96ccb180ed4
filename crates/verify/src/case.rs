//! Result of one case of golden data: a file of its own, since all kinds of golden data report it.

/// Result of one case of golden data: a loss pattern of a trace, a cell of a table, or an entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseReport {
    /// Name of the case: `FILE/CASE`.
    pub case: String,
    /// Number of rows of golden data that were compared.
    pub rows: usize,
    /// Expected and found number with the tolerance, as text; `None` if the case is no single number.
    pub found: Option<String>,
    /// First difference beyond the tolerance, in one line; `None` if all rows agree.
    pub difference: Option<String>,
}
