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
    /// The line as a whole cannot be stored. The code is `malformed-json`, `too-large` or
    /// `customer-too-large`, or `earlier-lines-left-out` beside another error.
    Whole { code: &'static str, message: String },
    /// The line breaks a rule of the API, or of the fields that only an import has.
    Validation(FieldError),
}

impl LineError {
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::Whole {
            code: "malformed-json",
            message: message.into(),
        }
    }

    pub(super) fn too_long() -> Self {
        Self::Whole {
            code: "too-large",
            message: "The line is longer than a request may be.".to_owned(),
        }
    }

    pub(super) fn customer_too_large() -> Self {
        Self::Whole {
            code: "customer-too-large",
            message: "The line would make the customer larger than a DynamoDB item.".to_owned(),
        }
    }

    /// What else the refusal of a customer means: see [`LastChanges`](super::last_changes::LastChanges).
    pub(super) fn earlier_lines_left_out() -> Self {
        Self::Whole {
            code: "earlier-lines-left-out",
            message: "Earlier lines with the same customer and time were stored without the fields that this line has. Import \
                      these lines again, too."
                .to_owned(),
        }
    }

    /// DynamoDB refused a value of the line.
    pub(super) fn refused() -> Self {
        Self::Validation(FieldError::refused_by_store(&JsonPointer::Root))
    }

    pub(super) fn field(name: &str, code: FieldErrorCode, predicate: &str) -> Self {
        Self::Validation(FieldError::new(
            &JsonPointer::Member(&JsonPointer::Root, name),
            code,
            predicate,
        ))
    }
}
