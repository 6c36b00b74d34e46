//! What became of the lines of an import: the counts, and the file of the invalid lines, which
//! texts for the operator call rejected. Must not know how lines are stored.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use model::validation::FieldError;
use serde_json::json;

use super::kind::ImportKind;
use super::line_error::{InvalidLine, LineError};
use crate::escape::to_json;

/// The most names of unknown fields that are kept. A file may have any number of them.
const MAX_NAMES: usize = 20;

/// The most characters that are kept of the name of an unknown field.
const MAX_NAME_CHARS: usize = 64;

/// What became of a line.
pub(super) enum LineOutcome {
    Stored,
    /// DynamoDB would delete the signal at once, so it was not stored.
    Expired,
    /// Some fields of the customer are stored. The others are newer in the table.
    StoredInPart,
    /// The signal was stored before, and is left as it is.
    AlreadyStored,
    /// The signal has replaced one with its key that was stored before.
    Replaced,
    /// Each field of the customer has the value and the time of the line already.
    AsWritten,
    /// A field of the customer is newer in the table, and each other one is newer too, or has the value
    /// and the time of the line already.
    NothingNewer,
    Invalid(Vec<LineError>),
}

impl LineOutcome {
    /// The line breaks these rules.
    pub(super) fn invalid(errors: Vec<FieldError>) -> Self {
        Self::Invalid(errors.into_iter().map(LineError::Validation).collect())
    }

    /// The outcome of a line that is several updates of a customer.
    pub(super) fn of_both(earlier: Self, later: Self) -> Self {
        match (earlier, later) {
            (Self::Invalid(errors), _) | (_, Self::Invalid(errors)) => Self::Invalid(errors),
            (Self::Stored, Self::Stored | Self::AsWritten) | (Self::AsWritten, Self::Stored) => {
                Self::Stored
            }
            (Self::AsWritten, Self::AsWritten) => Self::AsWritten,
            (Self::NothingNewer, Self::NothingNewer | Self::AsWritten)
            | (Self::AsWritten, Self::NothingNewer) => Self::NothingNewer,
            _ => Self::StoredInPart,
        }
    }

    /// DynamoDB refused the line.
    pub(super) fn refused() -> Self {
        Self::Invalid(vec![LineError::refused()])
    }
}

/// How many lines had which outcome. An empty line has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    pub stored: u64,
    /// Signals that were stored before, and are left as they are.
    pub already_stored: u64,
    /// Signals that have replaced one with their key.
    pub replaced: u64,
    /// Customers of whom some fields are newer in the table.
    pub stored_in_part: u64,
    /// Customers of whom each field is newer in the table, or is there already.
    pub nothing_newer: u64,
    /// Lines of which nothing is stored, because they are invalid or DynamoDB refused them.
    pub invalid: u64,
    /// Signals that DynamoDB would delete at once.
    pub expired: u64,
}

/// What became of the lines of an import.
#[derive(Debug)]
pub struct ImportReport {
    kind: ImportKind,
    counts: LineCounts,
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
            counts: LineCounts::default(),
            unknown_fields: BTreeSet::new(),
            error_path,
            unwritten: Vec::new(),
        }
    }

    /// Counts a line.
    pub(super) fn add(&mut self, number: u64, outcome: LineOutcome) {
        match outcome {
            LineOutcome::Stored => self.counts.stored += 1,
            LineOutcome::Expired => self.counts.expired += 1,
            LineOutcome::AlreadyStored => self.counts.already_stored += 1,
            LineOutcome::Replaced => self.counts.replaced += 1,
            LineOutcome::StoredInPart => self.counts.stored_in_part += 1,
            LineOutcome::AsWritten | LineOutcome::NothingNewer => self.counts.nothing_newer += 1,
            LineOutcome::Invalid(errors) => {
                self.counts.invalid += 1;
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

    /// What the lines of the file are.
    pub fn kind(&self) -> ImportKind {
        self.kind
    }

    pub fn counts(&self) -> &LineCounts {
        &self.counts
    }

    /// The names of the unknown fields of customers or signals: at most 20, each with at most 64
    /// characters.
    pub fn unknown_fields(&self) -> &BTreeSet<String> {
        &self.unknown_fields
    }

    /// The file of the invalid lines, if there are any.
    pub fn error_file(&self) -> Option<&Path> {
        (self.counts.invalid > 0).then_some(self.error_path.as_path())
    }

    /// Whether a line is in the table, or none had to be.
    pub fn is_success(&self) -> bool {
        let counts = &self.counts;
        let signals = counts.stored + counts.already_stored + counts.replaced;
        let in_table = signals + counts.stored_in_part + counts.nothing_newer;
        let left_out = counts.invalid + counts.expired;
        in_table > 0 || left_out == 0
    }
}
