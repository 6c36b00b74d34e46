//! The log lines of this function, with their metrics: one for each message.
//!
//! They contain accounts, key ids and counts: never a customer or a value.

use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::Serialize;
use service::telemetry::log::{Level, LogLine};
use service::telemetry::metric::Metrics;

use crate::DrainContext;
use crate::drain_metrics::DrainMetric;

/// A message that is drained.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DrainedMessage<'a> {
    /// The account of the signals or of the update.
    pub(crate) account_id: &'a AccountId,
    /// The API key that they were sent with.
    pub(crate) key_id: &'a str,
    /// The time in the message: when the request that queued it arrived or, if the function found the record
    /// of an earlier attempt, when that attempt arrived.
    pub(crate) deferred_request_at: Timestamp,
    /// When the first attempt of that request arrived: the time in the items' keys. The operator
    /// finds the items by it.
    pub(crate) first_received_at: Timestamp,
    /// The requestIdentifier of the signals.
    pub(crate) request_identifier: Option<&'a str>,
    /// How many signals are stored; `None` for the update of a customer.
    pub(crate) signals: Option<DrainedSignals>,
    /// Whether another request has taken the requestIdentifier in between.
    pub(crate) is_conflict: bool,
}

/// How many signals of a message are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DrainedSignals {
    /// Signals that are stored as valid ones.
    pub(crate) accepted: usize,
    /// Signals that DynamoDB refused, and that are stored as rejected ones, although the function
    /// that deferred them had accepted them.
    pub(crate) rejected: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DrainedLine<'a> {
    message: &'static str,
    request_id: &'a str,
    account_id: &'a str,
    key_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_identifier: Option<&'a str>,
    received_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict: Option<bool>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FailedLine<'a> {
    message: &'static str,
    request_id: &'a str,
    /// The error of the store or, under the same name, another reason: `Panic`,
    /// `UnreadableMessage`, `NewerMessage`.
    store_error: &'a str,
}

/// Writes the line of a message that is drained.
pub(crate) fn write_drained(drain_context: DrainContext<'_>, drained: &DrainedMessage<'_>) {
    let mut metrics = Metrics::default();
    let mut rejected = 0;
    match drained.signals {
        Some(signals) => {
            rejected = signals.rejected;
            metrics.add_count(DrainMetric::SignalsDrained.name(), signals.accepted);
        }
        None => metrics.add_count(DrainMetric::CustomersDrained.name(), 1),
    }
    metrics.add_count_if_any(DrainMetric::AcceptedSignalsRejected.name(), rejected);
    let delay = drain_context
        .now
        .duration_since(drained.deferred_request_at);
    metrics.add_duration(DrainMetric::DrainDelay.name(), delay);
    let needs_attention = rejected > 0 || drained.is_conflict;
    drain_context.log.write(&LogLine {
        at: drain_context.now,
        level: needs_attention.then_some(Level::Warn),
        members: DrainedLine {
            message: "drained",
            request_id: drain_context.request_id,
            account_id: drained.account_id.as_str(),
            key_id: drained.key_id,
            request_identifier: drained.request_identifier,
            received_at: drained.first_received_at,
            conflict: drained.is_conflict.then_some(true),
        },
        dimension: None,
        metrics,
    });
}

/// Writes the line of a message that could not be drained because of `error`.
pub(crate) fn write_failed(drain_context: DrainContext<'_>, error: &str, is_dead_letter: bool) {
    let mut metrics = Metrics::default();
    metrics.add_count(DrainMetric::DrainFailures.name(), 1);
    let message = if is_dead_letter {
        "a message could not be drained; it is in the dead-letter queue"
    } else {
        "a message could not be drained; it will be delivered again"
    };
    drain_context.log.write(&LogLine {
        at: drain_context.now,
        level: Some(Level::Error),
        members: FailedLine {
            message,
            request_id: drain_context.request_id,
            store_error: error,
        },
        dimension: None,
        metrics,
    });
}
