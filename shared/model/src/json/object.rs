//! An object, read field by field.

use std::borrow::Cow;

use super::string::RawString;
use super::tokens::{Token, Tokens};
use super::value::Value;
use crate::pointer::JsonPointer;
use crate::validation::{FieldErrorCode, FieldErrors};

/// The fields of an object that are still to be read.
#[derive(Debug)]
pub struct Object<'a, 'p> {
    tokens: Tokens<'a>,
    seen: SeenNames<'p>,
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct Field<'a, 'p> {
    /// The decoded name; empty, with a validation error, if it is not valid Unicode.
    pub name: Cow<'a, str>,
    /// The value. Only its type was read.
    pub value: Value<'a>,
    object: &'p JsonPointer<'p>,
}

impl<'a> Value<'a> {
    /// The fields of the object at `path`, or `None` for a value of another type.
    pub fn as_object<'p>(self, path: &'p JsonPointer<'p>) -> Option<Object<'a, 'p>> {
        let object = || Object {
            tokens: Tokens::inside(self.text),
            seen: SeenNames::new(path),
        };
        matches!(self.first, Token::BeginObject).then(object)
    }
}

impl<'a, 'p> Object<'a, 'p> {
    /// The next field. An invalid name is a validation error. After the last field, each name that
    /// appeared twice is one, too.
    pub fn next_field(&mut self, errors: &mut FieldErrors) -> Option<Field<'a, 'p>> {
        let Some((name, value)) = self.tokens.next_field() else {
            self.seen.report_duplicates(errors);
            return None;
        };
        let name = self.seen.add(name, errors);
        Some(Field {
            name,
            value,
            object: self.seen.object,
        })
    }
}

impl Field<'_, '_> {
    pub fn path(&self) -> JsonPointer<'_> {
        JsonPointer::Member(self.object, &self.name)
    }
}

/// The names of one object's fields so far, to find those that appear twice.
#[derive(Debug)]
pub(crate) struct SeenNames<'p> {
    object: &'p JsonPointer<'p>,
    /// The names, one after another. In strings of their own they could take ten times the memory
    /// of the body.
    names: String,
    /// Where each name ends in `names`.
    ends: Vec<usize>,
}

impl<'p> SeenNames<'p> {
    /// No names yet, for the object at `object`.
    pub(crate) fn new(object: &'p JsonPointer<'p>) -> Self {
        Self {
            object,
            names: String::new(),
            ends: Vec::new(),
        }
    }

    /// Decodes the next name. An empty name, and one that is not valid Unicode, is a validation
    /// error.
    pub(crate) fn add<'a>(
        &mut self,
        name: RawString<'a>,
        errors: &mut FieldErrors,
    ) -> Cow<'a, str> {
        let Ok(name) = name.decode() else {
            let message = "field names must be valid Unicode (unpaired surrogate)";
            errors.add(self.object, FieldErrorCode::InvalidType, message);
            return Cow::Borrowed("");
        };
        if name.is_empty() {
            errors.add(
                &JsonPointer::Member(self.object, ""),
                FieldErrorCode::EmptyName,
                "must not have an empty name",
            );
        } else {
            if self.ends.is_empty() {
                // Enough for most objects.
                self.names.reserve(128);
            }
            self.names.push_str(&name);
            self.ends.push(self.names.len());
        }
        name
    }

    /// Adds a validation error for each name that appeared more than once.
    pub(crate) fn report_duplicates(&self, errors: &mut FieldErrors) {
        let starts = std::iter::once(&0).chain(&self.ends);
        let name = |(start, end): (&usize, &usize)| {
            self.names
                .get(*start..*end)
                .expect("`add` ends each name here")
        };
        let mut names: Vec<_> = starts.zip(&self.ends).map(name).collect();
        names.sort_unstable();
        for same in names.chunk_by(|a, b| a == b) {
            if let [name, _, ..] = same {
                let path = JsonPointer::Member(self.object, name);
                errors.add(
                    &path,
                    FieldErrorCode::DuplicateMember,
                    "must not appear more than once in an object",
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonText;

    #[test]
    fn fields_come_in_order_and_wrong_names_are_reported() {
        let json = r#"{"b":[1,{"b":2}],"\u0061":" ","":3,"\ud800":null,"b":{},"a":4}"#;
        let mut object = JsonText::parse(json)
            .unwrap()
            .value()
            .as_object(&JsonPointer::Root)
            .unwrap();
        let mut errors = FieldErrors::default();
        let mut fields = Vec::new();
        while let Some(field) = object.next_field(&mut errors) {
            fields.push((field.name.into_owned(), field.value.text()));
        }
        let expected = [
            ("b", "[1,{\"b\":2}]"),
            ("a", "\" \""),
            ("", "3"),
            ("", "null"),
            ("b", "{}"),
            ("a", "4"),
        ];
        assert_eq!(fields, expected.map(|(name, text)| (name.to_owned(), text)));
        let errors: Vec<_> = errors
            .into_vec()
            .into_iter()
            .map(|error| (error.at.pointer, error.code))
            .collect();
        let expected = [
            ("/", FieldErrorCode::EmptyName),
            ("", FieldErrorCode::InvalidType),
            ("/a", FieldErrorCode::DuplicateMember),
            ("/b", FieldErrorCode::DuplicateMember),
        ];
        assert_eq!(
            errors,
            expected.map(|(pointer, code)| (pointer.to_owned(), code))
        );
    }
}
