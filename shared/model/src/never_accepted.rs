//! Signals and updates that a function acknowledged before, and that are stored now. The rules of the API
//! may have changed since, so they are not applied again: only the form is required that everything
//! accepted has, under whichever rules. DynamoDB decides the rest.

use std::borrow::Cow;

use crate::identifier::read_string;
use crate::json::Value;
use crate::validation::FieldErrors;

/// The text is no signal, or no update, that a function has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeverAccepted;

/// A string of any length.
pub(crate) fn read_text(value: Value<'_>) -> Result<Cow<'_, str>, NeverAccepted> {
    read_string(value).map_err(|_| NeverAccepted)
}

/// Requires that each name and each value can be stored.
pub(crate) fn require_storable(errors: &FieldErrors) -> Result<(), NeverAccepted> {
    errors.is_empty().then_some(()).ok_or(NeverAccepted)
}
