//! Results go to standard output, as tables or as JSON lines; everything else goes to standard
//! error. Must not know what a result means.
//!
//! Values that clients sent may hold control characters that a terminal would obey: tables and JSON
//! escape them. Commands in a text are as the operator types them: in the repository, in an unpacked
//! release, or installed.

use std::fs::{File, metadata};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, ensure};
use console::{Alignment, Term, measure_text_width, pad_str, truncate_str};
use operator::escape::{escape_control, to_json};
use serde::Serialize;

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people: tables and sentences.
    Text,
    /// For programs: one JSON value a line.
    Json,
}

impl Format {
    /// Writes a result that is one value: `text` for people, with its commands as the operator types
    /// them, and `json` for programs.
    pub(crate) fn print(self, text: &str, json: &impl Serialize) -> Result<()> {
        match self {
            Self::Text => print_line(&commands_as_typed(text)),
            Self::Json => print_json(json),
        }
    }
}

/// A number with what it counts, in the singular or the plural.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// Writes a line to standard error: a question, a warning, or what a command is doing.
pub(crate) fn note(text: &str) {
    let text = commands_as_typed(text);
    // The operator may have closed standard error. The result does not depend on it.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes a line to standard output.
pub(crate) fn print_line(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}")
        .and_then(|()| stdout.flush())
        .context("Cannot write to standard output")
}

/// Fails when standard output is `/dev/null`, which also stands in for a closed one (`>&-`): for what can be
/// printed only once.
pub(crate) fn refuse_lost_output() -> Result<()> {
    let stdout = std::io::stdout().as_fd().try_clone_to_owned();
    let stdout = stdout.and_then(|stdout| File::from(stdout).metadata());
    let stdout = stdout.context("Cannot write to standard output")?;
    let is_lost = metadata("/dev/null").is_ok_and(|null| null.rdev() == stdout.rdev());
    ensure!(!is_lost, "Standard output is closed, or is /dev/null.");
    Ok(())
}

/// Writes a value to standard output as one line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    print_line(&to_json(value)?)
}

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

/// The name that this program has in its own texts.
const NAME: &str = "cargo intake";

/// The text of a help with this program's name, wherever it stands, as the operator types it.
pub(crate) fn as_typed(text: &str) -> String {
    text.replace(NAME, own_name())
}

/// What the operator types to start this program.
pub(crate) fn own_name() -> &'static str {
    let program = std::env::current_exe().unwrap_or_default();
    let is_beside = |file: &str| {
        let folder = program.parent();
        folder.is_some_and(|folder| folder.join(file).is_file())
    };
    let is_in_release = is_beside("template.yaml");
    // Cargo's lock of the folder that it puts programs into.
    let is_in_target_folder = is_beside(".cargo-lock");
    if is_in_release {
        "./intake"
    } else if is_in_target_folder {
        NAME
    } else {
        "intake"
    }
}

/// The options of this command line that name the stack, each after a blank.
static STACK_OPTIONS: OnceLock<String> = OnceLock::new();

/// Has all commands in texts name the stack as this command line does.
pub(crate) fn name_stack_in_commands(options: String) {
    STACK_OPTIONS.get_or_init(|| options);
}

/// What the operator types to start this program for the same stack.
pub(crate) fn own_command() -> String {
    let stack = STACK_OPTIONS.get().map_or("", String::as_str);
    format!("{}{stack}", own_name())
}

/// `text` with the commands in backticks as the operator types them, for the same stack. The name stays
/// elsewhere: a value in the text may contain it, such as the name of a key.
pub(crate) fn commands_as_typed(text: &str) -> String {
    text.replace(&format!("`{NAME} "), &format!("`{} ", own_command()))
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
