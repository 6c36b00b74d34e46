//! Results as a table for people, or as lines of JSON for programs. Must not know what a row is
//! about.

use anyhow::Result;
use console::{Alignment, Term, measure_text_width, pad_str, truncate_str};
use serde::Serialize;

use super::{Format, print_json, print_line};
use operator::escape::escape_control;

/// What is between two columns.
const GAP: &str = "  ";

/// Results as rows with aligned columns, or as JSON. It may be printed while rows are still added:
/// columns then only grow.
pub(crate) struct PrintedTable {
    format: Format,
    /// The rows that are not printed yet.
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
    /// The longest line, in columns of the terminal. A longer one is cut.
    max_width: usize,
}

impl PrintedTable {
    pub(crate) fn new<const N: usize>(format: Format, heading: [&str; N]) -> Self {
        let heading = heading.map(ToOwned::to_owned).to_vec();
        Self {
            format,
            rows: vec![heading],
            widths: vec![0; N],
            max_width: usize::MAX,
        }
    }

    /// A table of names and values for people.
    pub(crate) fn without_heading() -> Self {
        Self {
            format: Format::Text,
            rows: Vec::new(),
            widths: vec![0; 2],
            max_width: usize::MAX,
        }
    }

    /// On a terminal, each row takes one line: what does not fit is cut.
    pub(crate) fn cut_to_terminal(mut self) -> Self {
        let stdout = Term::stdout();
        if stdout.is_term() {
            let (_rows, columns) = stdout.size();
            self.max_width = columns.into();
        }
        self
    }

    /// Adds a result: a row for people, or its JSON for programs, which is written at once.
    pub(crate) fn add<const N: usize>(
        &mut self,
        json: &impl Serialize,
        cells: [&str; N],
    ) -> Result<()> {
        match self.format {
            Format::Text => self.add_row(cells),
            Format::Json => print_json(json)?,
        }
        Ok(())
    }

    pub(crate) fn add_row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(escape_control).to_vec());
    }

    /// Writes the rows that were added since the last call.
    pub(crate) fn print(&mut self) -> Result<()> {
        if self.format == Format::Json {
            return Ok(());
        }
        for line in self.take_lines() {
            print_line(&line)?;
        }
        Ok(())
    }

    /// The lines of the rows that were added since the last call.
    pub(crate) fn take_lines(&mut self) -> Vec<String> {
        let rows = std::mem::take(&mut self.rows);
        for row in &rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = measure_text_width(cell).max(*width);
            }
        }
        rows.iter().map(|row| self.line(row)).collect()
    }

    fn line(&self, row: &[String]) -> String {
        let cells: Vec<_> = row
            .iter()
            .zip(&self.widths)
            .map(|(cell, width)| pad_str(cell, *width, Alignment::Left, None))
            .collect();
        let line = cells.join(GAP);
        truncate_str(line.trim_end(), self.max_width, "…").into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_is_as_wide_as_its_widest_cell_so_far() {
        let mut table = PrintedTable::new(Format::Text, ["CUSTOMER", "EVENT"]);
        table.add_row(["ada", "login"]);
        table.add_row(["李小龙", "logout"]);
        assert_eq!(
            table.take_lines(),
            ["CUSTOMER  EVENT", "ada       login", "李小龙    logout"]
        );
        table.add_row(["customer-17", "a"]);
        table.add_row(["b", "c"]);
        assert_eq!(table.take_lines(), ["customer-17  a", "b            c"]);
    }
}
