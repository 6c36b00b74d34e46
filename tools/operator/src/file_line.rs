//! A line of a file that an operator gives. Must not know what is in it.

/// The line without white space around it, and without the byte order mark with which some editors
/// begin a file. Files that were put together have it in other lines, too.
pub(crate) fn trimmed(line: &str) -> &str {
    line.trim_start_matches('\u{feff}').trim()
}
