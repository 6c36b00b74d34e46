//! The log line of a request, with its metrics.
//!
//! It contains accounts, key ids, counts, codes and the requestIdentifier: never a key, a customer,
//! the name of a field or any other value that a client sent.

use std::collections::BTreeMap;
use std::time::Duration;

use aws::call_stats::CallStats;
use model::identifier::RequestIdentifier;
use model::key_entry::KeyEntry;
use model::validation::FieldError;
use serde::Serialize;
use store::error::OwnFault;

use super::log::{Dimension, LogLine};
use super::metric::{Metrics, Milliseconds, REASON, RequestMetric};
use crate::context::RequestContext;
use crate::outcome::{EndpointOutcome, Served};
use crate::problem::{ProblemType, UnauthorizedReason};

/// The members of a request's line, apart from its metrics.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestLine<'a> {
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'static str>,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_identifier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    field_error_counts: BTreeMap<&'static str, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store_error: Option<String>,
    duration_ms: Milliseconds,
    /// Attempts of DynamoDB, unless there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cold_start: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    init_duration_ms: Option<Milliseconds>,
}

/// The members of the line that counts a 401 by its reason.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UnauthorizedLine<'a> {
    message: &'static str,
    request_id: &'a str,
}

/// Writes the line of a request, the lines of its endpoint and, for the metric, a line with the
/// reason of a 401.
pub(crate) fn write<O: EndpointOutcome>(served: &Served<O>, calls: &CallStats, duration: Duration) {
    let context = &served.context;
    context.log.write(&LogLine {
        at: context.received_at,
        level: None,
        members: request_line(served, calls, duration),
        dimension: None,
        metrics: metrics(served, calls),
    });
    if let Some(outcome) = served.outcome() {
        outcome.write_lines(context);
    }
    if let Some(reason) = served.unauthorized_reason() {
        write_unauthorized(context, reason);
    }
}

/// How often each code occurs among the validation errors.
pub fn count_codes(errors: &[FieldError]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for error in errors {
        *counts.entry(error.code.as_str()).or_default() += 1;
    }
    counts
}

fn request_line<'a, O: EndpointOutcome>(
    served: &'a Served<O>,
    calls: &CallStats,
    duration: Duration,
) -> RequestLine<'a> {
    let Served {
        context, response, ..
    } = served;
    let key = context.key.as_deref();
    let problem_type = served.problem_type();
    let store_error = served.unstored_reason();
    let attempts = calls.attempts();
    RequestLine {
        request_id: &context.request_id,
        path: context.path,
        status: response.status().as_u16(),
        code: problem_type.map(|problem_type| problem_type.code),
        reason: served.unauthorized_reason().map(UnauthorizedReason::as_str),
        account_id: key.map(|key| key.account_id.as_str()),
        key_id: key.map(|key| key.key_id.as_str()),
        request_identifier: context
            .request_identifier
            .as_ref()
            .map(RequestIdentifier::as_sent),
        bytes: context.body_bytes,
        field_error_counts: count_codes(served.field_errors()),
        store_error: store_error.map(ToString::to_string),
        duration_ms: Milliseconds(duration),
        calls: (attempts > 0).then_some(attempts),
        cold_start: context.init_duration.is_some().then_some(true),
        init_duration_ms: context.init_duration.map(Milliseconds),
    }
}

fn metrics<O: EndpointOutcome>(served: &Served<O>, calls: &CallStats) -> Metrics {
    let context = &served.context;
    let mut metrics = Metrics::default();
    if let Some(outcome) = served.outcome() {
        outcome.add_metrics(&mut metrics);
    }
    let problem_type = served.problem_type();
    let mut add_if = |metric: RequestMetric, happened| metrics.add_if(metric.name(), happened);
    add_if(
        RequestMetric::Unauthorized,
        problem_type == Some(ProblemType::UNAUTHORIZED),
    );
    let has_inactive_key = matches!(
        served.unauthorized_reason(),
        Some(UnauthorizedReason::Expired | UnauthorizedReason::Revoked)
    );
    add_if(RequestMetric::InactiveKeys, has_inactive_key);
    add_if(
        RequestMetric::KeyTableUnavailable,
        context.was_key_table_unavailable(),
    );
    add_if(
        RequestMetric::StorageUnavailable,
        problem_type == Some(ProblemType::STORAGE_UNAVAILABLE),
    );
    add_if(
        RequestMetric::InternalErrors,
        problem_type == Some(ProblemType::INTERNAL_ERROR),
    );
    let fault = served.own_fault();
    add_if(RequestMetric::InvalidCalls, fault == Some(OwnFault::Call));
    add_if(RequestMetric::AccessErrors, fault == Some(OwnFault::Access));
    add_if(RequestMetric::ColdStarts, context.init_duration.is_some());
    if let Some(days) = key_days_left(context) {
        metrics.add_count(RequestMetric::KeyDaysLeft.name(), days);
    }
    if let Some(latency) = calls.latency() {
        metrics.add_duration(RequestMetric::DynamoDbLatency.name(), latency);
    }
    metrics
}

/// The whole days that a valid key has left, if they are few and the key was not made for few.
fn key_days_left(context: &RequestContext) -> Option<usize> {
    let key: &KeyEntry = context.key.as_deref()?;
    if key.is_short_lived() {
        return None;
    }
    let left = key.ends_soon(context.received_at)?;
    usize::try_from(left.as_secs() / (24 * 60 * 60)).ok()
}

fn write_unauthorized(context: &RequestContext, reason: UnauthorizedReason) {
    let mut metrics = Metrics::default();
    metrics.add_count(RequestMetric::Unauthorized.name(), 1);
    context.log.write(&LogLine {
        at: context.received_at,
        level: None,
        members: UnauthorizedLine {
            message: "unauthorized",
            request_id: &context.request_id,
        },
        dimension: Some(Dimension {
            name: REASON,
            value: reason.as_str(),
        }),
        metrics,
    });
}

#[cfg(test)]
mod tests {
    use model::pointer::JsonPointer;

    use super::*;

    #[test]
    fn codes_of_errors_are_counted() {
        let field = JsonPointer::Member(&JsonPointer::Root, "customerData");
        let errors = [
            FieldError::refused_by_store(&field),
            FieldError::refused_by_store(&field),
        ];
        assert_eq!(count_codes(&errors), [("refused-by-store", 2)].into());
    }
}
