//! The fields of a line that no client sends: they say when, and under which key, the line was
//! stored before. So the lines of `signals list --json` and `customers show --json` can be imported
//! again.

use std::borrow::Cow;
use std::time::Duration;

use anyhow::{Context as _, Result};
use model::customer::is_reserved;
use model::identifier::RequestIdentifier;
use model::json::{JsonText, Value};
use model::limits::MAX_UNKNOWN_FIELDS;
use model::pointer::JsonPointer;
use model::timestamp::Timestamp;
use model::validation::{FieldErrorCode, FieldErrors};

use super::chunks::{Chunk, Kind};
use super::line_error::LineError;
use crate::time_args::rfc3339;

/// The largest index of a signal in its request: the sort key has four digits for it.
const MAX_INDEX: usize = 9_999;

/// How far ahead a time may be: as far as clocks differ. A customer from the future would refuse
/// the updates of clients until then.
pub(super) const MAX_AHEAD: Duration = Duration::from_mins(5);

/// A line, without the fields that no client sends.
pub(super) struct ImportLine<'a> {
    line: JsonText<'a>,
    /// What a client would have sent, if the line has more: one request, or several of a customer.
    rewritten: Vec<String>,
    /// When the signal was received, or the customer updated, if the line says so.
    time: Option<Timestamp>,
    /// The request that the signal came with, and its index in that request.
    pub(super) origin: Option<(RequestIdentifier, usize)>,
}

/// Parses the lines to import of a chunk, with their numbers and times. Those that cannot be parsed
/// go to `reject`.
///
/// # Errors
/// A line has no time, and there is no `received_at`.
pub(super) fn parse_lines(
    chunk: &Chunk,
    kind: Kind,
    received_at: Option<Timestamp>,
    mut reject: impl FnMut(u64, LineError),
) -> Result<Vec<(u64, Timestamp, ImportLine<'_>)>> {
    let (now, mut parsed) = (Timestamp::now(), Vec::with_capacity(chunk.lines.len()));
    for (number, line) in &chunk.lines {
        let text = line.as_deref().map_err(Clone::clone);
        let json = text.and_then(|text| {
            JsonText::parse(text).map_err(|error| {
                LineError::malformed(format!(
                    "The line is not JSON: {} at column {}.",
                    error.reason, error.column
                ))
            })
        });
        match json.and_then(|json| ImportLine::read(json, kind, now)) {
            Ok(line) => {
                let time = line.time.or(received_at).with_context(|| {
                    format!(
                        "Line {number} has no {}. Give --received-at TIME, which such lines get, in this and each further run.",
                        kind.time_field()
                    )
                })?;
                parsed.push((*number, time, line));
            }
            Err(error) => reject(*number, error),
        }
    }
    Ok(parsed)
}

impl<'a> ImportLine<'a> {
    /// What a client would have sent: the first request.
    pub(super) fn json(&self) -> JsonText<'_> {
        self.requests().next().unwrap_or(self.line)
    }

    /// What a client would have sent: one request, or several of a customer.
    pub(super) fn requests(&self) -> impl Iterator<Item = JsonText<'_>> {
        // They were written as JSON, so they can be parsed.
        let rewritten = self
            .rewritten
            .iter()
            .filter_map(|text| JsonText::parse(text).ok());
        self.rewritten
            .is_empty()
            .then_some(self.line)
            .into_iter()
            .chain(rewritten)
    }

    /// Reads a line at `now`, without the fields that no client sends.
    fn read(line: JsonText<'a>, kind: Kind, now: Timestamp) -> Result<Self, LineError> {
        let mut read = Self {
            line,
            rewritten: Vec::new(),
            time: None,
            origin: None,
        };
        let Some((time, mut fields)) = time_and_fields(line, kind.time_field()) else {
            return Ok(read);
        };
        read.time = Some(read_time(kind.time_field(), time, now)?);
        read.rewritten = match kind {
            Kind::Customers => customer_requests(fields),
            Kind::Signals => {
                read.origin = take_origin(&mut fields)?;
                vec![object(texts(&fields))]
            }
        };
        Ok(read)
    }
}

/// Removes what makes the key of a signal beside the time. A line that has `requestIdentifier` is
/// one of `signals list --json`.
fn take_origin(fields: &mut Fields<'_>) -> Result<Option<(RequestIdentifier, usize)>, LineError> {
    let Some(identifier) = take(fields, "requestIdentifier") else {
        return Ok(None);
    };
    let origin = (
        read_request_identifier(identifier)?,
        read_index(take(fields, "index"))?,
    );
    // An expiry is computed anew: the retention may have changed.
    take(fields, "expiresAt");
    if let Some(value) = take(fields, "undocumented") {
        fields.extend(self::fields(value).unwrap_or_else(|| vec![("undocumented".into(), value)]));
    }
    Ok(Some(origin))
}

/// The requests of a customer. A line without `customerData` is one of `customers show --json`: its
/// other fields are the profile, which several requests may have filled.
fn customer_requests(mut fields: Fields<'_>) -> Vec<String> {
    if fields.iter().any(|(name, _)| name == "customerData") {
        return vec![object(texts(&fields))];
    }
    take(&mut fields, "accountId");
    take(&mut fields, "createdAt");
    let (own, profile): (Fields<'_>, Fields<'_>) =
        fields.into_iter().partition(|(name, _)| is_reserved(name));
    let request = |fields: &[_]| {
        object(texts(&own).chain([("customerData", object(texts(fields)).as_str())]))
    };
    if profile.is_empty() {
        vec![request(&[])]
    } else {
        profile.chunks(MAX_UNKNOWN_FIELDS).map(request).collect()
    }
}

type Fields<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

/// The field `name` and all others, if the line has that one.
fn time_and_fields<'a>(line: JsonText<'a>, name: &str) -> Option<(Value<'a>, Fields<'a>)> {
    // Most lines do not have it, and a search is faster than reading the fields. Only with escapes,
    // a name has other spellings.
    if !line.as_str().contains(name) && !line.as_str().contains('\\') {
        return None;
    }
    let mut fields = fields(line.value())?;
    Some((take(&mut fields, name)?, fields))
}

/// The fields of an object that are not null. `None` when it is no object, or has invalid names:
/// its validation reports them.
fn fields(value: Value<'_>) -> Option<Fields<'_>> {
    let mut errors = FieldErrors::default();
    let mut object = value.as_object(&JsonPointer::Root)?;
    let mut fields = Vec::new();
    while let Some(field) = object.next_field(&mut errors) {
        if !field.value.is_null() {
            fields.push((field.name, field.value));
        }
    }
    errors.is_empty().then_some(fields)
}

/// Removes the field `name`.
fn take<'a>(fields: &mut Fields<'a>, name: &str) -> Option<Value<'a>> {
    let position = fields.iter().position(|(of_field, _)| of_field == name)?;
    Some(fields.remove(position).1)
}

fn read_string(value: Value<'_>) -> Option<Cow<'_, str>> {
    value.as_string()?.decode().ok()
}

fn read_time(name: &str, value: Value<'_>, now: Timestamp) -> Result<Timestamp, LineError> {
    let error = |message| LineError::field(name, FieldErrorCode::InvalidType, message);
    let time = read_string(value).and_then(|text| rfc3339(&text));
    let time =
        time.ok_or_else(|| error("must be a time in UTC such as 2026-11-20T22:16:40.009Z"))?;
    if time > now.plus(MAX_AHEAD) {
        Err(error("must not be more than five minutes ahead"))
    } else {
        Ok(time)
    }
}

fn read_request_identifier(value: Value<'_>) -> Result<RequestIdentifier, LineError> {
    let uuid = read_string(value).and_then(RequestIdentifier::parse);
    uuid.ok_or_else(|| {
        LineError::field(
            "requestIdentifier",
            FieldErrorCode::InvalidUuid,
            "must be a UUID",
        )
    })
}

fn read_index(value: Option<Value<'_>>) -> Result<usize, LineError> {
    let error = |code, message: &str| LineError::field("index", code, message);
    let value = value.ok_or_else(|| {
        error(
            FieldErrorCode::Required,
            "is required beside receivedAt and requestIdentifier",
        )
    })?;
    let index = value
        .text()
        .parse()
        .ok()
        .filter(|index| *index <= MAX_INDEX);
    index.ok_or_else(|| {
        error(
            FieldErrorCode::InvalidType,
            &format!("must be a whole number from 0 to {MAX_INDEX}"),
        )
    })
}

/// The names and the JSON texts of fields.
fn texts<'f>(fields: &'f [(Cow<'_, str>, Value<'_>)]) -> impl Iterator<Item = (&'f str, &'f str)> {
    fields
        .iter()
        .map(|(name, value)| (name.as_ref(), value.text()))
}

/// The JSON text of an object with these fields.
fn object<'f>(fields: impl Iterator<Item = (&'f str, &'f str)>) -> String {
    let members: Vec<String> = fields
        .map(|(name, json)| format!("{}:{json}", serde_json::Value::from(name)))
        .collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn time_of_a_line_may_be_five_minutes_ahead_and_no_more() {
        let now = Timestamp::from_millis(1_795_214_024_123);
        let at = |time: Timestamp| json!({"receivedAt": time, "updatedAt": time}).to_string();
        let latest = now.plus(MAX_AHEAD);
        for (kind, name) in [
            (Kind::Signals, "receivedAt"),
            (Kind::Customers, "updatedAt"),
        ] {
            let read = |line: &str| {
                let read = ImportLine::read(JsonText::parse(line).unwrap(), kind, now);
                read.map(|line| line.time)
                    .map_err(|error| serde_json::to_value(error).unwrap())
            };
            assert_eq!(read(&at(latest)), Ok(Some(latest)));
            for ahead in [
                latest.plus(Duration::from_millis(1)),
                Timestamp::from_millis(u64::MAX),
            ] {
                let message = format!("{name} must not be more than five minutes ahead.");
                let expected = json!({"field": name, "pointer": format!("/{name}"), "code": "invalid-type", "message": message});
                assert_eq!(read(&at(ahead)), Err(expected));
            }
        }
    }
}
