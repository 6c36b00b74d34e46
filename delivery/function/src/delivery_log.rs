//! The log lines of the function, with their metrics: one for each invocation.
//!
//! They contain counts and codes: never a key of an item, a customer or a value.

use std::time::Duration;

use model::timestamp::Timestamp;
use serde::Serialize;
use service::telemetry::log::{Level, Log, LogLine};
use service::telemetry::metric::Metrics;
use service::telemetry::metric::Milliseconds;

use crate::delivery_metrics::DeliveryMetric;
use crate::target_error::FailedRecord;

/// The outcome of the records of an event.
#[derive(Debug, Default)]
pub(crate) struct DeliveryCounts<'a> {
    pub(crate) records: usize,
    /// Records whose CloudEvents the target has.
    pub(crate) delivered: usize,
    /// Records without a CloudEvent, for example the record of an expired signal.
    pub(crate) skipped: usize,
    /// Records that only the failure bucket has: they cannot be read, or the target does not take
    /// their CloudEvent.
    pub(crate) in_failure_bucket: usize,
    /// Records that Lambda will deliver again, because the target or the failure bucket failed.
    pub(crate) undelivered: usize,
    /// Delivered CloudEvents for which the bus has only a claim check.
    pub(crate) claim_checks: usize,
    /// Why the first undelivered record is undelivered.
    pub(crate) failed: Option<&'a FailedRecord>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeliveredLine<'a> {
    message: &'static str,
    request_id: &'a str,
    records: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_target: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    duration_ms: Milliseconds,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UnreadableEventLine<'a> {
    message: &'static str,
    request_id: &'a str,
}

/// Writes what became of the records of an event.
pub(crate) fn write_delivered(
    log: &Log,
    now: Timestamp,
    request_id: &str,
    counts: &DeliveryCounts<'_>,
    duration: Duration,
) {
    let failed = counts.failed;
    let level = match failed {
        Some(_) => Some(Level::Error),
        None if counts.in_failure_bucket > 0 => Some(Level::Warn),
        None => None,
    };
    let mut metrics = Metrics::default();
    metrics.add_count(DeliveryMetric::RecordsDelivered.name(), counts.delivered);
    metrics.add_count(DeliveryMetric::RecordsSkipped.name(), counts.skipped);
    metrics.add_count(
        DeliveryMetric::RecordsUnreadable.name(),
        counts.in_failure_bucket,
    );
    metrics.add_count(
        DeliveryMetric::RecordsUndelivered.name(),
        counts.undelivered,
    );
    metrics.add_count(DeliveryMetric::EventClaimChecks.name(), counts.claim_checks);
    log.write(&LogLine {
        at: now,
        level,
        members: DeliveredLine {
            message: "delivered",
            request_id,
            records: counts.records,
            failed_target: failed.map(|failed| failed.target),
            cause: failed.map(|failed| failed.error.to_string()),
            duration_ms: Milliseconds(duration),
        },
        dimension: None,
        metrics,
    });
}

/// Writes that the payload of an invocation is not an event of a stream.
pub(crate) fn write_unreadable_event(log: &Log, now: Timestamp, request_id: &str) {
    log.write(&LogLine {
        at: now,
        level: Some(Level::Error),
        members: UnreadableEventLine {
            message: "the payload is not an event of a DynamoDB stream",
            request_id,
        },
        dimension: None,
        metrics: Metrics::default(),
    });
}
