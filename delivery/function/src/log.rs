//! The log lines of the function, with their metrics: one for each invocation.
//!
//! They contain counts and codes: never a key of an item, a customer or a value.

use std::time::Duration;

use model::timestamp::Timestamp;
use service::telemetry::emf::{LogLine, Value, write};

/// What became of the records of a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) records: usize,
    /// Records whose events every target has.
    pub(crate) delivered: usize,
    /// Records without an event, such as that of an expired signal.
    pub(crate) skipped: usize,
    /// Records that could not be read and are in the failure bucket.
    pub(crate) unreadable: usize,
    /// Records that Lambda will deliver again, because a target or the failure bucket failed.
    pub(crate) undelivered: usize,
    /// Delivered events of which the bus has only a reference.
    pub(crate) references: usize,
    pub(crate) failure: Option<Failure>,
}

/// Why the first undelivered record is undelivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The target that did not take it, or the failure bucket.
    pub(crate) target: &'static str,
    /// A code, which contains no value of a client.
    pub(crate) cause: String,
}

/// Writes what became of a batch.
pub(crate) fn delivered(now: Timestamp, request_id: &str, counts: &Counts, duration: Duration) {
    let Counts {
        records,
        delivered,
        skipped,
        unreadable,
        undelivered,
        references,
        failure,
    } = counts;
    let level = match failure {
        Some(_) => Some("ERROR"),
        None if *unreadable > 0 => Some("WARN"),
        None => None,
    };
    let members = [
        ("message", Some(Value::Text("delivered"))),
        ("requestId", Some(Value::Text(request_id))),
        ("records", Some(Value::Count(*records))),
        (
            "failedTarget",
            failure.as_ref().map(|failure| Value::Text(failure.target)),
        ),
        (
            "cause",
            failure.as_ref().map(|failure| Value::Text(&failure.cause)),
        ),
        ("durationMs", Some(Value::Milliseconds(duration))),
    ];
    let metrics = [
        ("RecordsDelivered", Some(Value::Count(*delivered))),
        ("RecordsSkipped", Some(Value::Count(*skipped))),
        ("RecordsUnreadable", Some(Value::Count(*unreadable))),
        ("RecordsUndelivered", Some(Value::Count(*undelivered))),
        ("EventReferences", Some(Value::Count(*references))),
    ];
    write(&LogLine {
        at: now,
        level,
        members: &members,
        dimension: None,
        metrics: &metrics,
    });
}

/// Writes that the payload of an invocation is not an event of a stream.
pub(crate) fn unreadable_event(now: Timestamp, request_id: &str) {
    let members = [
        (
            "message",
            Some(Value::Text(
                "the payload is not an event of a DynamoDB stream",
            )),
        ),
        ("requestId", Some(Value::Text(request_id))),
    ];
    let metrics: [(&str, _); 0] = [];
    write(&LogLine {
        at: now,
        level: Some("ERROR"),
        members: &members,
        dimension: None,
        metrics: &metrics,
    });
}
