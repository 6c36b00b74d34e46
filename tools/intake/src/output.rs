//! Results go to standard output, as tables or as JSON lines; everything else goes to standard
//! error.
//!
//! Values that clients sent may hold control characters that a terminal would obey: tables and JSON
//! escape them.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result};
use console::{Alignment, Term, measure_text_width, pad_str, truncate_str};
use serde::Serialize;

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people: tables and sentences.
    Table,
    /// For programs: one JSON value a line.
    Json,
}

impl Format {
    /// Writes a result that is one value: `text` for people, `json` for programs.
    pub(crate) fn print(self, text: &str, json: &impl Serialize) -> Result<()> {
        match self {
            Self::Table => print_line(text),
            Self::Json => print_json(json),
        }
    }
}

/// How often a long command says how far it is.
pub(crate) const NOTE_INTERVAL: Duration = Duration::from_secs(5);

/// What this program is called in its own texts.
const NAME: &str = "cargo intake";

/// A text of ours that names commands, as the operator can type them: in the repository, in an
/// unpacked release, or installed.
pub(crate) fn as_typed(text: &str) -> String {
    text.replace(NAME, own_name())
}

/// What the operator types to start this program.
pub(crate) fn own_name() -> &'static str {
    let program = std::env::current_exe().unwrap_or_default();
    let has = |folder: usize, file: &str| {
        let folder = program.ancestors().nth(folder);
        folder.is_some_and(|folder| folder.join(file).is_file())
    };
    // Cargo marks the folder in which it builds.
    match (has(1, "template.yaml"), has(2, "CACHEDIR.TAG")) {
        (true, _) => "./intake",
        (false, true) => NAME,
        (false, false) => "intake",
    }
}

/// A number of things, with its plural.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// Writes a line to standard error: questions, warnings, what a command is doing.
pub(crate) fn note(text: &str) {
    // What is quoted is a command of ours.
    let text = text.replace(&format!("`{NAME} "), &format!("`{} ", own_name()));
    // Standard error may be closed; the result does not depend on it.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes a line to standard output.
pub(crate) fn print_line(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}")
        .and_then(|()| stdout.flush())
        .context("Cannot write to standard output")
}

/// Writes a value to standard output as one line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    print_line(&to_json(value)?)
}

/// A value as one line of JSON, of which a terminal obeys no character. The ASCII control
/// characters are escaped in any JSON.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(value)?;
    Ok(escape(&json, is_obeyed_beyond_ascii, |c| {
        format!("\\u{:04x}", u32::from(c))
    }))
}

/// `text` with its control characters escaped, so that it takes one line and cannot move the
/// cursor.
pub(crate) fn escape_control(text: &str) -> String {
    escape(
        text,
        |c| c.is_control() || is_obeyed_beyond_ascii(c),
        |c| c.escape_default().collect(),
    )
}

fn escape(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escaped: impl Fn(char) -> String,
) -> String {
    let mut result = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) {
            result.push_str(&escaped(c));
        } else {
            result.push(c);
        }
    }
    result
}

/// Whether it is DEL, one of the C1 control characters, a line break, or a mark that changes the
/// direction of text: all have four hexadecimal digits.
fn is_obeyed_beyond_ascii(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Results as rows with aligned columns, or as JSON. It may be printed while rows are still added:
/// columns then only grow.
pub(crate) struct Table {
    format: Format,
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
    /// The longest line, in columns of the terminal; a longer one is cut.
    max_width: usize,
}

impl Table {
    pub(crate) fn new<const N: usize>(format: Format, heading: [&str; N]) -> Self {
        let rows = vec![heading.map(ToOwned::to_owned).to_vec()];
        Self {
            format,
            rows,
            widths: vec![0; N],
            max_width: usize::MAX,
        }
    }

    /// A table of names and values, without a heading.
    pub(crate) fn with_names() -> Self {
        Self {
            rows: Vec::new(),
            ..Self::new(Format::Table, [""; 2])
        }
    }

    /// On a terminal, each row takes one line: what does not fit is cut.
    pub(crate) fn cut_to_terminal(self) -> Self {
        let stdout = Term::stdout();
        Self {
            max_width: if stdout.is_term() {
                stdout.size().1.into()
            } else {
                usize::MAX
            },
            ..self
        }
    }

    /// Adds a result: a row for people; for programs its JSON, which is written at once.
    pub(crate) fn add<const N: usize>(
        &mut self,
        json: &impl Serialize,
        cells: [&str; N],
    ) -> Result<()> {
        match self.format {
            Format::Table => self.row(cells),
            Format::Json => print_json(json)?,
        }
        Ok(())
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(escape_control).to_vec());
    }

    /// Writes the rows that were added since the last call.
    pub(crate) fn print(&mut self) -> Result<()> {
        if self.format == Format::Json {
            return Ok(());
        }
        self.lines().iter().try_for_each(|row| print_line(row))
    }

    /// The rows that were added since the last call.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let rows = std::mem::take(&mut self.rows);
        for row in &rows {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = measure_text_width(cell).max(*width);
            }
        }
        let line = |row: Vec<String>| {
            let cells = row
                .iter()
                .zip(&self.widths)
                .map(|(cell, width)| pad_str(cell, *width, Alignment::Left, None));
            let line = cells.collect::<Vec<_>>().join("  ");
            truncate_str(line.trim_end(), self.max_width, "…").into_owned()
        };
        rows.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_is_as_wide_as_its_widest_cell_so_far() {
        let mut table = Table::new(Format::Table, ["CUSTOMER", "EVENT"]);
        table.row(["ada", "login"]);
        table.row(["李小龙", "logout"]);
        assert_eq!(
            table.lines(),
            ["CUSTOMER  EVENT", "ada       login", "李小龙    logout"]
        );
        table.row(["customer-17", "a"]);
        table.row(["b", "c"]);
        assert_eq!(table.lines(), ["customer-17  a", "b            c"]);
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            escape_control("a\u{1b}[2Jb\nc\u{202e}\u{61c}"),
            "a\\u{1b}[2Jb\\nc\\u{202e}\\u{61c}"
        );
    }

    #[test]
    fn json_is_the_same_value_without_a_character_that_a_terminal_obeys() {
        let obeyed = [
            "\u{0}\u{1b}\u{7f}",
            "\u{80}\u{9b}2J\u{9f}",
            "\u{61c}\u{200e}\u{200f}\u{2028}\u{202a}\u{202e}\u{2066}\u{2069}",
        ];
        for text in obeyed {
            let json = to_json(&[text]).unwrap();
            assert!(json.is_ascii(), "{json}");
            assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [text]);
        }
        assert_eq!(
            to_json(&"a\u{9b}\u{202e}é李\u{a0}").unwrap(),
            "\"a\\u009b\\u202eé李\u{a0}\""
        );
    }
}
