//! What became of the lines of an import: the summary, and the file of the invalid lines, which
//! texts for the operator call rejected. Must not know how lines are stored.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use model::pointer::JsonPointer;
use model::validation::FieldError;
use serde_json::json;

use super::kind::ImportKind;
use super::line_error::{InvalidLine, LineError};
use crate::output::{Format, counted, escape_control, note, to_json};

/// The most names of unknown fields that are kept. A file may have any number of them.
const MAX_NAMES: usize = 20;

/// The most characters that are kept of the name of an unknown field.
const MAX_NAME_CHARS: usize = 64;

/// What became of a line.
pub(super) enum LineOutcome {
    Stored,
    /// DynamoDB would delete the signal at once, so it was not stored.
    Expired,
    /// A newer update of the customer is stored.
    Skipped,
    Invalid(Vec<LineError>),
}

impl LineOutcome {
    /// The line breaks these rules.
    pub(super) fn invalid(errors: Vec<FieldError>) -> Self {
        Self::Invalid(errors.into_iter().map(LineError::Validation).collect())
    }

    /// DynamoDB refused the line.
    pub(super) fn refused() -> Self {
        Self::invalid(vec![FieldError::refused_by_store(&JsonPointer::Root)])
    }
}

/// How many lines had which outcome. An empty line has none.
pub(super) struct ImportReport {
    kind: ImportKind,
    stored: u64,
    invalid: u64,
    expired: u64,
    skipped: u64,
    /// The names of unknown fields.
    unknown_fields: BTreeSet<String>,
    /// The file of the invalid lines.
    error_path: PathBuf,
    /// The invalid lines that are not in the file yet.
    unwritten: Vec<InvalidLine>,
}

impl ImportReport {
    pub(super) fn new(kind: ImportKind, error_path: PathBuf) -> Self {
        Self {
            kind,
            stored: 0,
            invalid: 0,
            expired: 0,
            skipped: 0,
            unknown_fields: BTreeSet::new(),
            error_path,
            unwritten: Vec::new(),
        }
    }

    /// Counts a line.
    pub(super) fn add(&mut self, number: u64, outcome: LineOutcome) {
        match outcome {
            LineOutcome::Stored => self.stored += 1,
            LineOutcome::Expired => self.expired += 1,
            LineOutcome::Skipped => self.skipped += 1,
            LineOutcome::Invalid(errors) => {
                self.invalid += 1;
                self.unwritten.push(InvalidLine { number, errors });
            }
        }
    }

    /// Keeps the name of an unknown field for the summary.
    pub(super) fn add_unknown_field(&mut self, name: &str) {
        if self.unknown_fields.len() < MAX_NAMES {
            let kept = name.chars().take(MAX_NAME_CHARS).collect();
            self.unknown_fields.insert(kept);
        }
    }

    /// Appends the invalid lines since the last call to their file, in the order of their numbers.
    pub(super) fn write_invalid_lines(&mut self) -> Result<()> {
        let mut lines = std::mem::take(&mut self.unwritten);
        if lines.is_empty() {
            return Ok(());
        }
        lines.sort_by_key(|line| line.number);
        let mut text = String::new();
        for line in &lines {
            let json = json!({"line": line.number, "errors": line.errors});
            text.push_str(&to_json(&json)?);
            text.push('\n');
        }
        self.append(&text)
            .with_context(|| format!("Cannot write {}", self.error_path.display()))
    }

    fn append(&self, text: &str) -> io::Result<()> {
        let mut file = self.open_error_file()?;
        file.write_all(text.as_bytes())
    }

    fn open_error_file(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        // Only the owner may read it: the names of fields and the errors are customer data.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&self.error_path)
    }

    /// Prints the summary of the import.
    pub(super) fn print(&self, format: Format) -> Result<()> {
        let error_file = (self.invalid > 0).then(|| self.error_path.display().to_string());
        if let (Some(error_file), Format::Text) = (&error_file, format) {
            note(&format!(
                "The rejected lines and their errors are in {error_file}."
            ));
        }
        let json = json!({
            "kind": self.kind,
            "stored": self.stored,
            "rejected": self.invalid,
            "expired": self.expired,
            "skipped": self.skipped,
            "unknownFields": self.unknown_fields,
            "errorFile": error_file,
        });
        format.print(&self.sentences(), &json)
    }

    /// The summary for people.
    fn sentences(&self) -> String {
        let thing = match self.kind {
            ImportKind::Customers => "customer",
            ImportKind::Signals => "signal",
        };
        let mut parts = vec![
            format!("{} stored", counted(self.stored, thing)),
            format!("{} rejected", counted(self.invalid, "line")),
        ];
        if self.expired > 0 {
            parts.push(format!("{} expired: not stored", self.expired));
        }
        if self.skipped > 0 {
            parts.push(format!(
                "{} skipped: a newer update is stored",
                self.skipped
            ));
        }
        let summary = parts.join(", ");
        if self.unknown_fields.is_empty() {
            return format!("{summary}.");
        }
        let names: Vec<_> = self
            .unknown_fields
            .iter()
            .map(|name| escape_control(name))
            .collect();
        format!("{summary}.\nUnknown fields: {}.", names.join(", "))
    }

    /// Whether a line was stored, or none had to be.
    pub(super) fn is_success(&self) -> bool {
        let is_any_stored = self.stored + self.skipped > 0;
        let is_any_left_out = self.invalid + self.expired > 0;
        is_any_stored || !is_any_left_out
    }
}
