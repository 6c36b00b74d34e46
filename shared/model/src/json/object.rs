//! The fields of an object, one after another.

use std::borrow::Cow;

use super::lexer::Lexer;
use super::string::RawString;
use super::value::Value;
use crate::fault::{FaultCode, Faults};
use crate::place::Path;

/// What the names of most objects take together.
const USUAL_BYTES_OF_NAMES: usize = 128;

/// The text of a JSON object.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a>(pub(super) &'a str);

/// The fields of an object that are still to be read.
#[derive(Debug)]
pub struct Fields<'a, 'p> {
    lexer: Lexer<'a>,
    seen: SeenKeys<'p>,
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct Field<'a, 'p> {
    /// Its name, decoded. Empty if it is no Unicode text.
    pub name: Cow<'a, str>,
    /// Its value.
    pub value: Value<'a>,
    object: &'p Path<'p>,
}

impl<'a> Object<'a> {
    /// The fields in order; `path` is where the object is.
    #[must_use]
    pub fn fields<'p>(self, path: &'p Path<'p>) -> Fields<'a, 'p> {
        let mut lexer = Lexer::new(self.0);
        // The brace.
        lexer.next();
        Fields { lexer, seen: SeenKeys::new(path) }
    }
}

impl<'a> Object<'a> {
    /// The names and values in order, of an object of which the names were checked.
    pub(crate) fn raw_fields(self) -> impl Iterator<Item = (RawString<'a>, Value<'a>)> {
        let mut lexer = Lexer::new(self.0);
        // The brace.
        lexer.next();
        std::iter::from_fn(move || Some((lexer.next_name()?, lexer.next_value()?)))
    }
}

impl<'a, 'p> Fields<'a, 'p> {
    /// The next field. What is wrong with its name becomes a validation error; after the last field, so do the names
    /// that appeared twice.
    pub fn next(&mut self, errors: &mut Faults) -> Option<Field<'a, 'p>> {
        let Some(name) = self.lexer.next_name() else {
            self.seen.report_duplicates(errors);
            return None;
        };
        let name = self.seen.add(name, errors);
        let value = self.lexer.next_value()?;
        Some(Field { name, value, object: self.seen.object })
    }
}

impl Field<'_, '_> {
    /// Where the field is.
    #[must_use]
    pub fn path(&self) -> Path<'_> {
        Path::Member(self.object, &self.name)
    }
}

/// The names of one object's fields so far, to find those that appear twice.
#[derive(Debug)]
pub(crate) struct SeenKeys<'p> {
    object: &'p Path<'p>,
    /// The names, one after another. In strings of their own they could take ten times the memory of the body.
    names: String,
    /// Where each name ends in `names`.
    ends: Vec<usize>,
}

impl<'p> SeenKeys<'p> {
    /// None yet, of the object at `object`.
    pub(crate) fn new(object: &'p Path<'p>) -> Self {
        Self { object, names: String::new(), ends: Vec::new() }
    }

    /// Decodes the next name. An empty name, and one that is no Unicode text, is a validation error.
    pub(crate) fn add<'a>(&mut self, name: RawString<'a>, errors: &mut Faults) -> Cow<'a, str> {
        let Ok(name) = name.decode() else {
            let message = "must have names of Unicode text: half of a surrogate pair was sent";
            errors.add(self.object, FaultCode::InvalidType, message);
            return Cow::Borrowed("");
        };
        if name.is_empty() {
            errors.add(&Path::Member(self.object, ""), FaultCode::EmptyName, "must have a name that is not empty");
        } else {
            if self.ends.is_empty() {
                self.names.reserve(USUAL_BYTES_OF_NAMES);
            }
            self.names.push_str(&name);
            self.ends.push(self.names.len());
        }
        name
    }

    /// Adds a validation error for each name that appeared more than once.
    pub(crate) fn report_duplicates(&self, errors: &mut Faults) {
        let mut start = 0;
        let name_up_to = |end: &usize| self.names.get(std::mem::replace(&mut start, *end)..*end).unwrap_or_default();
        let mut names: Vec<&str> = self.ends.iter().map(name_up_to).collect();
        names.sort_unstable();
        for same in names.chunk_by(|a, b| a == b) {
            if let [name, _, ..] = same {
                let path = Path::Member(self.object, name);
                errors.add(&path, FaultCode::DuplicateMember, "must not stand twice in one object");
            }
        }
    }
}
