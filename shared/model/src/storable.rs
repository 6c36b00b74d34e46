//! JSON that DynamoDB stores exactly.
//!
//! It stays the text that was sent: one pass validates it, and one more in the store writes it as DynamoDB's JSON. No
//! tree of values is built in between, so it costs the memory of its text.

use crate::fault::{FaultCode, Faults, Violation};
use crate::json::{Lexer, SeenKeys, Token, Value};
use crate::limits::{NESTED_CONTAINERS, NUMBER_DIGITS};
use crate::number::{self, NumberFault};
use crate::place::Path;

/// The text of one JSON value, validated: no field twice, no empty name, no string that is not Unicode text, every
/// number held exactly by DynamoDB, and no more maps and lists around a value than it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorableJson<'a>(&'a str);

impl<'a> StorableJson<'a> {
    /// What stands for an object that was left out.
    pub const EMPTY_OBJECT: StorableJson<'static> = StorableJson("{}");

    /// Validates `value`, which has `depth` maps of the stored item around it. `None` if there are `errors`, these or
    /// earlier ones.
    pub(crate) fn validate(value: Value<'a>, depth: usize, path: &Path<'_>, errors: &mut Faults) -> Option<Self> {
        let mut validator = Validator { lexer: value.lexer(), errors };
        if let Some(first) = validator.lexer.next() {
            validator.value(first, depth, path);
        }
        errors.is_empty().then(|| Self(value.text()))
    }

    /// A value that was validated before.
    pub(crate) fn validated(value: Value<'a>) -> Self {
        Self(value.text())
    }

    /// The text, as it was sent.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// Its tokens, from the first.
    #[must_use]
    pub fn lexer(self) -> Lexer<'a> {
        Lexer::new(self.0)
    }
}

/// Walks over a value and all that is in it, in one pass.
struct Validator<'a, 'e> {
    lexer: Lexer<'a>,
    errors: &'e mut Faults,
}

impl<'a> Validator<'a, '_> {
    fn value(&mut self, first: Token<'a>, depth: usize, path: &Path<'_>) {
        match first {
            // Further errors would not be reported.
            Token::BeginObject | Token::BeginArray if self.errors.is_full() => {
                self.lexer.finish_value(first);
            }
            Token::BeginObject | Token::BeginArray if depth >= NESTED_CONTAINERS => {
                let message = format!("must not nest more than {NESTED_CONTAINERS} objects and arrays");
                self.errors.add(path, FaultCode::NestedTooDeep, message);
                self.lexer.finish_value(first);
            }
            Token::BeginObject => {
                let mut seen = SeenKeys::new(path);
                while let Some(name) = self.lexer.next_name() {
                    let name = seen.add(name, self.errors);
                    if let Some(first) = self.lexer.next() {
                        self.value(first, depth.saturating_add(1), &Path::Member(path, &name));
                    }
                }
                seen.report_duplicates(self.errors);
            }
            Token::BeginArray => {
                let mut index = 0_usize;
                while let Some(first) = self.lexer.next_element() {
                    self.value(first, depth.saturating_add(1), &Path::Element(path, index));
                    index = index.saturating_add(1);
                }
            }
            Token::String(string) => self.check(path, string.decode()),
            Token::Number(number) => self.check(path, number::check(number)),
            Token::Bool(_) | Token::Null | Token::End => {}
        }
    }

    fn check<T>(&mut self, path: &Path<'_>, scalar: Result<T, impl Into<Violation>>) {
        // The error is among the others, and there is nothing to keep of the value.
        let _ = self.errors.check(path, scalar.map_err(Into::into));
    }
}

impl From<NumberFault> for Violation {
    fn from(fault: NumberFault) -> Self {
        match fault {
            NumberFault::TooManyDigits => {
                let message = format!("must have at most {NUMBER_DIGITS} significant digits");
                Self::new(FaultCode::TooManyDigits, message)
            }
            NumberFault::OutOfRange => {
                let message = "must be zero or of a magnitude from 1E-130 to 9.99E+125";
                Self::new(FaultCode::NumberOutOfRange, message)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonText;

    fn faults_of(json: &str) -> Vec<(String, FaultCode)> {
        let value = JsonText::parse(json).unwrap().value();
        let mut faults = Faults::keeping(5);
        let storable = StorableJson::validate(value, 0, &Path::Root, &mut faults);
        assert_eq!(value.text(), json.trim());
        assert_eq!(storable.map(StorableJson::as_str), faults.is_empty().then(|| json.trim()));
        faults.into_kept().into_iter().map(|fault| (fault.place.pointer, fault.code)).collect()
    }

    #[test]
    fn what_dynamodb_holds_exactly_has_no_fault() {
        assert_eq!(faults_of(r#" {"a":[1,-2.5e3,"x",true,null,{}],"b":""} "#), []);
    }

    #[test]
    fn each_fault_is_named_with_its_place() {
        assert_eq!(
            faults_of(
                r#"{"n":[1,1e126],"d":123456789012345678901234567890123456789,"":1,"s":"\udc00","x":{"y":1,"\u0079":2}}"#
            ),
            [
                ("/n/1".into(), FaultCode::NumberOutOfRange),
                ("/d".into(), FaultCode::TooManyDigits),
                ("/".into(), FaultCode::EmptyName),
                ("/s".into(), FaultCode::InvalidType),
                ("/x/y".into(), FaultCode::DuplicateMember),
            ]
        );
    }

    #[test]
    fn thirty_one_containers_pass_and_thirty_two_do_not() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(faults_of(&nested(31)), []);
        assert_eq!(faults_of(&nested(32)), [("/0".repeat(31), FaultCode::NestedTooDeep)]);
        assert_eq!(faults_of(&nested(100_000)).len(), 1);
    }

    #[test]
    fn a_name_that_stands_many_times_is_one_fault() {
        assert_eq!(faults_of(r#"{"a":1,"b":2,"a":3,"a":4}"#), [("/a".into(), FaultCode::DuplicateMember)]);
    }
}
