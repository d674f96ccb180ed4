//! Reader of the lines of CSV tables: a file of its own, since three kinds of tables use it.

/// Lines of a CSV table that are neither empty nor comments (`#`): each with its line number, counted from 1, and its
/// fields.
pub(crate) fn table_lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    lines
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(line, text)| (line, text.split(',').map(str::trim).collect()))
}
