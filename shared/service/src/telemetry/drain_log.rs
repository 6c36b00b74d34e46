//! The log lines of the overflow function, with their metrics: one for each message.
//!
//! They contain accounts, key ids and counts: never a customer or a value.

use model::account::AccountId;
use model::timestamp::Timestamp;

use super::emf::{LogLine, Value, write};
use super::metric::Metric;

/// A message that is drained.
#[derive(Clone, Copy, Debug)]
pub struct Drained<'a> {
    /// The time of the drain.
    pub now: Timestamp,
    /// Lambda's id of the invocation that drained it.
    pub request_id: &'a str,
    /// Whose signals or update it has.
    pub account_id: &'a AccountId,
    /// The API key that they were sent with.
    pub key_id: &'a str,
    /// When the signals, or the last attempt of the update, arrived.
    pub received_at: Timestamp,
    /// That of the signals.
    pub request_identifier: Option<&'a str>,
    /// How many signals are stored as valid and, although they were accepted, as rejected ones;
    /// `None` for an update, which is stored, or which newer ones have replaced.
    pub signals: Option<(usize, usize)>,
    /// Whether another request has taken the requestIdentifier in between.
    pub is_conflict: bool,
}

/// Writes the line of a message that is drained.
pub fn drained(drained: &Drained<'_>) {
    let Drained {
        now,
        received_at,
        request_identifier,
        signals,
        is_conflict,
        ..
    } = *drained;
    let rejected = signals
        .map(|(_, rejected)| rejected)
        .filter(|rejected| *rejected > 0);
    let received = received_at.to_string();
    let members = [
        ("message", Some(Value::Text("drained"))),
        ("requestId", Some(Value::Text(drained.request_id))),
        ("accountId", Some(Value::Text(drained.account_id.as_str()))),
        ("keyId", Some(Value::Text(drained.key_id))),
        ("requestIdentifier", request_identifier.map(Value::Text)),
        ("receivedAt", Some(Value::Text(&received))),
        ("conflict", is_conflict.then_some(Value::Bool(true))),
    ];
    let metrics = [
        (
            Metric::SignalsDrained,
            signals.map(|(accepted, _)| Value::Count(accepted)),
        ),
        (
            Metric::CustomersDrained,
            signals.is_none().then_some(Value::Count(1)),
        ),
        (Metric::AcceptedSignalsRejected, rejected.map(Value::Count)),
        (
            Metric::DrainDelay,
            Some(Value::Milliseconds(now.duration_since(received_at))),
        ),
    ];
    let level = (rejected.is_some() || is_conflict).then_some("WARN");
    write(&LogLine {
        at: now,
        level,
        members: &members,
        dimension: None,
        metrics: &metrics,
    });
}

/// A message could not be drained, because of `error`. It is in the dead-letter queue, or will be
/// delivered again.
pub fn failed(now: Timestamp, request_id: &str, error: &str, is_dead_letter: bool) {
    let message = if is_dead_letter {
        "a message could not be drained; it is in the dead-letter queue"
    } else {
        "a message could not be drained; it will be delivered again"
    };
    let members = [
        ("message", Some(Value::Text(message))),
        ("requestId", Some(Value::Text(request_id))),
        ("storeError", Some(Value::Text(error))),
    ];
    let metrics = [(Metric::DrainFailures, Some(Value::Count(1)))];
    write(&LogLine {
        at: now,
        level: Some("ERROR"),
        members: &members,
        dimension: None,
        metrics: &metrics,
    });
}
