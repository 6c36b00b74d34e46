//! What became of the lines of an import.

use std::collections::BTreeMap;

use model::pointer::JsonPointer;
use model::validation::{FieldError, FieldErrorCode};
use serde::{Deserialize, Serialize};

use crate::output::escape_control;

/// How many lines had which outcome. An empty line has none.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(super) struct Counts {
    pub(super) stored: u64,
    pub(super) rejected: u64,
    /// Signals that DynamoDB would delete at once; not stored.
    pub(super) expired: u64,
    /// Updates of customers of which a newer update is stored.
    pub(super) skipped: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        let Self { stored, rejected, expired, skipped } = other;
        self.stored += stored;
        self.rejected += rejected;
        self.expired += expired;
        self.skipped += skipped;
    }

    /// Whether a line was stored, or none had to be.
    pub(super) fn is_success(self) -> bool {
        self.stored + self.skipped > 0 || self.rejected + self.expired == 0
    }
}

/// How many lines have an unknown field of a name. Only the first names are kept: a file may have any number.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct UnknownFields(BTreeMap<String, u64>);

impl UnknownFields {
    /// The most names.
    const MAX_NAMES: usize = 20;

    /// The most characters of a name.
    const MAX_CHARS: usize = 64;

    /// Adds `lines` to the number of lines that have a field of this name.
    fn count(&mut self, name: &str, lines: u64) {
        let name: String = name.chars().take(Self::MAX_CHARS).collect();
        if self.0.len() < Self::MAX_NAMES || self.0.contains_key(&name) {
            *self.0.entry(name).or_default() += lines;
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|(name, lines)| self.count(name, *lines));
    }

    /// The names, if there are any.
    pub(super) fn names(&self) -> Option<String> {
        let names = self.0.iter().map(|(name, lines)| format!("{} (lines: {lines})", escape_control(name)));
        (!self.0.is_empty()).then(|| names.collect::<Vec<_>>().join(", "))
    }
}

/// A rejected line.
#[derive(Debug, Serialize)]
pub(super) struct LineErrors {
    /// The number of the line, counted from 1.
    line: u64,
    errors: Vec<LineError>,
}

/// One thing that is wrong with a line.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum LineError {
    /// The line cannot be parsed: `malformed-json` or `too-large`.
    Syntax { code: &'static str, message: String },
    /// The line breaks a rule.
    Validation(FieldError),
}

impl LineError {
    pub(super) fn malformed(message: String) -> Self {
        Self::Syntax { code: "malformed-json", message }
    }

    pub(super) fn field(name: &str, code: FieldErrorCode, predicate: &str) -> Self {
        Self::Validation(FieldError::new(&JsonPointer::Member(&JsonPointer::Root, name), code, predicate))
    }
}

/// The outcomes of the lines of a chunk.
#[derive(Default)]
pub(super) struct Outcomes {
    pub(super) counts: Counts,
    pub(super) unknown_fields: UnknownFields,
    /// Of the rejected lines.
    pub(super) errors: Vec<LineErrors>,
}

impl Outcomes {
    /// The line with this number is rejected.
    pub(super) fn reject(&mut self, line: u64, errors: Vec<LineError>) {
        self.counts.rejected += 1;
        self.errors.push(LineErrors { line, errors });
    }

    pub(super) fn reject_invalid(&mut self, line: u64, errors: impl IntoIterator<Item = FieldError>) {
        self.reject(line, errors.into_iter().map(LineError::Validation).collect());
    }

    /// DynamoDB has refused the line.
    pub(super) fn reject_refused(&mut self, line: u64) {
        self.reject_invalid(line, [FieldError::refused_by_store(&JsonPointer::Root)]);
    }

    /// A line has fields of these names.
    pub(super) fn note_unknown_fields(&mut self, names: impl IntoIterator<Item = impl AsRef<str>>) {
        names.into_iter().for_each(|name| self.unknown_fields.count(name.as_ref(), 1));
    }

    /// The same, with the errors in the order of the lines.
    pub(super) fn sorted(mut self) -> Self {
        self.errors.sort_by_key(|error| error.line);
        self
    }
}
