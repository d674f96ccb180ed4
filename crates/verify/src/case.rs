//! How one case of golden data came out: a file of its own, since every kind of golden data reports it.

/// How one case came out: a pattern of a trace, a cell of a table, an entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseReport {
    /// `FILE/CASE`.
    pub case: String,
    /// How many rows of golden data it has.
    pub rows: usize,
    /// Both numbers and how far they may be apart, where a case is a number.
    pub found: Option<String>,
    /// The first difference that is too large, in one line; `None` if there is none.
    pub difference: Option<String>,
}
