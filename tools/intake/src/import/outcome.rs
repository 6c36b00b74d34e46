//! What became of the lines of a chunk.

use std::collections::BTreeMap;

use model::pointer::JsonPointer;
use model::validation::{FieldError, FieldErrorCode};
use serde::{Deserialize, Serialize};

use super::chunks::Position;

/// A chunk that is stored.
pub(super) struct StoredChunk {
    pub(super) end: Position,
    pub(super) counts: Counts,
    pub(super) unknown_fields: UnknownFields,
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

/// The names of unknown fields. Only the first names are kept: a file may have any number.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct UnknownFields {
    /// How many lines have a field of this name.
    pub(super) lines: BTreeMap<String, u64>,
    /// How many fields have other names.
    pub(super) others: u64,
}

impl UnknownFields {
    /// The most names.
    const MAX_NAMES: usize = 20;

    /// The most characters of a name.
    const MAX_CHARS: usize = 64;

    /// Adds `lines` to the number of lines that have a field of this name.
    pub(super) fn count(&mut self, name: &str, lines: u64) {
        let name: String = name.chars().take(Self::MAX_CHARS).collect();
        if self.lines.len() < Self::MAX_NAMES || self.lines.contains_key(&name) {
            *self.lines.entry(name).or_default() += lines;
        } else {
            self.others += lines;
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        other.lines.iter().for_each(|(name, lines)| self.count(name, *lines));
        self.others += other.others;
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
    pub(super) unknown_fields: UnknownFields,
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
        StoredChunk { end, counts: self.counts, unknown_fields: self.unknown_fields, errors: errors.collect() }
    }
}
