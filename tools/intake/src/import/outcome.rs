//! What became of the lines of an import.

use std::collections::BTreeSet;

use model::pointer::JsonPointer;
use model::validation::{FieldError, FieldErrorCode};
use serde::{Deserialize, Serialize};

/// The most names of unknown fields that are kept: a file may have any number of them, of any length.
const MAX_NAMES: usize = 20;
const MAX_NAME_CHARS: usize = 64;

/// How many lines had which outcome. An empty line has none.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcomes {
    pub(super) stored: u64,
    pub(super) rejected: u64,
    /// Signals that DynamoDB would delete at once; not stored.
    pub(super) expired: u64,
    /// Updates of customers of which a newer update is stored.
    pub(super) skipped: u64,
    /// The names of fields that are not in the contract.
    pub(super) unknown_fields: BTreeSet<String>,
    /// The rejected lines since the checkpoint was saved.
    #[serde(skip)]
    rejected_lines: Vec<RejectedLine>,
}

/// What became of a line.
pub(super) enum Outcome {
    Stored,
    Expired,
    Skipped,
    Rejected(Vec<LineError>),
}

#[derive(Debug, Serialize)]
pub(super) struct RejectedLine {
    /// The number of the line, counted from 1.
    line: u64,
    errors: Vec<LineError>,
}

/// One thing that is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum LineError {
    /// The line cannot be parsed: `malformed-json` or `too-large`.
    Syntax { code: &'static str, message: String },
    /// The line breaks a rule.
    Validation(FieldError),
}

impl LineError {
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::Syntax { code: "malformed-json", message: message.into() }
    }

    pub(super) fn too_long() -> Self {
        Self::Syntax { code: "too-large", message: "The line is longer than a request may be.".to_owned() }
    }

    pub(super) fn field(name: &str, code: FieldErrorCode, predicate: &str) -> Self {
        Self::Validation(FieldError::new(&JsonPointer::Member(&JsonPointer::Root, name), code, predicate))
    }
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
    /// Counts a line.
    pub(super) fn add(&mut self, line: u64, outcome: Outcome) {
        match outcome {
            Outcome::Stored => self.stored += 1,
            Outcome::Expired => self.expired += 1,
            Outcome::Skipped => self.skipped += 1,
            Outcome::Rejected(errors) => {
                self.rejected += 1;
                self.rejected_lines.push(RejectedLine { line, errors });
            }
        }
    }

    /// Notes a field that is not in the contract.
    pub(super) fn add_unknown_field(&mut self, name: &str) {
        if self.unknown_fields.len() < MAX_NAMES {
            self.unknown_fields.insert(name.chars().take(MAX_NAME_CHARS).collect());
        }
    }

    /// The rejected lines since the last call, in their order.
    pub(super) fn take_rejected(&mut self) -> Vec<RejectedLine> {
        let mut lines = std::mem::take(&mut self.rejected_lines);
        lines.sort_by_key(|rejected| rejected.line);
        lines
    }

    /// Whether a line was stored, or none had to be.
    pub(super) fn is_success(&self) -> bool {
        self.stored + self.skipped > 0 || self.rejected + self.expired == 0
    }
}
