//! What is wrong with a line of an import.

use model::pointer::JsonPointer;
use model::validation::{FieldError, FieldErrorCode};
use serde::Serialize;

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
