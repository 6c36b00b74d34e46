//! What was wrong: the entries of `fieldErrors` and of `warnings` (SPEC 2.5).
//!
//! A message never holds a value that the caller sent; where the fault is, a [`FieldRef`] says.

use std::borrow::Cow;

use serde::Serialize;

use crate::limits::MAX_ERRORS_PER_REQUEST;
use crate::pointer::{FieldRef, JsonPointer};

/// The codes of faults, as SPEC 2.5 lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldErrorCode {
    /// A member that must be there is not, or is null.
    Required,
    /// A value of another JSON type than the contract's, or a string that is no Unicode text.
    InvalidType,
    /// Not a UUID in its hyphenated form (RFC 9562, section 4).
    InvalidUuid,
    /// An identifier of no characters, or of white space only.
    Blank,
    /// More characters than the limit.
    TooLong,
    /// More bytes or more entries than the limit.
    TooLarge,
    /// `null`, `undefined` and their like, spelled out as an identifier.
    PlaceholderIdentifier,
    /// Members of both identity pairs.
    AmbiguousIdentity,
    /// A member that stands twice in one object.
    DuplicateMember,
    /// A member whose name the stored item uses for itself.
    ReservedName,
    /// A number of a magnitude that DynamoDB does not hold.
    NumberOutOfRange,
    /// A number of more than 38 significant digits.
    TooManyDigits,
    /// More maps and lists around a value than DynamoDB holds.
    NestedTooDeep,
    /// A member whose name is the empty string.
    EmptyName,
    /// DynamoDB refused the signal although it passed every check.
    RefusedByStore,
}

impl FieldErrorCode {
    /// Every code, in SPEC's order.
    pub const ALL: [Self; 15] = [
        Self::Required,
        Self::InvalidType,
        Self::InvalidUuid,
        Self::Blank,
        Self::TooLong,
        Self::TooLarge,
        Self::PlaceholderIdentifier,
        Self::AmbiguousIdentity,
        Self::DuplicateMember,
        Self::ReservedName,
        Self::NumberOutOfRange,
        Self::TooManyDigits,
        Self::NestedTooDeep,
        Self::EmptyName,
        Self::RefusedByStore,
    ];

    /// The code as it stands in an answer.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::InvalidType => "invalid-type",
            Self::InvalidUuid => "invalid-uuid",
            Self::Blank => "blank",
            Self::TooLong => "too-long",
            Self::TooLarge => "too-large",
            Self::PlaceholderIdentifier => "placeholder-identifier",
            Self::AmbiguousIdentity => "ambiguous-identity",
            Self::DuplicateMember => "duplicate-member",
            Self::ReservedName => "reserved-name",
            Self::NumberOutOfRange => "number-out-of-range",
            Self::TooManyDigits => "too-many-digits",
            Self::NestedTooDeep => "nested-too-deep",
            Self::EmptyName => "empty-name",
            Self::RefusedByStore => "refused-by-store",
        }
    }
}

/// One fault of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldError {
    /// Where.
    #[serde(flatten)]
    pub at: FieldRef,
    /// What kind.
    pub code: FieldErrorCode,
    /// A sentence for a person.
    pub message: String,
}

impl FieldError {
    /// A fault at `path`. The `predicate` says what is wrong with it: "must not be blank".
    #[must_use]
    pub fn new(path: &JsonPointer<'_>, code: FieldErrorCode, predicate: &str) -> Self {
        let at = path.to_field_ref();
        let message = at.message(predicate);
        Self { at, code, message }
    }
}

/// What is wrong with one value. It does not say where: that is known to whoever read the value's name.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) code: FieldErrorCode,
    predicate: Cow<'static, str>,
}

impl Violation {
    /// The `predicate` says what is wrong: "must not be blank".
    pub(crate) fn new(code: FieldErrorCode, predicate: impl Into<Cow<'static, str>>) -> Self {
        Self { code, predicate: predicate.into() }
    }
}

/// What is left of a value that is wrong, once its violation was added to the [`FieldErrors`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invalid;

/// Something that is not wrong but that the caller wants to know: a member that is not in the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Where.
    #[serde(flatten)]
    pub at: FieldRef,
    /// Always `undocumented-member`.
    pub code: &'static str,
    /// A sentence for a person.
    pub message: String,
}

impl Warning {
    /// The code of every warning.
    pub const CODE: &'static str = "undocumented-member";

    fn new(path: &JsonPointer<'_>, predicate: &str) -> Self {
        let at = path.to_field_ref();
        let message = at.message(predicate);
        Self { at, code: Self::CODE, message }
    }
}

/// FieldErrors as they are found, the first few kept and all counted.
#[derive(Debug)]
pub struct FieldErrors {
    kept: Vec<FieldError>,
    found: usize,
    limit: usize,
}

impl FieldErrors {
    /// Keeps the first `keep`.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { kept: Vec::new(), found: 0, limit }
    }

    /// Adds a fault at `path`. The `predicate` says what is wrong with it: "must not be blank".
    pub fn add(&mut self, path: &JsonPointer<'_>, code: FieldErrorCode, predicate: impl AsRef<str>) {
        self.found = self.found.saturating_add(1);
        if !self.is_full() {
            self.kept.push(FieldError::new(path, code, predicate.as_ref()));
        }
    }

    /// Adds the violation, if there is one, at `path`.
    pub(crate) fn check<T>(&mut self, path: &JsonPointer<'_>, read: Result<T, Violation>) -> Result<T, Invalid> {
        read.inspect_err(|violation| self.add(path, violation.code, &violation.predicate)).map_err(|_| Invalid)
    }

    /// Whether any further one is only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.len() >= self.limit
    }

    /// Whether none was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found == 0
    }

    /// Those that were kept, in the order in which they were found.
    #[must_use]
    pub fn into_vec(self) -> Vec<FieldError> {
        self.kept
    }
}

impl Default for FieldErrors {
    /// Keeps as many as are reported of a request.
    fn default() -> Self {
        Self::with_limit(MAX_ERRORS_PER_REQUEST)
    }
}

/// Warnings as they are found: the first few as they are, the rest as one that counts them.
#[derive(Debug)]
pub struct Warnings {
    kept: Vec<Warning>,
    found: usize,
    limit: usize,
}

impl Warnings {
    /// Keeps the first `keep`.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { kept: Vec::new(), found: 0, limit }
    }

    /// Adds a warning of the member at `path`; the predicate is asked for only if it is kept.
    pub fn add<M: AsRef<str>>(&mut self, path: &JsonPointer<'_>, predicate: impl FnOnce() -> M) {
        self.found = self.found.saturating_add(1);
        if self.kept.len() < self.limit {
            self.kept.push(Warning::new(path, predicate().as_ref()));
        }
    }

    /// All that were kept; if there were more, a last one at `whole` says how many.
    #[must_use]
    pub fn into_vec(mut self, whole: &JsonPointer<'_>) -> Vec<Warning> {
        let more = self.found.saturating_sub(self.kept.len());
        if more > 0 {
            self.kept.push(Warning::new(whole, &format!("has {more} more members that are not in the contract")));
        }
        self.kept
    }
}

impl Default for Warnings {
    /// Keeps as many as are reported of a request.
    fn default() -> Self {
        Self::with_limit(MAX_ERRORS_PER_REQUEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_written_as_they_are_named() {
        for code in FieldErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn warnings_beyond_the_limit_are_counted() {
        let mut warnings = Warnings::with_limit(2);
        for name in ["a", "b", "c", "d"] {
            warnings.add(&JsonPointer::Member(&JsonPointer::Root, name), || "m");
        }
        let kept = warnings.into_vec(&JsonPointer::Root);
        assert_eq!(kept.len(), 3);
        assert_eq!(kept[2].message, "The body has 2 more members that are not in the contract.");
    }
}
