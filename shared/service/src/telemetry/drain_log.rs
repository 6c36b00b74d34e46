//! The log lines of the overflow function, with their metrics: one for each message.
//!
//! They contain accounts, key ids and counts: never a customer or a value.

use model::account::AccountId;
use model::timestamp::Timestamp;
use store::batch_context::BatchContext;

use super::emf::{EmfRecord, Value, write};
use super::metric::Metric;

/// A message whose signals are stored.
#[derive(Clone, Copy, Debug)]
pub struct Drained<'a> {
    /// The time of the drain.
    pub now: Timestamp,
    /// Whose signals, and since when.
    pub context: BatchContext<'a>,
    /// Signals that are stored as valid ones.
    pub accepted: usize,
    /// Signals that were accepted and are stored as rejected ones.
    pub rejected: usize,
    /// Whether another request has taken the requestIdentifier in between.
    pub is_conflict: bool,
}

/// Writes the line of a message whose signals are stored.
pub fn drained(drained: &Drained<'_>) {
    let Drained { now, context, accepted, rejected, is_conflict } = *drained;
    let level = (rejected > 0 || is_conflict).then_some("WARN");
    let received_at = context.received_at.to_string();
    let members = [
        ("message", Some(Value::Text("drained"))),
        ("requestId", Some(Value::Text(context.request_id))),
        ("accountId", Some(Value::Text(context.account_id.as_str()))),
        ("keyId", Some(Value::Text(context.key_id))),
        ("requestIdentifier", Some(Value::Text(context.request_identifier.as_sent()))),
        ("receivedAt", Some(Value::Text(&received_at))),
        ("conflict", is_conflict.then_some(Value::Bool(true))),
    ];
    let metrics = [
        (Metric::SignalsDrained, Some(Value::Count(accepted))),
        (Metric::AcceptedSignalsRejected, (rejected > 0).then_some(Value::Count(rejected))),
        (Metric::DrainDelay, Some(Value::Milliseconds(now.duration_since(context.received_at)))),
    ];
    write(&EmfRecord { at: now, level, members: &members, dimension: None, metrics: &metrics });
}

/// The update of a customer is stored, or newer ones have replaced it.
pub fn drained_update(
    now: Timestamp,
    request_id: &str,
    (account_id, key_id): (&AccountId, &str),
    updated_at: Timestamp,
) {
    let received_at = updated_at.to_string();
    let members = [
        ("message", Some(Value::Text("drained"))),
        ("requestId", Some(Value::Text(request_id))),
        ("accountId", Some(Value::Text(account_id.as_str()))),
        ("keyId", Some(Value::Text(key_id))),
        ("receivedAt", Some(Value::Text(&received_at))),
    ];
    let metrics = [
        (Metric::CustomersDrained, Some(Value::Count(1))),
        (Metric::DrainDelay, Some(Value::Milliseconds(now.duration_since(updated_at)))),
    ];
    write(&EmfRecord { at: now, level: None, members: &members, dimension: None, metrics: &metrics });
}

/// A message could not be drained, because of `error`. It is in the dead-letter queue, or will be delivered again.
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
    write(&EmfRecord { at: now, level: Some("ERROR"), members: &members, dimension: None, metrics: &metrics });
}
