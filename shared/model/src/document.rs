//! A JSON value that DynamoDB can hold exactly.
//!
//! It stays the text that was sent: the check walks over it once and keeps nothing, and the store walks over it once
//! more to write it down. No tree of values is built in between, so a document costs the memory of its text.

use std::borrow::Cow;

use crate::fault::{FaultCode, Faults};
use crate::identifier::LONE_SURROGATE;
use crate::limits::{NESTED_CONTAINERS, NUMBER_DIGITS};
use crate::number::{NumberFault, for_dynamodb};
use crate::place::Path;
use crate::token::{RawString, Token, Tokens};

/// JSON text of one value, checked: no member twice, no empty name, no string that is no text, every number held
/// exactly by DynamoDB, and no more maps and lists around a value than it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a>(&'a str);

impl<'a> Document<'a> {
    /// The document of a value that was left out: `{}`.
    pub const EMPTY: Document<'static> = Document("{}");

    /// Checks the value that `first` begins. `around` is how many maps the stored item puts around it.
    pub(crate) fn check(
        first: Token<'a>,
        tokens: &mut Tokens<'a>,
        around: usize,
        path: &Path<'_>,
        faults: &mut Faults,
    ) -> Self {
        let begin = tokens.begin_of(first);
        check_value(first, tokens, around, path, faults);
        Self(tokens.since(begin))
    }

    /// The text, as it was sent.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// Its tokens, from the first.
    #[must_use]
    pub fn tokens(self) -> Tokens<'a> {
        Tokens::of(self)
    }
}

fn check_value<'a>(first: Token<'a>, tokens: &mut Tokens<'a>, around: usize, path: &Path<'_>, faults: &mut Faults) {
    match first {
        Token::BeginObject | Token::BeginArray if around >= NESTED_CONTAINERS => {
            let message = format!("must not nest more than {NESTED_CONTAINERS} objects and arrays");
            faults.add(path, FaultCode::NestedTooDeep, message);
            tokens.skip(first);
        }
        Token::BeginObject => {
            let mut names = Names::default();
            while let Some(name) = tokens.next_name() {
                let name = names.add(name, path, faults);
                let member = Path::Member(path, &name);
                if let Some(value) = tokens.next() {
                    check_value(value, tokens, around.saturating_add(1), &member, faults);
                }
            }
            names.report_duplicates(path, faults);
        }
        Token::BeginArray => {
            let mut index = 0_usize;
            while let Some(value) = tokens.next_element() {
                check_value(value, tokens, around.saturating_add(1), &Path::Element(path, index), faults);
                index = index.saturating_add(1);
            }
        }
        Token::String(string) => {
            if string.decode().is_err() {
                faults.add(path, FaultCode::InvalidType, LONE_SURROGATE);
            }
        }
        Token::Number(number) => match for_dynamodb(number) {
            Ok(_) => {}
            Err(NumberFault::TooManyDigits) => {
                let message = format!("must have at most {NUMBER_DIGITS} significant digits");
                faults.add(path, FaultCode::TooManyDigits, message);
            }
            Err(NumberFault::OutOfRange) => {
                faults.add(
                    path,
                    FaultCode::NumberOutOfRange,
                    "must be zero or of a magnitude from 1E-130 to 9.99E+125",
                );
            }
        },
        Token::Bool(_) | Token::Null | Token::EndObject | Token::EndArray => {}
    }
}

/// The names of one object's members, so that none passes twice.
#[derive(Default)]
pub(crate) struct Names<'a>(Vec<Cow<'a, str>>);

impl<'a> Names<'a> {
    /// Adds the next name and gives it back decoded. An empty one, and one that is no text, is a fault.
    pub(crate) fn add(&mut self, name: RawString<'a>, object: &Path<'_>, faults: &mut Faults) -> Cow<'a, str> {
        let Ok(name) = name.decode() else {
            faults.add(
                object,
                FaultCode::InvalidType,
                "must have names of Unicode text: half of a surrogate pair was sent",
            );
            return Cow::Borrowed("");
        };
        if name.is_empty() {
            faults.add(&Path::Member(object, &name), FaultCode::EmptyName, "must have a name that is not empty");
        } else {
            self.0.push(name.clone());
        }
        name
    }

    /// Adds a fault for each name that stood more than once.
    pub(crate) fn report_duplicates(mut self, object: &Path<'_>, faults: &mut Faults) {
        self.0.sort_unstable();
        for pair in self.0.chunk_by(|a, b| a == b).filter(|same| same.len() > 1) {
            if let Some(name) = pair.first() {
                faults.add(
                    &Path::Member(object, name),
                    FaultCode::DuplicateMember,
                    "must not stand twice in one object",
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::JsonText;

    fn faults_of(json: &str) -> Vec<(String, FaultCode)> {
        let mut tokens = JsonText::parse(json).unwrap().tokens();
        let first = tokens.next().unwrap();
        let mut faults = Faults::keeping(5);
        let document = Document::check(first, &mut tokens, 0, &Path::Root, &mut faults);
        assert_eq!(document.as_str(), json.trim());
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
