//! Where something is in a body: on the way down a path, in an answer a place (SPEC 2.5).
//!
//! Names of members stand in it, since a fault has to be found, and values never; how long it may be is bounded.

use std::fmt::Write as _;

use serde::Serialize;

use crate::limits::MAX_POINTER_BYTES;

/// A place in the body, in the two notations of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldRef {
    /// As one would write it in a program: `signals[1].eventType`; the empty string for the whole body.
    pub field: String,
    /// A JSON Pointer (RFC 6901): `/signals/1/eventType`; the empty string for the whole body.
    pub pointer: String,
}

impl FieldRef {
    /// What is said of the place, as a sentence.
    pub(super) fn message(&self, predicate: &str) -> String {
        let subject = if self.field.is_empty() { "The body" } else { &self.field };
        let end = if predicate.ends_with('?') { "" } else { "." };
        format!("{subject} {predicate}{end}")
    }
}

/// A place on the way down through a body. It borrows from its parent, so that nothing is built unless there is a fault.
#[derive(Clone, Copy, Debug)]
pub enum JsonPointer<'a> {
    /// The whole body.
    Root,
    /// A member of an object.
    Member(&'a JsonPointer<'a>, &'a str),
    /// An element of an array, counted from 0.
    Element(&'a JsonPointer<'a>, usize),
}

impl JsonPointer<'_> {
    /// Writes the path down. One that is too long to be reported ends at the last step that fits.
    #[must_use]
    pub fn to_field_ref(&self) -> FieldRef {
        let mut steps = Vec::new();
        let mut path = self;
        loop {
            match path {
                JsonPointer::Root => break,
                JsonPointer::Member(parent, _) | JsonPointer::Element(parent, _) => {
                    steps.push(path);
                    path = parent;
                }
            }
        }
        let mut place = FieldRef { field: String::new(), pointer: String::new() };
        for step in steps.into_iter().rev() {
            // Such a name is not even written down: it can be as long as the body.
            if matches!(step, JsonPointer::Member(_, name) if name.len() > MAX_POINTER_BYTES) {
                break;
            }
            let before = (place.field.len(), place.pointer.len());
            step.write(&mut place);
            // The longer of the two is the field where a name has quotes or backslashes: it is JSON within the answer's.
            if bytes_in_an_answer(&place.field).max(bytes_in_an_answer(&place.pointer)) > MAX_POINTER_BYTES {
                place.field.truncate(before.0);
                place.pointer.truncate(before.1);
                break;
            }
        }
        place.field.shrink_to_fit();
        place.pointer.shrink_to_fit();
        place
    }

    fn write(&self, place: &mut FieldRef) {
        match self {
            JsonPointer::Root => {}
            JsonPointer::Element(_, index) => {
                // Writing to a String cannot fail.
                let _ = write!(place.field, "[{index}]");
                let _ = write!(place.pointer, "/{index}");
            }
            JsonPointer::Member(_, name) => {
                let plain =
                    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
                if plain {
                    if !place.field.is_empty() {
                        place.field.push('.');
                    }
                    place.field.push_str(name);
                } else {
                    let _ = write!(place.field, "[{}]", serde_json::Value::from(*name));
                }
                place.pointer.push('/');
                place.pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
        }
    }
}

/// The bytes that `text` takes in an answer, which is JSON inside Lambda's JSON: what is escaped, is escaped twice.
fn bytes_in_an_answer(text: &str) -> usize {
    text.chars().fold(0_usize, |sum, c| {
        sum.saturating_add(match c {
            '"' | '\\' => 4,
            c if c.is_control() => 7,
            c => c.len_utf8(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_in_both_notations() {
        let signals = JsonPointer::Member(&JsonPointer::Root, "signals");
        let signal = JsonPointer::Element(&signals, 1);
        let data = JsonPointer::Member(&signal, "data");
        let odd = JsonPointer::Member(&data, "a/b~c \"d\"");
        assert_eq!(odd.to_field_ref().field, r#"signals[1].data["a/b~c \"d\""]"#);
        assert_eq!(odd.to_field_ref().pointer, "/signals/1/data/a~1b~0c \"d\"");
        assert_eq!(JsonPointer::Root.to_field_ref(), FieldRef { field: String::new(), pointer: String::new() });
    }

    #[test]
    fn a_path_too_long_to_report_ends_at_the_last_step_that_fits() {
        let data = JsonPointer::Member(&JsonPointer::Root, "data");
        let long = "x".repeat(MAX_POINTER_BYTES);
        let deep = JsonPointer::Member(&data, &long);
        assert_eq!(JsonPointer::Member(&deep, "y").to_field_ref().pointer, "/data");
        let controls = "\u{1}".repeat(MAX_POINTER_BYTES / 7);
        assert_eq!(JsonPointer::Member(&data, &controls).to_field_ref().pointer, "/data");
    }

    #[test]
    fn place_of_a_name_of_any_length_holds_no_more_memory_than_is_reported() {
        for length in [MAX_POINTER_BYTES / 2, MAX_POINTER_BYTES, MAX_POINTER_BYTES + 1, 4 * 1024 * 1024] {
            for name in ["x".repeat(length), "\u{1}".repeat(length)] {
                let place = JsonPointer::Member(&JsonPointer::Root, &name).to_field_ref();
                let bytes = place.field.capacity().max(place.pointer.capacity());
                assert!(bytes <= MAX_POINTER_BYTES, "{bytes} bytes for a name of {length}");
            }
        }
    }
}
