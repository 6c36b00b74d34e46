//! Validation errors and warnings: the entries of `fieldErrors` and `warnings` (docs/api.md,
//! Errors).
//!
//! A message never contains a value that the client sent; a [`FieldLocation`] says where the error is.
//!
//! A field that is not in the contract is an unknown field. The published codes `duplicate-member`
//! and `undocumented-member`, some messages, and the stored attribute `undocumented` keep the older
//! words "member" and "undocumented": clients and operators rely on them.

use std::borrow::Cow;
use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::limits::MAX_ERRORS_PER_REQUEST;
use crate::pointer::{FieldLocation, JsonPointer, NearestLocation};

macro_rules! codes {
    ($(#[$doc:meta])* $kind:ident { $($name:ident $code:literal $meaning:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $kind { $(#[doc = $meaning] #[serde(rename = $code)] $name,)* }

        impl $kind {
            /// Every code, in the order of docs/api.md.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The code as responses have it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }
        }
    };
}

codes! {
    /// The codes of validation errors (docs/api.md, Errors).
    FieldErrorCode {
        Required "required" "A required field is missing or null.";
        InvalidType "invalid-type" "Another JSON type than the contract's, or a string that is not valid Unicode.";
        InvalidUuid "invalid-uuid" "Not a UUID in its hyphenated form (RFC 9562, section 4), or a requestIdentifier that is the nil or the max UUID.";
        Blank "blank" "An identifier without a visible character.";
        TooLong "too-long" "More characters than the limit.";
        TooLarge "too-large" "More bytes, of the value or of its name, or more entries than the limit.";
        PlaceholderIdentifier "placeholder-identifier" "An identifier that is a placeholder such as `null` or `undefined`.";
        AmbiguousIdentity "ambiguous-identity" "Fields of both identity pairs.";
        DuplicateMember "duplicate-member" "A field that appears more than once in an object.";
        ReservedName "reserved-name" "A reserved field name.";
        NumberOutOfRange "number-out-of-range" "A number whose magnitude is out of DynamoDB's range.";
        TooManyDigits "too-many-digits" "A number of more than 38 significant digits.";
        NestedTooDeep "nested-too-deep" "More nested objects and arrays than DynamoDB stores.";
        EmptyName "empty-name" "A field whose name is empty.";
        RefusedByStore "refused-by-store" "DynamoDB rejected a value that passed every check.";
    }
}

codes! {
    /// The codes of warnings (docs/api.md, Warnings).
    WarningCode {
        UndocumentedMember "undocumented-member" "An unknown field.";
        UnexpectedType "unexpected-type" "An attribute of an event's `data` that has another JSON type than in the contract.";
        SurroundingWhiteSpace "surrounding-white-space" "An identifier with white space or other invisible characters around it.";
        DoubtfulIdentifier "doubtful-identifier" "An identifier that different customers probably have.";
        IgnoredHeader "ignored-header" "A header of the request that has no effect.";
    }
}

/// What a response says of one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldFinding<C> {
    /// Where the value is in the body.
    #[serde(flatten)]
    pub at: FieldLocation,
    /// The code, for a program.
    pub code: C,
    /// A sentence for a person.
    pub message: String,
}

/// A rule that a field breaks.
pub type FieldError = FieldFinding<FieldErrorCode>;

/// A warning about a field that was accepted as it is.
pub type Warning = FieldFinding<WarningCode>;

impl<C> FieldFinding<C> {
    /// A finding at `path`. The `predicate` says what is wrong: "must not be blank". If the path is
    /// too long for a response, the message names the nearest field above it, and says so.
    pub fn new(path: &JsonPointer<'_>, code: C, predicate: &str) -> Self {
        Self::near(path.nearest_location(), code, predicate)
    }

    fn near(nearest: NearestLocation, code: C, predicate: &str) -> Self {
        let NearestLocation {
            location: at,
            is_above,
        } = nearest;
        let subject = match (at.field.as_str(), is_above) {
            ("", false) => "The body".to_owned(),
            ("", true) => "A field in the body".to_owned(),
            (field, false) => field.to_owned(),
            (field, true) => format!("A field in {field}"),
        };
        let end = if predicate.ends_with('?') { "" } else { "." };
        Self {
            message: format!("{subject} {predicate}{end}"),
            at,
            code,
        }
    }
}

impl Warning {
    /// A warning about a header of the request, which is at no place of the body. The `predicate`
    /// says what became of it: "was ignored".
    pub fn ignored_header(name: &str, predicate: &str) -> Self {
        Self {
            at: JsonPointer::Root.nearest_location().location,
            code: WarningCode::IgnoredHeader,
            message: format!("The header {name} {predicate}."),
        }
    }
}

impl FieldError {
    /// The error of a value that DynamoDB rejected although it passed every check.
    pub fn refused_by_store(path: &JsonPointer<'_>) -> Self {
        Self::new(
            path,
            FieldErrorCode::RefusedByStore,
            "was refused by the database",
        )
    }
}

/// What is wrong with one value. The caller, who knows its path, adds it to the [`FieldErrors`].
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) code: FieldErrorCode,
    predicate: Cow<'static, str>,
}

impl Violation {
    /// The `predicate` says what is wrong: "must not be blank".
    pub(crate) fn new(code: FieldErrorCode, predicate: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            predicate: predicate.into(),
        }
    }
}

/// Stands for an invalid value whose violation was added to the [`FieldErrors`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invalid;

/// Collects the first validation errors, up to a limit.
#[derive(Debug)]
pub struct FieldErrors {
    list: Vec<FieldError>,
    limit: usize,
    /// Errors that were not collected because they repeat another one.
    repetitions: usize,
}

impl FieldErrors {
    /// Keeps the first `limit` errors; `limit` is at least one.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            list: Vec::new(),
            limit,
            repetitions: 0,
        }
    }

    /// Adds an error at `path`. The `predicate` says what is wrong: "must not be blank". A field that
    /// appears twice has one error of each code. A path that is too long for a response does not show
    /// whether it is the field of an earlier error, so its error is always added.
    pub fn add(&mut self, path: &JsonPointer<'_>, code: FieldErrorCode, predicate: impl Display) {
        if self.is_full() {
            return;
        }
        let nearest = path.nearest_location();
        let mut earlier = self.list.iter();
        let is_repetition = !nearest.is_above
            && earlier.any(|earlier| earlier.code == code && earlier.at == nearest.location);
        if is_repetition {
            self.repetitions += 1;
        } else {
            let error = FieldError::near(nearest, code, &predicate.to_string());
            self.list.push(error);
        }
    }

    /// Adds the violation in `read`, if there is one, as an error at `path`.
    pub(crate) fn check<T>(
        &mut self,
        path: &JsonPointer<'_>,
        read: Result<T, Violation>,
    ) -> Result<T, Invalid> {
        match read {
            Ok(value) => Ok(value),
            Err(violation) => {
                self.add(path, violation.code, &violation.predicate);
                Err(Invalid)
            }
        }
    }

    /// Whether the limit is reached: further errors are not collected. As many repetitions reach it, too,
    /// so that a field that appears a million times is not compared a million times.
    fn is_full(&self) -> bool {
        self.list.len() >= self.limit || self.repetitions >= self.limit
    }

    /// Whether no error was added.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The errors up to the limit, in the order in which they were added.
    pub fn into_vec(self) -> Vec<FieldError> {
        self.list
    }
}

impl Default for FieldErrors {
    /// Keeps as many as are reported per request.
    fn default() -> Self {
        Self::with_limit(MAX_ERRORS_PER_REQUEST)
    }
}

/// Collects the first warnings, up to a limit, and counts the others.
#[derive(Debug)]
pub struct Warnings {
    list: Vec<Warning>,
    limit: usize,
    /// How many there were beyond the limit.
    more: usize,
    /// The code of the last one.
    last: WarningCode,
}

impl Warnings {
    /// Keeps the first `limit` warnings, and counts the others.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            list: Vec::new(),
            limit,
            more: 0,
            last: WarningCode::UndocumentedMember,
        }
    }

    /// Adds a warning about the field at `path`. `predicate` is called only below the limit.
    pub fn add<M: AsRef<str>>(
        &mut self,
        path: &JsonPointer<'_>,
        code: WarningCode,
        predicate: impl FnOnce() -> M,
    ) {
        self.last = code;
        if self.list.len() < self.limit {
            self.list
                .push(Warning::new(path, code, predicate().as_ref()));
        } else {
            self.more += 1;
        }
    }

    /// The warnings up to the limit; if there were more, a last one at `whole` counts them.
    pub fn into_vec(mut self, whole: &JsonPointer<'_>) -> Vec<Warning> {
        let predicate = match self.more {
            0 => return self.list,
            1 => "has 1 more member with a warning".to_owned(),
            more => format!("has {more} more members with a warning"),
        };
        self.list.push(Warning::new(whole, self.last, &predicate));
        self.list
    }
}

impl Default for Warnings {
    /// Keeps as many as are reported per request.
    fn default() -> Self {
        Self::with_limit(MAX_ERRORS_PER_REQUEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_about_a_field_whose_path_is_too_long_names_the_field_above_it() {
        let long = "x".repeat(300);
        let data = JsonPointer::Member(&JsonPointer::Root, "customerData");
        let message = |path: &JsonPointer<'_>| {
            let code = FieldErrorCode::Required;
            FieldError::new(path, code, "is required").message
        };
        let above = [
            JsonPointer::Member(&JsonPointer::Root, &long),
            JsonPointer::Member(&data, &long),
        ];
        assert_eq!(message(&above[0]), "A field in the body is required.");
        assert_eq!(message(&above[1]), "A field in customerData is required.");
        assert_eq!(message(&data), "customerData is required.");
        assert_eq!(message(&JsonPointer::Root), "The body is required.");
    }

    #[test]
    fn errors_of_two_fields_whose_paths_are_too_long_are_both_kept() {
        let names = ["a".repeat(300), "b".repeat(300)];
        let mut errors = FieldErrors::default();
        for name in &names {
            let field = JsonPointer::Member(&JsonPointer::Root, name);
            errors.add(&field, FieldErrorCode::NumberOutOfRange, "is out of range");
        }
        let short = JsonPointer::Member(&JsonPointer::Root, "c");
        for _ in 0..2 {
            errors.add(&short, FieldErrorCode::NumberOutOfRange, "is out of range");
        }
        let messages: Vec<_> = errors.into_vec().into_iter().map(|e| e.message).collect();
        let above = "A field in the body is out of range.";
        assert_eq!(messages, [above, above, "c is out of range."]);
    }

    #[test]
    fn warnings_beyond_the_limit_are_counted() {
        let mut warnings = Warnings::with_limit(2);
        for name in ["a", "b", "c", "d"] {
            warnings.add(
                &JsonPointer::Member(&JsonPointer::Root, name),
                WarningCode::UnexpectedType,
                || "m",
            );
        }
        let list = warnings.into_vec(&JsonPointer::Root);
        assert_eq!(list.len(), 3);
        assert_eq!(
            list[2].message,
            "The body has 2 more members with a warning."
        );
        assert_eq!(
            serde_json::to_value(list[2].code).unwrap(),
            "unexpected-type"
        );
    }
}
