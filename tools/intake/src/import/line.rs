//! The fields of a line that no client sends: they say when, and under which key, the line was stored before. So the lines
//! of `signals list --json` and `customers show --json` can be imported again.

use std::borrow::Cow;
use std::time::Duration;

use model::customer::is_reserved;
use model::identifier::RequestIdentifier;
use model::json::{JsonText, Value};
use model::limits::MAX_UNKNOWN_FIELDS;
use model::pointer::JsonPointer;
use model::timestamp::Timestamp;
use model::validation::{FieldErrorCode, FieldErrors};

use super::outcome::LineError;
use crate::time_args::rfc3339;

/// The largest index of a signal in its request: the sort key has four digits for it.
const MAX_INDEX: usize = 9_999;

/// How far ahead a time may be: as far as clocks differ. A customer from the future would refuse the updates of clients until then.
pub(super) const MAX_AHEAD: Duration = Duration::from_mins(5);

/// A line, without the fields that no client sends.
pub(super) struct ImportLine<'a> {
    line: JsonText<'a>,
    /// What a client would have sent, if the line has more: one request, or several of a customer.
    rewritten: Vec<String>,
    /// When the signal was received, or the customer updated.
    pub(super) time: Option<Timestamp>,
    /// The request that the signal came with, and its index in that request.
    pub(super) origin: Option<(RequestIdentifier, usize)>,
}

impl<'a> ImportLine<'a> {
    /// What a client would have sent: the first request.
    pub(super) fn json(&self) -> JsonText<'_> {
        self.requests().next().unwrap_or(self.line)
    }

    /// What a client would have sent: one request, or several of a customer.
    pub(super) fn requests(&self) -> impl Iterator<Item = JsonText<'_>> {
        // They were written as JSON, so they can be parsed.
        let rewritten = self.rewritten.iter().filter_map(|text| JsonText::parse(text).ok());
        self.rewritten.is_empty().then_some(self.line).into_iter().chain(rewritten)
    }

    /// Reads the line of a signal, at `now`. `receivedAt` is when it was received. A line that has `requestIdentifier` as well is
    /// one of `signals list --json`: with `index` these three make the key of the signal, so that it is stored once.
    pub(super) fn of_signal(line: JsonText<'a>, now: Timestamp) -> Result<Self, LineError> {
        let mut read = Self { line, rewritten: Vec::new(), time: None, origin: None };
        let Some((received_at, mut fields)) = time_and_fields(line, "receivedAt") else { return Ok(read) };
        read.time = Some(read_time("receivedAt", received_at, now)?);
        if let Some(identifier) = take(&mut fields, "requestIdentifier") {
            read.origin = Some((read_request_identifier(identifier)?, read_index(take(&mut fields, "index"))?));
            // An expiry is computed anew: the retention may have changed.
            take(&mut fields, "expiresAt");
            if let Some(value) = take(&mut fields, "undocumented") {
                fields.extend(self::fields(value).unwrap_or_else(|| vec![("undocumented".into(), value)]));
            }
        }
        Ok(Self { rewritten: vec![object(texts(&fields))], ..read })
    }

    /// Reads the line of a customer, at `now`. `updatedAt` is when it was updated. A line that has it and no `customerData` is one of
    /// `customers show --json`: its other fields are the profile, which several requests may have filled.
    pub(super) fn of_customer(line: JsonText<'a>, now: Timestamp) -> Result<Self, LineError> {
        let mut read = Self { line, rewritten: Vec::new(), time: None, origin: None };
        let Some((updated_at, mut fields)) = time_and_fields(line, "updatedAt") else { return Ok(read) };
        read.time = Some(read_time("updatedAt", updated_at, now)?);
        let rewritten = if fields.iter().any(|(name, _)| name == "customerData") {
            vec![object(texts(&fields))]
        } else {
            take(&mut fields, "accountId");
            take(&mut fields, "createdAt");
            let (own, profile): (Fields<'_>, Fields<'_>) = fields.into_iter().partition(|(name, _)| is_reserved(name));
            let request = |fields: &[_]| object(texts(&own).chain([("customerData", object(texts(fields)).as_str())]));
            if profile.is_empty() {
                vec![request(&[])]
            } else {
                profile.chunks(MAX_UNKNOWN_FIELDS).map(request).collect()
            }
        };
        Ok(Self { rewritten, ..read })
    }
}

type Fields<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

/// The field `name` and all others, if the line has that one.
fn time_and_fields<'a>(line: JsonText<'a>, name: &str) -> Option<(Value<'a>, Fields<'a>)> {
    // Most lines do not have it, and a search is faster than reading the fields. Only with escapes, a name has other spellings.
    if !line.as_str().contains(name) && !line.as_str().contains('\\') {
        return None;
    }
    let mut fields = fields(line.value())?;
    Some((take(&mut fields, name)?, fields))
}

/// The fields of an object that are not null. `None` when it is no object, or has invalid names: its validation reports them.
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
    let time = time.ok_or_else(|| error("must be a time in UTC such as 2026-11-20T22:16:40.009Z"))?;
    if time > now.plus(MAX_AHEAD) { Err(error("must not be more than five minutes ahead")) } else { Ok(time) }
}

fn read_request_identifier(value: Value<'_>) -> Result<RequestIdentifier, LineError> {
    let uuid = read_string(value).and_then(RequestIdentifier::parse);
    uuid.ok_or_else(|| LineError::field("requestIdentifier", FieldErrorCode::InvalidUuid, "must be a UUID"))
}

fn read_index(value: Option<Value<'_>>) -> Result<usize, LineError> {
    let error = |code, message: &str| LineError::field("index", code, message);
    let value =
        value.ok_or_else(|| error(FieldErrorCode::Required, "is required beside receivedAt and requestIdentifier"))?;
    let index = value.text().parse().ok().filter(|index| *index <= MAX_INDEX);
    index.ok_or_else(|| error(FieldErrorCode::InvalidType, &format!("must be a whole number from 0 to {MAX_INDEX}")))
}

/// The names and the JSON texts of fields.
fn texts<'f>(fields: &'f [(Cow<'_, str>, Value<'_>)]) -> impl Iterator<Item = (&'f str, &'f str)> {
    fields.iter().map(|(name, value)| (name.as_ref(), value.text()))
}

/// The JSON text of an object with these fields.
fn object<'f>(fields: impl Iterator<Item = (&'f str, &'f str)>) -> String {
    let members: Vec<String> = fields.map(|(name, json)| format!("{}:{json}", serde_json::Value::from(name))).collect();
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
        let line = at(latest);
        let line = JsonText::parse(&line).unwrap();
        assert_eq!(ImportLine::of_signal(line, now).unwrap().time, Some(latest));
        assert_eq!(ImportLine::of_customer(line, now).unwrap().time, Some(latest));
        for ahead in [latest.plus(Duration::from_millis(1)), Timestamp::from_millis(u64::MAX)] {
            let line = at(ahead);
            let line = JsonText::parse(&line).unwrap();
            for (refused, name) in
                [(ImportLine::of_signal(line, now), "receivedAt"), (ImportLine::of_customer(line, now), "updatedAt")]
            {
                let error = refused.err().map(|error| serde_json::to_value(error).unwrap());
                let message = format!("{name} must not be more than five minutes ahead.");
                let expected =
                    json!({"field": name, "pointer": format!("/{name}"), "code": "invalid-type", "message": message});
                assert_eq!(error, Some(expected));
            }
        }
    }
}
