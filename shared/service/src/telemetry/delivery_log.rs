//! The log lines of the deliver function, with their metrics: one for each invocation.
//!
//! They contain counts and codes: never a key of an item, a customer or a value.

use std::time::Duration;

use model::timestamp::Timestamp;

use super::emf::{EmfRecord, Value, write};
use super::metric::Metric;

/// What became of the records of a batch.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// All of them.
    pub records: usize,
    /// Those whose events every target has.
    pub delivered: usize,
    /// Those that are no event.
    pub skipped: usize,
    /// Those that could not be read and are in the failure bucket.
    pub unreadable: usize,
    /// Those that Lambda delivers again.
    pub undelivered: usize,
    /// Delivered events of which the bus has only a reference.
    pub references: usize,
    /// Why records are undelivered.
    pub failure: Option<Failure>,
}

/// Why a record is undelivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Who did not take it.
    pub target: &'static str,
    /// A code.
    pub cause: String,
}

/// A batch is delivered, or a part of it.
pub fn delivered(now: Timestamp, request_id: &str, counts: &Counts, duration: Duration) {
    let Counts { records, delivered, skipped, unreadable, undelivered, references, failure } = counts;
    let level = match failure {
        Some(_) => Some("ERROR"),
        None if *unreadable > 0 => Some("WARN"),
        None => None,
    };
    let members = [
        ("message", Some(Value::Text("delivered"))),
        ("requestId", Some(Value::Text(request_id))),
        ("records", Some(Value::Count(*records))),
        ("failedTarget", failure.as_ref().map(|failure| Value::Text(failure.target))),
        ("cause", failure.as_ref().map(|failure| Value::Text(&failure.cause))),
        ("durationMs", Some(Value::Milliseconds(duration))),
    ];
    let metrics = [
        (Metric::RecordsDelivered, Some(Value::Count(*delivered))),
        (Metric::RecordsSkipped, Some(Value::Count(*skipped))),
        (Metric::RecordsUnreadable, Some(Value::Count(*unreadable))),
        (Metric::RecordsUndelivered, Some(Value::Count(*undelivered))),
        (Metric::EventReferences, Some(Value::Count(*references))),
    ];
    write(&EmfRecord { at: now, level, members: &members, dimension: None, metrics: &metrics });
}

/// The payload of an invocation is no event of a stream. Lambda delivers it again.
pub fn unreadable_event(now: Timestamp, request_id: &str) {
    let members = [
        ("message", Some(Value::Text("the payload is not an event of a DynamoDB stream"))),
        ("requestId", Some(Value::Text(request_id))),
    ];
    write(&EmfRecord { at: now, level: Some("ERROR"), members: &members, dimension: None, metrics: &[] });
}
