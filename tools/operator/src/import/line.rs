//! Reads the lines of a chunk, and takes from them the fields that no client sends. These say when,
//! and under which key, the line was stored before: so the lines of `signals list --json` and
//! `customers show --json` can be imported again. [`fields`] reads, takes and writes single fields.
//! Must not know how a line is stored.

mod fields;

use std::time::Duration;

use anyhow::{Result, ensure};
use model::customer::attributes::is_reserved;
use model::identifier::RequestIdentifier;
use model::json::JsonText;
use model::limits::MAX_UNKNOWN_FIELDS;
use model::timestamp::Timestamp;
use model::validation::FieldErrorCode;

use self::fields::{
    Fields, LineField, read_fields, read_fields_or_errors, read_index, read_request_identifier,
    read_time, take_field, write_object,
};
use super::chunks::ImportLine;
use super::kind::ImportKind;
use super::line_error::{InvalidLine, LineError};

/// How far ahead of this machine's clock a time may be, since clocks differ. Until that time comes,
/// deferred updates and later imports of the same fields lose to it.
pub(super) const MAX_AHEAD: Duration = Duration::from_mins(5);

/// Lines of the file, parsed.
#[derive(Default)]
pub(super) struct ParsedLines<'a> {
    pub(super) valid: Vec<ParsedLine<'a>>,
    pub(super) invalid: Vec<InvalidLine>,
}

pub(super) struct ParsedLine<'a> {
    pub(super) number: u64,
    /// The whole line, as the file has it.
    pub(super) text: &'a str,
    /// When the signal was received, or the customer was updated.
    pub(super) time: Timestamp,
    pub(super) content: LineContent<'a>,
}

/// What is stored of a line.
pub(super) struct LineContent<'a> {
    requests: LineRequests<'a>,
    /// The time that the line has itself.
    time: Option<Timestamp>,
    /// Where the signal was before, if the line says so.
    pub(super) place: Option<PlaceInRequest>,
}

/// The requests that a client would have sent for a line.
enum LineRequests<'a> {
    /// One request: the line as it is.
    AsSent(JsonText<'a>),
    /// JSON texts without the fields that no client sends: one for a signal, one or more for a
    /// customer.
    Rewritten(Vec<String>),
}

/// The request that a signal came with, and its index in that request.
pub(super) struct PlaceInRequest {
    pub(super) request_identifier: RequestIdentifier,
    pub(super) index: usize,
}

/// Parses lines. A line without a time of its own gets `received_at`.
///
/// # Errors
/// A line of this kind has no time, and there is no `received_at`.
pub(super) fn parse_lines(
    lines: &[ImportLine],
    kind: ImportKind,
    received_at: Option<Timestamp>,
) -> Result<ParsedLines<'_>> {
    let now = Timestamp::now();
    let mut parsed = ParsedLines::default();
    for line in lines {
        let number = line.number;
        let content = parse_json(&line.text).and_then(|json| LineContent::read(json, kind, now));
        match content {
            Ok(content) => {
                let Some(time) = content.time.or(received_at) else {
                    let errors = why_no_time(line, &content, kind);
                    ensure!(!errors.is_empty(), has_no_time(number, kind));
                    parsed.invalid.push(InvalidLine { number, errors });
                    continue;
                };
                parsed.valid.push(ParsedLine {
                    number,
                    text: line.text.as_deref().unwrap_or_default(),
                    time,
                    content,
                });
            }
            Err(error) => parsed.invalid.push(InvalidLine {
                number,
                errors: vec![error],
            }),
        }
    }
    Ok(parsed)
}

fn parse_json(text: &Result<String, LineError>) -> Result<JsonText<'_>, LineError> {
    let text = text.as_deref().map_err(Clone::clone)?;
    JsonText::parse(text).map_err(|error| {
        LineError::malformed(format!(
            "The line is not JSON: {} at column {}.",
            error.reason, error.column
        ))
    })
}

fn has_no_time(number: u64, kind: ImportKind) -> String {
    let field = kind.time_field();
    format!(
        "Line {number} has no {field}. Give --received-at TIME, which such lines get, in this and each further run."
    )
}

/// What is wrong with a line in which no time of this kind was found. It is empty when only the time is
/// missing.
fn why_no_time(line: &ImportLine, content: &LineContent<'_>, kind: ImportKind) -> Vec<LineError> {
    let value = content.requests().first().map(|json| json.value());
    if let Some(Err(errors)) = value.map(read_fields_or_errors) {
        return errors.into_iter().map(LineError::Validation).collect();
    }
    other_kind(line, kind).into_iter().collect()
}

/// What is wrong with a line that has the members of the other kind, and so no time of this one.
fn other_kind(line: &ImportLine, kind: ImportKind) -> Option<LineError> {
    let other = ImportKind::of_line(line).filter(|sure| *sure != kind)?;
    let predicate = format!("is missing: the line is a {}", other.singular());
    Some(LineError::field(
        kind.time_field(),
        FieldErrorCode::Required,
        &predicate,
    ))
}

impl<'a> LineContent<'a> {
    /// Reads a line at the time `now`, and takes the fields from it that no client sends.
    fn read(line: JsonText<'a>, kind: ImportKind, now: Timestamp) -> Result<Self, LineError> {
        let time_field = kind.time_field();
        let Some(mut fields) = fields_of_stored_line(line, time_field) else {
            return Ok(Self::as_sent(line));
        };
        let Some(time) = take_field(&mut fields, time_field) else {
            return Ok(Self::as_sent(line));
        };
        let time = read_time(time_field, time, now)?;
        match kind {
            ImportKind::Customers => Ok(Self {
                requests: LineRequests::Rewritten(customer_requests(fields)),
                time: Some(time),
                place: None,
            }),
            ImportKind::Signals => {
                let place = take_place(&mut fields)?;
                Ok(Self {
                    requests: LineRequests::Rewritten(vec![write_object(&fields)]),
                    time: Some(time),
                    place,
                })
            }
        }
    }

    /// A line as a client would send it.
    pub(super) fn as_sent(line: JsonText<'a>) -> Self {
        Self {
            requests: LineRequests::AsSent(line),
            time: None,
            place: None,
        }
    }

    /// What a client would have sent of a signal.
    pub(super) fn signal(&self) -> JsonText<'_> {
        let requests = self.requests();
        *requests
            .first()
            .expect("a signal is rewritten as one request")
    }

    /// What a client would have sent: one request of a signal, one or more of a customer.
    pub(super) fn requests(&self) -> Vec<JsonText<'_>> {
        match &self.requests {
            LineRequests::AsSent(line) => vec![*line],
            LineRequests::Rewritten(texts) => texts
                .iter()
                .map(|text| JsonText::parse(text).expect("the import wrote it as JSON"))
                .collect(),
        }
    }
}

/// Takes the fields that make the key of a signal beside the time. Only a line of `signals list
/// --json` has `requestIdentifier`.
fn take_place(fields: &mut Fields<'_>) -> Result<Option<PlaceInRequest>, LineError> {
    let Some(identifier) = take_field(fields, "requestIdentifier") else {
        return Ok(None);
    };
    let request_identifier = read_request_identifier(identifier)?;
    let index = read_index(take_field(fields, "index"))?;
    // The expiry is computed anew: the retention may have changed.
    take_field(fields, "expiresAt");
    restore_unknown_fields(fields);
    Ok(Some(PlaceInRequest {
        request_identifier,
        index,
    }))
}

/// Puts the unknown fields of a client back where they were. A stored signal has them in the object
/// `undocumented`.
fn restore_unknown_fields(fields: &mut Fields<'_>) {
    let Some(value) = take_field(fields, "undocumented") else {
        return;
    };
    match read_fields(value) {
        Some(unknown_fields) => fields.extend(unknown_fields),
        None => fields.push(LineField {
            name: "undocumented".into(),
            value,
        }),
    }
}

/// The requests of a customer. A line with `accountId` and `createdAt` is one of `customers show --json`: its
/// other fields are the profile, which several requests may have filled. Any other line is a request.
fn customer_requests(mut fields: Fields<'_>) -> Vec<String> {
    let has = |name: &str| fields.iter().any(|field| field.name == name);
    let is_profile = has("accountId") && has("createdAt");
    if !is_profile {
        return vec![write_object(&fields)];
    }
    take_field(&mut fields, "accountId");
    take_field(&mut fields, "createdAt");
    let (reserved, profile): (Fields<'_>, Fields<'_>) = fields
        .into_iter()
        .partition(|field| is_reserved(&field.name));
    if profile.is_empty() {
        return vec![customer_request(&reserved, &[])];
    }
    profile
        .chunks(MAX_UNKNOWN_FIELDS)
        .map(|part| customer_request(&reserved, part))
        .collect()
}

/// A request with the fields `reserved` beside `customerData`, and the fields `profile` in it.
fn customer_request(reserved: &[LineField<'_>], profile: &[LineField<'_>]) -> String {
    let mut members: Vec<String> = reserved.iter().map(LineField::to_member).collect();
    let customer_data = write_object(profile);
    members.push(format!("\"customerData\":{customer_data}"));
    format!("{{{}}}", members.join(","))
}

/// The fields of a line that may have the field `time_field`. `None` when it has none, as most
/// lines.
fn fields_of_stored_line<'a>(line: JsonText<'a>, time_field: &str) -> Option<Fields<'a>> {
    // A search is faster than reading the fields. A name with escapes has other spellings.
    let text = line.as_str();
    if !text.contains(time_field) && !text.contains('\\') {
        return None;
    }
    read_fields(line.value())
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
            (ImportKind::Signals, "receivedAt"),
            (ImportKind::Customers, "updatedAt"),
        ] {
            let read = |line: &str| {
                let content = LineContent::read(JsonText::parse(line).unwrap(), kind, now);
                content
                    .map(|content| content.time)
                    .map_err(|error| serde_json::to_value(error).unwrap())
            };
            assert_eq!(read(&at(latest)), Ok(Some(latest)));
            for ahead in [
                latest.plus(Duration::from_millis(1)),
                Timestamp::from_millis(u64::MAX),
            ] {
                let message = format!("{name} must not be more than 5 minutes ahead.");
                let expected = json!({"field": name, "pointer": format!("/{name}"), "code": "invalid-type", "message": message});
                assert_eq!(read(&at(ahead)), Err(expected));
            }
        }
    }
}
