//! JSON that DynamoDB stores exactly.
//!
//! It stays the text that was sent: one pass validates it, and one more in the store writes it as
//! DynamoDB's JSON. For signals, no tree of values is built in between, so they cost the memory of
//! their text.

use crate::json::{SeenNames, Token, Tokens, Value};
use crate::limits::{MAX_NAME_BYTES, MAX_NESTING_DEPTH, MAX_NUMBER_DIGITS};
use crate::number::{self, NumberError};
use crate::pointer::JsonPointer;
use crate::validation::{FieldErrorCode, FieldErrors, Violation};

/// The text of one JSON value, validated: no duplicate field, no name that is empty or longer than
/// DynamoDB stores, only valid Unicode, only numbers that DynamoDB stores exactly, and no deeper
/// nesting than it stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorableJson<'a>(&'a str);

impl<'a> StorableJson<'a> {
    /// `{}`, which is stored where the client left out an object.
    pub const EMPTY_OBJECT: StorableJson<'static> = StorableJson("{}");

    /// Adds what is wrong with `value` to `errors`. The value has `outer` maps of the stored item
    /// around it. Without an error, [`Self::validated`] makes it a storable one.
    pub(crate) fn validate(
        value: Value<'a>,
        outer: usize,
        path: &JsonPointer<'_>,
        errors: &mut FieldErrors,
    ) {
        let max_depth = MAX_NESTING_DEPTH.saturating_sub(outer);
        let mut tokens = value.tokens();
        let first = tokens.next_token();
        Validator {
            tokens,
            max_depth,
            errors,
        }
        .value(first, 0, path);
    }

    /// The text of a value in which [`Self::validate`] found no error.
    pub(crate) fn validated(value: Value<'a>) -> Self {
        Self(value.text())
    }

    /// The JSON text, as it was sent.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// The tokens of the text.
    pub fn tokens(self) -> Tokens<'a> {
        Tokens::new(self.0)
    }
}

/// Walks over a value and all that is in it, in one pass.
struct Validator<'a, 'e> {
    tokens: Tokens<'a>,
    max_depth: usize,
    errors: &'e mut FieldErrors,
}

impl<'a> Validator<'a, '_> {
    fn value(&mut self, first: Token<'a>, depth: usize, path: &JsonPointer<'_>) {
        match first {
            Token::BeginObject | Token::BeginArray if depth >= self.max_depth => {
                self.errors.add(
                    path,
                    FieldErrorCode::NestedTooDeep,
                    // Not a text before it is kept: a body can have two million such arrays.
                    format_args!(
                        "must not nest more than {} objects and arrays",
                        self.max_depth
                    ),
                );
                self.tokens.finish_value(first);
            }
            Token::BeginObject => {
                let mut seen = SeenNames::new(path);
                while let Some(name) = self.tokens.next_name() {
                    let name = seen.add(name, self.errors);
                    let path = JsonPointer::Member(path, &name);
                    check_name(&name, &path, self.errors);
                    let first = self.tokens.next_token();
                    self.value(first, depth + 1, &path);
                }
                seen.report_duplicates(self.errors);
            }
            Token::BeginArray => {
                let mut index = 0_usize;
                while let Some(first) = self.tokens.next_element() {
                    self.value(first, depth + 1, &JsonPointer::Element(path, index));
                    index += 1;
                }
            }
            Token::String(string) => self.check(path, string.decode()),
            Token::Number(number) => self.check(path, number::check(number)),
            Token::Bool(_) | Token::Null | Token::End => {}
        }
    }

    fn check<T>(&mut self, path: &JsonPointer<'_>, scalar: Result<T, impl Into<Violation>>) {
        // The error is among the others, and there is nothing to keep of the value.
        let _ = self.errors.check(path, scalar.map_err(Into::into));
    }
}

/// Adds an error if the name of the field at `path` is longer than DynamoDB stores.
pub(crate) fn check_name(name: &str, path: &JsonPointer<'_>, errors: &mut FieldErrors) {
    let bytes = name.len();
    if bytes > MAX_NAME_BYTES {
        let message =
            format!("must have a name of at most {MAX_NAME_BYTES} bytes; {bytes} were sent");
        errors.add(path, FieldErrorCode::TooLarge, message);
    }
}

impl From<NumberError> for Violation {
    fn from(error: NumberError) -> Self {
        match error {
            NumberError::TooManyDigits => {
                let message = format!("must have at most {MAX_NUMBER_DIGITS} significant digits");
                Self::new(FieldErrorCode::TooManyDigits, message)
            }
            NumberError::OutOfRange => {
                let message = "must be zero or of a magnitude from 1E-130 to 9.99E+125";
                Self::new(FieldErrorCode::NumberOutOfRange, message)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonText;

    fn errors_of(json: &str) -> Vec<(String, FieldErrorCode)> {
        let value = JsonText::parse(json).unwrap().value();
        let mut errors = FieldErrors::with_limit(5);
        StorableJson::validate(value, 0, &JsonPointer::Root, &mut errors);
        errors
            .into_vec()
            .into_iter()
            .map(|error| (error.at.pointer, error.code))
            .collect()
    }

    #[test]
    fn each_error_has_its_pointer() {
        assert_eq!(
            errors_of(
                r#"{"n":[1,1e126],"d":123456789012345678901234567890123456789,"":1,"s":"\udc00","x":{"y":1,"\u0079":2}}"#
            ),
            [
                ("/n/1".into(), FieldErrorCode::NumberOutOfRange),
                ("/d".into(), FieldErrorCode::TooManyDigits),
                ("/".into(), FieldErrorCode::EmptyName),
                ("/s".into(), FieldErrorCode::InvalidType),
                ("/x/y".into(), FieldErrorCode::DuplicateMember),
            ]
        );
    }

    #[test]
    fn nesting_of_31_is_valid_and_of_32_is_not() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(errors_of(&nested(31)), []);
        assert_eq!(
            errors_of(&nested(32)),
            [("/0".repeat(31), FieldErrorCode::NestedTooDeep)]
        );
        assert_eq!(errors_of(&nested(100_000)).len(), 1);
    }

    #[test]
    fn name_of_65535_bytes_is_valid_and_a_longer_one_is_not() {
        // Two bytes each, and one: the limit counts bytes of UTF-8.
        let longest = format!("{}x", "é".repeat(MAX_NAME_BYTES / 2));
        assert_eq!(errors_of(&format!(r#"{{"a":{{"{longest}":1}}}}"#)), []);
        assert_eq!(
            errors_of(&format!(r#"{{"a":{{"{longest}x":1}}}}"#)),
            [("/a".into(), FieldErrorCode::TooLarge)]
        );
    }

    #[test]
    fn name_that_appears_three_times_is_one_error() {
        assert_eq!(
            errors_of(r#"{"a":1,"b":2,"a":3,"a":4}"#),
            [("/a".into(), FieldErrorCode::DuplicateMember)]
        );
    }
}
