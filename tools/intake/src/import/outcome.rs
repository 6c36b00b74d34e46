//! What became of the lines of an import.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use model::pointer::JsonPointer;
use model::validation::FieldError;
use serde_json::json;

use super::chunks::Kind;
use super::line_error::LineError;
use crate::output::{Format, counted, escape_control, note, to_json};

/// The most names of unknown fields that are kept: a file may have any number of them, of any
/// length.
const MAX_NAMES: usize = 20;
const MAX_NAME_CHARS: usize = 64;

/// How many lines had which outcome. An empty line has none.
pub(super) struct Outcomes {
    kind: Kind,
    stored: u64,
    rejected: u64,
    /// Signals that DynamoDB would delete at once; not stored.
    expired: u64,
    /// Updates of customers of which a newer update is stored.
    skipped: u64,
    /// The names of fields that are not in the contract.
    unknown_fields: BTreeSet<String>,
    /// The file of the rejected lines and their errors, and the numbers and errors of those that
    /// are not in it yet.
    error_path: PathBuf,
    rejected_lines: Vec<(u64, Vec<LineError>)>,
}

/// What became of a line.
pub(super) enum Outcome {
    Stored,
    Expired,
    Skipped,
    Rejected(Vec<LineError>),
}

impl Outcome {
    /// The line breaks these rules.
    pub(super) fn invalid(errors: impl IntoIterator<Item = FieldError>) -> Self {
        Self::Rejected(errors.into_iter().map(LineError::Validation).collect())
    }

    /// DynamoDB has refused the line.
    pub(super) fn refused() -> Self {
        Self::invalid([FieldError::refused_by_store(&JsonPointer::Root)])
    }
}

impl Outcomes {
    pub(super) fn new(kind: Kind, error_path: PathBuf) -> Self {
        let (unknown_fields, rejected_lines) = (BTreeSet::new(), Vec::new());
        Self {
            kind,
            stored: 0,
            rejected: 0,
            expired: 0,
            skipped: 0,
            unknown_fields,
            error_path,
            rejected_lines,
        }
    }

    /// Counts a line.
    pub(super) fn add(&mut self, line: u64, outcome: Outcome) {
        match outcome {
            Outcome::Stored => self.stored += 1,
            Outcome::Expired => self.expired += 1,
            Outcome::Skipped => self.skipped += 1,
            Outcome::Rejected(errors) => {
                self.rejected += 1;
                self.rejected_lines.push((line, errors));
            }
        }
    }

    /// Notes a field that is not in the contract.
    pub(super) fn add_unknown_field(&mut self, name: &str) {
        if self.unknown_fields.len() < MAX_NAMES {
            self.unknown_fields
                .insert(name.chars().take(MAX_NAME_CHARS).collect());
        }
    }

    /// Appends the rejected lines since the last call to their file, in their order.
    pub(super) fn write_rejected(&mut self) -> Result<()> {
        let mut lines = std::mem::take(&mut self.rejected_lines);
        if lines.is_empty() {
            return Ok(());
        }
        lines.sort_by_key(|(line, _)| *line);
        let texts = lines
            .iter()
            .map(|(line, errors)| to_json(&json!({"line": line, "errors": errors})));
        let texts: Vec<String> = texts.collect::<Result<_>>()?;
        let mut options = OpenOptions::new();
        // Only its owner can read it: names of fields and errors are the customers'.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.create(true).append(true).open(&self.error_path);
        file.and_then(|mut file| file.write_all((texts.join("\n") + "\n").as_bytes()))
            .with_context(|| format!("Cannot write {}", self.error_path.display()))
    }

    /// Prints the result of the import.
    pub(super) fn print(&self, format: Format) -> Result<()> {
        let Self {
            kind,
            stored,
            rejected,
            expired,
            skipped,
            unknown_fields,
            ..
        } = self;
        let error_file = (*rejected > 0).then(|| self.error_path.display().to_string());
        if let (Some(error_file), Format::Table) = (&error_file, format) {
            note(&format!(
                "The rejected lines and their errors are in {error_file}."
            ));
        }
        let thing = if *kind == Kind::Customers {
            "customer"
        } else {
            "signal"
        };
        let (stored_things, rejected_lines) = (counted(*stored, thing), counted(*rejected, "line"));
        let mut text = format!("{stored_things} stored, {rejected_lines} rejected");
        for (count, outcome) in [
            (expired, "expired: not stored"),
            (skipped, "skipped: a newer update is stored"),
        ] {
            if *count > 0 {
                text.extend([", ", &count.to_string(), " ", outcome]);
            }
        }
        text.push('.');
        if !unknown_fields.is_empty() {
            let names: Vec<_> = unknown_fields
                .iter()
                .map(|name| escape_control(name))
                .collect();
            text.extend(["\nUnknown fields: ", &names.join(", "), "."]);
        }
        let json = json!({
            "kind": kind, "stored": stored, "rejected": rejected, "expired": expired, "skipped": skipped,
            "unknownFields": unknown_fields, "errorFile": error_file,
        });
        format.print(&text, &json)
    }

    /// Whether a line was stored, or none had to be.
    pub(super) fn is_success(&self) -> bool {
        self.stored + self.skipped > 0 || self.rejected + self.expired == 0
    }
}
