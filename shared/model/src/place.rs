//! Where something is in a body: on the way down a path, in an answer a place (SPEC 2.5).
//!
//! Names of members stand in it, since a fault has to be found, and values never; how long it may be is bounded.

use std::fmt::Write as _;

use serde::Serialize;

use crate::limits::REPORTED_PATH_BYTES;

/// A place in the body, in the two notations of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// As one would write it in a program: `signals[1].eventType`; the empty string for the whole body.
    pub field: String,
    /// A JSON Pointer (RFC 6901): `/signals/1/eventType`; the empty string for the whole body.
    pub pointer: String,
}

impl Place {
    /// What is said of the place, as a sentence.
    pub(super) fn sentence(&self, predicate: &str) -> String {
        let subject = if self.field.is_empty() { "The body" } else { &self.field };
        let end = if predicate.ends_with('?') { "" } else { "." };
        format!("{subject} {predicate}{end}")
    }
}

/// A place on the way down through a body. It borrows from its parent, so that nothing is built unless there is a fault.
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    /// The whole body.
    Root,
    /// A member of an object.
    Member(&'a Path<'a>, &'a str),
    /// An element of an array, counted from 0.
    Element(&'a Path<'a>, usize),
}

impl Path<'_> {
    /// Writes the path down. One that is too long to be reported ends at the last step that fits.
    #[must_use]
    pub fn place(&self) -> Place {
        let mut steps = Vec::new();
        let mut path = self;
        loop {
            match path {
                Path::Root => break,
                Path::Member(parent, _) | Path::Element(parent, _) => {
                    steps.push(path);
                    path = parent;
                }
            }
        }
        let mut place = Place { field: String::new(), pointer: String::new() };
        for step in steps.into_iter().rev() {
            // Such a name is not even written down: it can be as long as the body.
            if matches!(step, Path::Member(_, name) if name.len() > REPORTED_PATH_BYTES) {
                break;
            }
            let before = (place.field.len(), place.pointer.len());
            step.write(&mut place);
            // The longer of the two is the field where a name has quotes or backslashes: it is JSON within the answer's.
            if bytes_in_an_answer(&place.field).max(bytes_in_an_answer(&place.pointer)) > REPORTED_PATH_BYTES {
                place.field.truncate(before.0);
                place.pointer.truncate(before.1);
                break;
            }
        }
        place.field.shrink_to_fit();
        place.pointer.shrink_to_fit();
        place
    }

    fn write(&self, place: &mut Place) {
        match self {
            Path::Root => {}
            Path::Element(_, index) => {
                // Writing to a String cannot fail.
                let _ = write!(place.field, "[{index}]");
                let _ = write!(place.pointer, "/{index}");
            }
            Path::Member(_, name) => {
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
        let signals = Path::Member(&Path::Root, "signals");
        let signal = Path::Element(&signals, 1);
        let data = Path::Member(&signal, "data");
        let odd = Path::Member(&data, "a/b~c \"d\"");
        assert_eq!(odd.place().field, r#"signals[1].data["a/b~c \"d\""]"#);
        assert_eq!(odd.place().pointer, "/signals/1/data/a~1b~0c \"d\"");
        assert_eq!(Path::Root.place(), Place { field: String::new(), pointer: String::new() });
    }

    #[test]
    fn a_path_too_long_to_report_ends_at_the_last_step_that_fits() {
        let data = Path::Member(&Path::Root, "data");
        let long = "x".repeat(REPORTED_PATH_BYTES);
        let deep = Path::Member(&data, &long);
        assert_eq!(Path::Member(&deep, "y").place().pointer, "/data");
        let controls = "\u{1}".repeat(REPORTED_PATH_BYTES / 7);
        assert_eq!(Path::Member(&data, &controls).place().pointer, "/data");
    }

    #[test]
    fn place_of_a_name_of_any_length_holds_no_more_memory_than_is_reported() {
        for length in [REPORTED_PATH_BYTES / 2, REPORTED_PATH_BYTES, REPORTED_PATH_BYTES + 1, 4 * 1024 * 1024] {
            for name in ["x".repeat(length), "\u{1}".repeat(length)] {
                let place = Path::Member(&Path::Root, &name).place();
                let bytes = place.field.capacity().max(place.pointer.capacity());
                assert!(bytes <= REPORTED_PATH_BYTES, "{bytes} bytes for a name of {length}");
            }
        }
    }
}
