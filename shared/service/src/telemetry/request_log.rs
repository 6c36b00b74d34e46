//! The log line of a request, with its metrics.
//!
//! It contains accounts, key ids, counts and codes: never a key, a customer, the name of a field or a value.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lambda_http::http::StatusCode;
use model::validation::FieldError;
use store::call_stats::CallStats;
use store::customers::UpsertResult;
use store::error::StoreError;

use super::emf::{EmfRecord, Value, write};
use super::metric::{CODE, Metric, REASON};
use crate::auth::UnauthorizedReason;
use crate::context::RequestContext;
use crate::problem::{Problem, ProblemType};
use crate::success::{BatchCounts, BatchResponse, Success};

/// Whether this process has served a request.
static WARM: AtomicBool = AtomicBool::new(false);

/// Writes the line of a request, and one more for each error code of rejected signals or for the reason of a 401.
pub(crate) fn emit(
    context: &RequestContext,
    result: &Result<Success, Problem>,
    status: StatusCode,
    calls: &CallStats,
    duration: Duration,
) {
    let line = RequestLog { context, result, status, calls, is_cold_start: !WARM.swap(true, Ordering::Relaxed) };
    let errors = line.field_error_counts();
    line.write(&errors, duration);
    let write_by = |message, dimension, metric, count| {
        let members = [("message", Some(Value::Text(message)))];
        let metrics = [(metric, Some(Value::Count(count)))];
        write(&EmfRecord { at: context.received_at, members: &members, dimension: Some(dimension), metrics: &metrics });
    };
    if line.counts().is_some() {
        for (code, count) in &errors {
            write_by("rejected", (CODE, *code), Metric::SignalsRejected, *count);
        }
    }
    if let Some(reason) = line.unauthorized_reason() {
        write_by("unauthorized", (REASON, reason.as_str()), Metric::Unauthorized, 1);
    }
}

/// Writes a line if the rejected signals of a request could not be stored. The response does not say so: the operator has to
/// know.
pub fn dead_letters(context: &RequestContext, stored: &Result<(), StoreError>) {
    let Err(error) = stored else { return };
    let error = error.to_string();
    let members = [
        ("level", Some(Value::Text("ERROR"))),
        ("message", Some(Value::Text("rejected signals could not be stored"))),
        ("timestamp", Some(Value::Text(&context.received_at.to_string()))),
        ("requestId", Some(Value::Text(&context.invocation_id))),
        ("accountId", context.key.as_ref().map(|key| Value::Text(key.account_id.as_str()))),
        ("keyId", context.key.as_ref().map(|key| Value::Text(&key.key_id))),
        ("storeError", Some(Value::Text(&error))),
    ];
    let metrics = [(Metric::DeadLetterFailures, Some(Value::Count(1)))];
    write(&EmfRecord { at: context.received_at, members: &members, dimension: None, metrics: &metrics });
}

struct RequestLog<'a> {
    context: &'a RequestContext,
    result: &'a Result<Success, Problem>,
    status: StatusCode,
    calls: &'a CallStats,
    is_cold_start: bool,
}

impl<'a> RequestLog<'a> {
    fn write(&self, errors: &BTreeMap<&'static str, usize>, duration: Duration) {
        let RequestContext { invocation_id, api_request_id, received_at, path, key, body_bytes, .. } = self.context;
        let code = self.result.as_ref().map_or_else(|problem| problem.problem_type().code, |_| "ok");
        let store_error = match self.result {
            Err(Problem::StorageUnavailable { error, .. }) => Some(error.to_string()),
            _ => None,
        };
        let counts = self.counts();
        let count = |of: fn(BatchCounts) -> usize| counts.map(|counts| Value::Count(of(counts)));
        let members = [
            ("level", Some(Value::Text("INFO"))),
            ("message", Some(Value::Text("request"))),
            ("timestamp", Some(Value::Text(&received_at.to_string()))),
            ("requestId", Some(Value::Text(invocation_id))),
            ("apiRequestId", api_request_id.as_deref().map(Value::Text)),
            ("path", path.map(Value::Text)),
            ("status", Some(Value::Count(usize::from(self.status.as_u16())))),
            ("code", Some(Value::Text(code))),
            ("reason", self.unauthorized_reason().map(|reason| Value::Text(reason.as_str()))),
            ("accountId", key.as_ref().map(|key| Value::Text(key.account_id.as_str()))),
            ("keyId", key.as_ref().map(|key| Value::Text(&key.key_id))),
            ("bytes", body_bytes.map(Value::Count)),
            ("received", count(|counts| counts.received)),
            ("accepted", count(|counts| counts.accepted)),
            ("rejected", count(|counts| counts.rejected)),
            ("deferred", self.deferred().map(Value::Count)),
            ("replayed", counts.map(|counts| Value::Bool(counts.replayed))),
            ("result", self.upsert_result().map(|result| Value::Text(result.as_str()))),
            ("fieldErrorCounts", (!errors.is_empty()).then_some(Value::Counts(errors))),
            ("storeError", store_error.as_deref().map(Value::Text)),
            ("durationMs", Some(Value::Milliseconds(duration))),
            ("coldStart", Some(Value::Bool(self.is_cold_start))),
        ];
        write(&EmfRecord { at: *received_at, members: &members, dimension: None, metrics: &self.metrics() });
    }

    fn metrics(&self) -> [(Metric, Option<Value<'_>>); 15] {
        let once = |happened: bool| happened.then_some(Value::Count(1));
        let problem_type = self.result.as_ref().err().map(Problem::problem_type);
        let is = |this: ProblemType| once(problem_type == Some(this));
        let is_inactive_key =
            matches!(self.unauthorized_reason(), Some(UnauthorizedReason::Expired | UnauthorizedReason::Revoked));
        let counts = self.counts();
        let result = self.upsert_result();
        let calls = usize::try_from(self.calls.calls()).unwrap_or(usize::MAX);
        [
            (Metric::SignalsAccepted, counts.map(|counts| Value::Count(counts.accepted))),
            (Metric::SignalsDeferred, self.deferred().map(Value::Count)),
            (Metric::SignalsRejected, counts.map(|counts| Value::Count(counts.rejected))),
            (Metric::RejectionRate, counts.map(|counts| Value::Count(percent(counts.rejected, counts.received)))),
            (Metric::CustomersCreated, once(result == Some(UpsertResult::Created))),
            (Metric::CustomersUpdated, once(result == Some(UpsertResult::Updated))),
            (Metric::Unauthorized, is(ProblemType::UNAUTHORIZED)),
            (Metric::InactiveKeys, once(is_inactive_key)),
            (Metric::KeyDaysLeft, self.key_days_left().map(Value::Count)),
            (Metric::StorageUnavailable, is(ProblemType::STORAGE_UNAVAILABLE)),
            (Metric::InternalErrors, is(ProblemType::INTERNAL_ERROR)),
            (Metric::Replays, once(counts.is_some_and(|counts| counts.replayed))),
            (Metric::DynamoDbLatency, self.calls.latency().map(Value::Milliseconds)),
            (Metric::DynamoDbCalls, Some(Value::Count(calls))),
            (Metric::ColdStarts, once(self.is_cold_start)),
        ]
    }

    fn unauthorized_reason(&self) -> Option<UnauthorizedReason> {
        if let Err(Problem::Unauthorized(reason)) = self.result { Some(*reason) } else { None }
    }

    /// The whole days that a valid key has left, if they are few and the key was not made for few.
    fn key_days_left(&self) -> Option<usize> {
        let key = self.context.key.as_ref().filter(|key| !key.is_short_lived())?;
        let left = key.ends_soon(self.context.received_at)?;
        usize::try_from(left.as_secs() / (24 * 60 * 60)).ok()
    }

    fn batch(&self) -> Option<&'a BatchResponse> {
        match self.result {
            Ok(Success::Batch(response)) => Some(response),
            Err(Problem::BatchRejected { response, .. }) => Some(response),
            _ => None,
        }
    }

    fn counts(&self) -> Option<BatchCounts> {
        self.batch().map(|response| response.counts)
    }

    fn deferred(&self) -> Option<usize> {
        self.counts().map(|counts| counts.deferred).filter(|deferred| *deferred > 0)
    }

    fn upsert_result(&self) -> Option<UpsertResult> {
        if let Ok(Success::Customer(response)) = self.result { Some(response.result) } else { None }
    }

    /// How often each code occurs among the validation errors.
    fn field_error_counts(&self) -> BTreeMap<&'static str, usize> {
        let errors: &[FieldError] = match self.result {
            Ok(Success::Batch(response)) => &response.field_errors,
            Ok(_) => &[],
            Err(problem) => problem.field_errors(),
        };
        let mut counts = BTreeMap::new();
        for error in errors {
            *counts.entry(error.code.as_str()).or_default() += 1;
        }
        counts
    }
}

fn percent(part: usize, whole: usize) -> usize {
    part.saturating_mul(100).checked_div(whole).unwrap_or_default()
}
