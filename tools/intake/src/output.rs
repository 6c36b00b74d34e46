//! Writing: results to standard output, for people or for programs; everything else to standard error.
//!
//! What callers sent may hold control characters that a terminal would obey: they never get to one.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use console::{Term, measure_text_width, truncate_str};
use serde::Serialize;

/// Writes a line of what surrounds a result to standard error.
pub(crate) fn note(text: &str) {
    // Nobody reads it when standard error has been closed.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// For whom results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Tables, times readable.
    Table,
    /// One JSON value a line.
    Json,
}

impl Format {
    pub(crate) fn is_json(self) -> bool {
        self == Self::Json
    }
}

/// Writes a line to standard output, as it is.
///
/// # Errors
/// Standard output is closed.
pub(crate) fn line(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}").and_then(|()| stdout.flush()).context("Cannot write to standard output")
}

/// Writes a value to standard output as one line of JSON.
///
/// # Errors
/// Standard output is closed.
pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    line(&serde_json::to_string(value)?)
}

/// `text` with its control characters spelled out, so that it takes one line and moves no cursor.
pub(crate) fn escape_control(text: &str) -> String {
    let spelled_out = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut escape_control = String::with_capacity(text.len());
    for c in text.chars() {
        if spelled_out(c) { escape_control.extend(c.escape_default()) } else { escape_control.push(c) }
    }
    escape_control
}

/// Rows under a heading, aligned by the width that a terminal gives their texts. It can be printed as it grows; columns
/// then only become wider.
pub(crate) struct Table {
    pending: Vec<Vec<String>>,
    widths: Vec<usize>,
    /// How wide a line may be; what is longer is cut.
    limit: Option<usize>,
}

impl Table {
    pub(crate) fn with_heading<const N: usize>(heading: [&str; N]) -> Self {
        Self { pending: vec![heading.map(ToOwned::to_owned).to_vec()], widths: vec![0; N], limit: None }
    }

    /// A table of names and values, without a heading.
    pub(crate) fn of_members() -> Self {
        Self { pending: Vec::new(), widths: vec![0; 2], limit: None }
    }

    /// On a terminal, each row takes one line, even if something is cut off its end.
    pub(crate) fn cut_to_terminal(mut self) -> Self {
        let stdout = Term::stdout();
        self.limit = stdout.is_term().then(|| usize::from(stdout.size().1));
        self
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.pending.push(cells.map(escape_control).to_vec());
    }

    /// Writes the rows that were added since the last time to standard output.
    ///
    /// # Errors
    /// Standard output is closed.
    pub(crate) fn print(&mut self) -> Result<()> {
        self.lines().iter().try_for_each(|row| line(row))
    }

    fn lines(&mut self) -> Vec<String> {
        let rows = std::mem::take(&mut self.pending);
        for row in &rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(measure_text_width(cell));
            }
        }
        rows.iter().map(|row| self.aligned(row)).collect()
    }

    fn aligned(&self, row: &[String]) -> String {
        let mut text = String::new();
        for (cell, width) in row.iter().zip(&self.widths) {
            let missing = width.saturating_sub(measure_text_width(cell)).saturating_add(2);
            text.push_str(cell);
            text.extend(std::iter::repeat_n(' ', missing));
        }
        let text = text.trim_end();
        self.limit.map_or_else(|| text.to_owned(), |limit| truncate_str(text, limit, "…").into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_the_width_on_a_terminal_and_only_become_wider() {
        let mut table = Table::with_heading(["CUSTOMER", "EVENT"]);
        table.row(["ada", "login"]);
        table.row(["李小龙", "logout"]);
        assert_eq!(table.lines(), ["CUSTOMER  EVENT", "ada       login", "李小龙    logout"]);
        table.row(["b", "c"]);
        assert_eq!(table.lines(), ["b         c"]);
    }

    #[test]
    fn control_characters_do_not_reach_a_terminal() {
        assert_eq!(escape_control("a\u{1b}[2Jb\nc\u{202e}"), "a\\u{1b}[2Jb\\nc\\u{202e}");
    }
}
