//! Results go to standard output, as tables or as JSON lines; everything else goes to standard
//! error. Must not know what a result means.
//!
//! Values that clients sent may hold control characters that a terminal would obey: tables and JSON
//! escape them.

mod printed_table;

use std::io::Write as _;

use anyhow::{Context as _, Result};
use operator::escape::to_json;
use serde::Serialize;

pub(crate) use self::printed_table::PrintedTable;
use crate::program_name::commands_as_typed;

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

/// Writes a value to standard output as one line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    print_line(&to_json(value)?)
}
