//! The fields of a line: reads them, takes one out, reads the value of one that no client sends, and
//! writes them as JSON again. Must not know which fields a line has.

use std::borrow::Cow;
use std::time::UNIX_EPOCH;

use model::identifier::RequestIdentifier;
use model::json::Value;
use model::pointer::JsonPointer;
use model::timestamp::Timestamp;
use model::validation::{FieldError, FieldErrorCode, FieldErrors};

use super::MAX_AHEAD;
use crate::import::line_error::LineError;

/// The largest index of a signal in its request: the sort key has four digits for it.
const MAX_INDEX: usize = 9_999;

/// A field of an object, as the line has it.
pub(super) struct LineField<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) value: Value<'a>,
}

pub(super) type Fields<'a> = Vec<LineField<'a>>;

impl LineField<'_> {
    /// The field as a member of a JSON object.
    pub(super) fn to_member(&self) -> String {
        let name = serde_json::Value::from(self.name.as_ref());
        format!("{name}:{}", self.value.text())
    }
}

/// The JSON text of an object with these fields.
pub(super) fn write_object(fields: &[LineField<'_>]) -> String {
    let members: Vec<String> = fields.iter().map(LineField::to_member).collect();
    format!("{{{}}}", members.join(","))
}

/// The fields of an object that are not null. `None` when the value is no object or has invalid
/// names: the validation reports these.
pub(super) fn read_fields(value: Value<'_>) -> Option<Fields<'_>> {
    read_fields_or_errors(value).ok()
}

/// The same, or what is wrong with the value or its names.
pub(super) fn read_fields_or_errors(value: Value<'_>) -> Result<Fields<'_>, Vec<FieldError>> {
    let mut errors = FieldErrors::default();
    let Some(mut object) = value.as_object(&JsonPointer::Root) else {
        let root = JsonPointer::Root;
        errors.add(&root, FieldErrorCode::InvalidType, "must be an object");
        return Err(errors.into_vec());
    };
    let mut fields = Vec::new();
    while let Some(field) = object.next_field(&mut errors) {
        if !field.value.is_null() {
            fields.push(LineField {
                name: field.name,
                value: field.value,
            });
        }
    }
    let errors = errors.into_vec();
    if errors.is_empty() {
        Ok(fields)
    } else {
        Err(errors)
    }
}

/// Removes the field `wanted` and returns its value.
pub(super) fn take_field<'a>(fields: &mut Fields<'a>, wanted: &str) -> Option<Value<'a>> {
    let position = fields.iter().position(|field| field.name == wanted)?;
    let field = fields.remove(position);
    Some(field.value)
}

fn read_string(value: Value<'_>) -> Option<Cow<'_, str>> {
    value.as_string()?.decode().ok()
}

pub(super) fn read_time(
    name: &str,
    value: Value<'_>,
    now: Timestamp,
) -> Result<Timestamp, LineError> {
    let error = |message: &str| LineError::field(name, FieldErrorCode::InvalidType, message);
    let time = read_string(value)
        .and_then(|text| rfc3339(&text))
        .ok_or_else(|| error("must be a time in UTC such as 2026-11-20T22:16:40.009Z"))?;
    if time > now.plus(MAX_AHEAD) {
        let minutes = MAX_AHEAD.as_secs() / 60;
        return Err(error(&format!(
            "must not be more than {minutes} minutes ahead"
        )));
    }
    Ok(time)
}

/// Parses a time such as `2026-11-20T22:16:40.009Z`, with or without a fraction.
fn rfc3339(text: &str) -> Option<Timestamp> {
    // humantime ignores an offset after a fraction, also a malformed one such as `+01:0Z`.
    if text.contains('+') {
        return None;
    }
    let time = humantime::parse_rfc3339(text).ok()?;
    let since_epoch = time.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_millis(0).plus(since_epoch))
}

pub(super) fn read_request_identifier(value: Value<'_>) -> Result<RequestIdentifier, LineError> {
    let identifier = read_string(value).and_then(RequestIdentifier::parse);
    identifier.ok_or_else(|| {
        LineError::field(
            "requestIdentifier",
            FieldErrorCode::InvalidUuid,
            "must be a UUID",
        )
    })
}

pub(super) fn read_index(value: Option<Value<'_>>) -> Result<usize, LineError> {
    let Some(value) = value else {
        return Err(LineError::field(
            "index",
            FieldErrorCode::Required,
            "is required beside receivedAt and requestIdentifier",
        ));
    };
    let index = value.text().parse().ok();
    index.filter(|index| *index <= MAX_INDEX).ok_or_else(|| {
        LineError::field(
            "index",
            FieldErrorCode::InvalidType,
            &format!("must be a whole number from 0 to {MAX_INDEX}"),
        )
    })
}
