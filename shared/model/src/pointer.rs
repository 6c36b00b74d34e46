//! Where a value is in a body: JSON Pointers (RFC 6901) and the `field` notation of responses
//! (docs/api.md, Errors).
//!
//! They contain field names, never values, and their length is bounded.

use serde::{Deserialize, Serialize};

use crate::limits::MAX_POINTER_BYTES;

/// Where a value is in the body, in both notations of a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldLocation {
    /// The place as a program would name it, `signals[1].eventType`, or the empty string for the
    /// whole body.
    pub field: String,
    /// A JSON Pointer (RFC 6901): `/signals/1/eventType`; the empty string for the whole body.
    pub pointer: String,
}

/// A place in the body, or the nearest field above it whose path is short enough for a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NearestLocation {
    pub(crate) location: FieldLocation,
    /// Whether the path was too long, so that `location` is a field above the place.
    pub(crate) is_above: bool,
}

/// The path to a value while a body is read. It borrows its parent, so that nothing is allocated
/// unless there is an error.
#[derive(Clone, Copy, Debug)]
pub enum JsonPointer<'a> {
    /// The whole body, whose path is empty.
    Root,
    /// The field of this name in an object. RFC 6901 calls it a member.
    Member(&'a JsonPointer<'a>, &'a str),
    /// An element of an array, counted from 0.
    Element(&'a JsonPointer<'a>, usize),
}

impl JsonPointer<'_> {
    /// Formats the path. One longer than [`MAX_POINTER_BYTES`] ends at the last step that fits.
    pub(crate) fn nearest_location(&self) -> NearestLocation {
        let mut steps = Vec::new();
        let mut path = self;
        while let JsonPointer::Member(parent, _) | JsonPointer::Element(parent, _) = path {
            steps.push(path);
            path = parent;
        }
        let mut location = FieldLocation {
            field: String::new(),
            pointer: String::new(),
        };
        let mut is_above = false;
        for step in steps.into_iter().rev() {
            // A name that is too long is not formatted, because it can be as long as the body.
            if matches!(step, JsonPointer::Member(_, name) if name.len() > MAX_POINTER_BYTES) {
                is_above = true;
                break;
            }
            let field_length = location.field.len();
            let pointer_length = location.pointer.len();
            step.write(&mut location);
            // The field is the longer one where a name has quotes or backslashes: it is JSON inside
            // the response's JSON.
            if bytes_in_a_response(&location.field).max(bytes_in_a_response(&location.pointer))
                > MAX_POINTER_BYTES
            {
                location.field.truncate(field_length);
                location.pointer.truncate(pointer_length);
                is_above = true;
                break;
            }
        }
        location.field.shrink_to_fit();
        location.pointer.shrink_to_fit();
        NearestLocation { location, is_above }
    }

    fn write(&self, location: &mut FieldLocation) {
        match self {
            JsonPointer::Root => {}
            JsonPointer::Element(_, index) => {
                location.field.extend(["[", &index.to_string(), "]"]);
                location.pointer.extend(["/", &index.to_string()]);
            }
            JsonPointer::Member(_, name) => {
                let plain = !name.is_empty()
                    && name
                        .chars()
                        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'));
                if plain {
                    if !location.field.is_empty() {
                        location.field.push('.');
                    }
                    location.field.push_str(name);
                } else {
                    location
                        .field
                        .extend(["[", &serde_json::Value::from(*name).to_string(), "]"]);
                }
                location.pointer.push('/');
                location
                    .pointer
                    .push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
        }
    }
}

/// The bytes that `text` takes in a response, which is JSON inside Lambda's JSON: escapes are
/// escaped again.
fn bytes_in_a_response(text: &str) -> usize {
    let bytes = |c: char| match c {
        '"' | '\\' => 4,
        c if c.is_control() => 7,
        c => c.len_utf8(),
    };
    text.chars().map(bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointer_is_formatted_in_both_notations() {
        let signals = JsonPointer::Member(&JsonPointer::Root, "signals");
        let signal = JsonPointer::Element(&signals, 1);
        let data = JsonPointer::Member(&signal, "data");
        let odd = JsonPointer::Member(&data, "a/b~c \"d\"");
        assert_eq!(
            odd.nearest_location(),
            NearestLocation {
                location: FieldLocation {
                    field: r#"signals[1].data["a/b~c \"d\""]"#.to_owned(),
                    pointer: "/signals/1/data/a~1b~0c \"d\"".to_owned(),
                },
                is_above: false,
            }
        );
        assert_eq!(
            JsonPointer::Root.nearest_location(),
            NearestLocation {
                location: FieldLocation {
                    field: String::new(),
                    pointer: String::new()
                },
                is_above: false,
            }
        );
    }

    #[test]
    fn pointer_over_the_limit_ends_at_the_last_step_that_fits() {
        let data = JsonPointer::Member(&JsonPointer::Root, "data");
        let long = "x".repeat(MAX_POINTER_BYTES);
        let deep = JsonPointer::Member(&data, &long);
        let controls = "\u{1}".repeat(MAX_POINTER_BYTES / 7);
        for path in [
            JsonPointer::Member(&deep, "y"),
            JsonPointer::Member(&data, &controls),
        ] {
            let nearest = path.nearest_location();
            assert_eq!(nearest.location.pointer, "/data");
            assert!(nearest.is_above);
        }
    }

    #[test]
    fn location_of_a_long_name_uses_bounded_memory() {
        for length in [
            MAX_POINTER_BYTES / 2,
            MAX_POINTER_BYTES,
            MAX_POINTER_BYTES + 1,
            4 * 1024 * 1024,
        ] {
            for name in ["x".repeat(length), "\u{1}".repeat(length)] {
                let path = JsonPointer::Member(&JsonPointer::Root, &name);
                let location = path.nearest_location().location;
                let bytes = location.field.capacity().max(location.pointer.capacity());
                assert!(
                    bytes <= MAX_POINTER_BYTES,
                    "{bytes} bytes for a name of {length}"
                );
            }
        }
    }
}
