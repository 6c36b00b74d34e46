//! What is wrong with a line of an import, as the file of the rejected lines has it. Must not know
//! how lines are read.

use model::pointer::JsonPointer;
use model::validation::{FieldError, FieldErrorCode};
use serde::Serialize;

/// A line of which nothing is stored, and what is wrong with it.
#[derive(Debug)]
pub(super) struct InvalidLine {
    /// Its place in the file, counted from 1.
    pub(super) number: u64,
    pub(super) errors: Vec<LineError>,
}

/// One thing that is wrong with a line. No error of a line ends the import: the report counts the
/// line and writes its errors to `FILE.errors.ndjson`, by which the operator corrects it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum LineError {
    /// The line cannot be parsed. The code is `malformed-json` or `too-large`.
    Syntax { code: &'static str, message: String },
    /// The line breaks a rule of the API, or of the fields that only an import has.
    Validation(FieldError),
}

impl LineError {
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::Syntax {
            code: "malformed-json",
            message: message.into(),
        }
    }

    pub(super) fn too_long() -> Self {
        Self::Syntax {
            code: "too-large",
            message: "The line is longer than a request may be.".to_owned(),
        }
    }

    pub(super) fn field(name: &str, code: FieldErrorCode, predicate: &str) -> Self {
        Self::Validation(FieldError::new(
            &JsonPointer::Member(&JsonPointer::Root, name),
            code,
            predicate,
        ))
    }
}
