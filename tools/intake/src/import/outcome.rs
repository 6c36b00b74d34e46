//! What became of the lines of a chunk.

use model::pointer::JsonPointer;
use model::validation::{FieldError, FieldErrorCode};
use serde::{Deserialize, Serialize};

use super::chunks::Position;

/// A chunk that is stored.
pub(super) struct StoredChunk {
    pub(super) end: Position,
    pub(super) counts: Counts,
    /// The errors of the rejected lines, in the order of the lines.
    pub(super) errors: Vec<LineErrors>,
}

/// How many lines had which outcome. An empty line has none.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
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
}

/// A rejected line.
#[derive(Debug, Serialize)]
pub(super) struct LineErrors {
    /// The number of the line, counted from 1.
    pub(super) line: u64,
    pub(super) errors: Vec<LineError>,
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

/// The outcomes of the lines of a chunk while it is stored.
#[derive(Default)]
pub(super) struct Outcomes {
    pub(super) counts: Counts,
    errors: Vec<(usize, Vec<LineError>)>,
}

impl Outcomes {
    /// The line with this index in the chunk is rejected.
    pub(super) fn reject(&mut self, index: usize, errors: impl IntoIterator<Item = FieldError>) {
        self.errors.push((index, errors.into_iter().map(LineError::Validation).collect()));
    }

    pub(super) fn reject_unparsed(&mut self, index: usize, error: LineError) {
        self.errors.push((index, vec![error]));
    }

    /// DynamoDB has refused the line.
    pub(super) fn refused(&mut self, index: usize) {
        self.reject(index, [FieldError::refused_by_store(&JsonPointer::Root)]);
    }

    /// The result of the chunk from `begin` to `end`.
    pub(super) fn into_stored_chunk(mut self, begin: Position, end: Position) -> StoredChunk {
        self.counts.rejected = self.errors.len() as u64;
        self.errors.sort_by_key(|(index, _)| *index);
        let number = |index: usize| begin.line + index as u64 + 1;
        let errors = self.errors.into_iter().map(|(index, errors)| LineErrors { line: number(index), errors });
        StoredChunk { end, counts: self.counts, errors: errors.collect() }
    }
}
