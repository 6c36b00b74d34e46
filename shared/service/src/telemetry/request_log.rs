//! The log line of a request, with its metrics.
//!
//! It contains accounts, key ids, counts, codes and the requestIdentifier: never a key, a customer,
//! the name of a field or any other value that a client sent.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws::call_stats::CallStats;
use lambda_http::http::StatusCode;
use model::validation::FieldError;
use store::customers::UpdateResult;
use store::error::StoreError;

use super::emf::{LogLine, Value, write};
use super::metric::{CODE, Metric, REASON};
use crate::context::RequestContext;
use crate::problem::{Problem, ProblemType, UnauthorizedReason};
use crate::success::{BatchCounts, BatchResponse, Success};

/// Whether this process has served a request.
static WARM: AtomicBool = AtomicBool::new(false);

/// How long the process took from its start until it waited for its first event.
static INIT_DURATION: OnceLock<Duration> = OnceLock::new();

/// Keeps, for the line of the first request, how long the process took to start.
pub(crate) fn set_init_duration(duration: Duration) {
    // There is one start.
    let _ = INIT_DURATION.set(duration);
}

/// Writes the line of a request, and one more for each error code of rejected signals or for the
/// reason of a 401.
pub(crate) fn emit(
    context: &RequestContext,
    result: &Result<Success, Problem>,
    status: StatusCode,
    calls: &CallStats,
    duration: Duration,
) {
    let line = RequestLog {
        context,
        result,
        status,
        calls,
        is_cold_start: !WARM.swap(true, Ordering::Relaxed),
    };
    let errors = line.field_error_counts();
    line.write(&errors, duration);
    let write_by = |message, dimension, metric, count| {
        let members = [
            ("message", Some(Value::Text(message))),
            ("requestId", Some(Value::Text(&context.request_id))),
        ];
        let metrics = [(metric, Some(Value::Count(count)))];
        let at = context.received_at;
        write(&LogLine {
            at,
            level: None,
            members: &members,
            dimension: Some(dimension),
            metrics: &metrics,
        });
    };
    if line.counts().is_some() {
        for (code, count) in &errors {
            write_by("rejected", (CODE, *code), Metric::SignalsRejected, *count);
        }
    }
    if let Some(reason) = line.unauthorized_reason() {
        write_by(
            "unauthorized",
            (REASON, reason.as_str()),
            Metric::Unauthorized,
            1,
        );
    }
}

/// Writes a line when rejected signals of a request could not be stored. The response does not say
/// so: the operator has to know.
pub fn rejected_not_stored(context: &RequestContext, error: &StoreError) {
    let error = error.to_string();
    let members = [
        (
            "message",
            Some(Value::Text("rejected signals could not be stored")),
        ),
        ("requestId", Some(Value::Text(&context.request_id))),
        (
            "accountId",
            context
                .key
                .as_ref()
                .map(|key| Value::Text(key.account_id.as_str())),
        ),
        (
            "keyId",
            context.key.as_ref().map(|key| Value::Text(&key.key_id)),
        ),
        ("storeError", Some(Value::Text(&error))),
    ];
    let metrics = [(Metric::RejectedNotStored, Some(Value::Count(1)))];
    let at = context.received_at;
    write(&LogLine {
        at,
        level: Some("ERROR"),
        members: &members,
        dimension: None,
        metrics: &metrics,
    });
}

struct RequestLog<'a> {
    context: &'a RequestContext,
    result: &'a Result<Success, Problem>,
    status: StatusCode,
    calls: &'a CallStats,
    is_cold_start: bool,
}

impl RequestLog<'_> {
    fn write(&self, errors: &BTreeMap<&'static str, usize>, duration: Duration) {
        let RequestContext {
            request_id,
            received_at,
            path,
            key,
            body_bytes,
            request_identifier,
            ..
        } = self.context;
        let code = self
            .result
            .as_ref()
            .err()
            .map(|problem| problem.problem_type().code);
        let store_error = match self.result {
            Err(
                Problem::StorageUnavailable { error, .. } | Problem::InternalError(Some(error)),
            ) => Some(error.to_string()),
            _ => None,
        };
        let init_duration = INIT_DURATION.get().filter(|_| self.is_cold_start);
        let attempts = usize::try_from(self.calls.attempts()).unwrap_or(usize::MAX);
        let members = [
            ("requestId", Some(Value::Text(request_id))),
            ("path", path.map(Value::Text)),
            (
                "status",
                Some(Value::Count(usize::from(self.status.as_u16()))),
            ),
            ("code", code.map(Value::Text)),
            (
                "reason",
                self.unauthorized_reason()
                    .map(|reason| Value::Text(reason.as_str())),
            ),
            (
                "accountId",
                key.as_ref().map(|key| Value::Text(key.account_id.as_str())),
            ),
            ("keyId", key.as_ref().map(|key| Value::Text(&key.key_id))),
            (
                "requestIdentifier",
                request_identifier
                    .as_ref()
                    .map(|identifier| Value::Text(identifier.as_sent())),
            ),
            ("bytes", body_bytes.map(Value::Count)),
            (
                "fieldErrorCounts",
                (!errors.is_empty()).then_some(Value::Counts(errors)),
            ),
            ("storeError", store_error.as_deref().map(Value::Text)),
            ("durationMs", Some(Value::Milliseconds(duration))),
            ("calls", (attempts > 0).then_some(Value::Count(attempts))),
            ("coldStart", self.is_cold_start.then_some(Value::Bool(true))),
            (
                "initDurationMs",
                init_duration.copied().map(Value::Milliseconds),
            ),
        ];
        let metrics = self.metrics();
        write(&LogLine {
            at: *received_at,
            level: None,
            members: &members,
            dimension: None,
            metrics: &metrics,
        });
    }

    fn metrics(&self) -> [(Metric, Option<Value<'_>>); 16] {
        let some = |count: usize| (count > 0).then_some(Value::Count(count));
        let once = |happened: bool| some(usize::from(happened));
        let problem_type = self.result.as_ref().err().map(Problem::problem_type);
        let is = |this: ProblemType| once(problem_type == Some(this));
        let is_inactive_key = matches!(
            self.unauthorized_reason(),
            Some(UnauthorizedReason::Expired | UnauthorizedReason::Revoked)
        );
        let counts = self.counts();
        let count = |of: fn(BatchCounts) -> usize| counts.map_or(0, of);
        let updated = |result: UpdateResult| {
            once(
                matches!(self.result, Ok(Success::Customer(response)) if response.result == result),
            )
        };
        [
            // Of every batch, also when it is 0: the number of its values is that of the batches.
            (
                Metric::SignalsAccepted,
                counts.map(|counts| Value::Count(counts.accepted)),
            ),
            (
                Metric::SignalsDeferred,
                some(count(|counts| counts.deferred.map_or(0, NonZeroUsize::get))),
            ),
            (
                Metric::SignalsRejected,
                some(count(|counts| counts.rejected)),
            ),
            (
                Metric::RejectionRate,
                some(count(|counts| percent(counts.rejected, counts.received))),
            ),
            (Metric::CustomersCreated, updated(UpdateResult::Created)),
            (Metric::CustomersUpdated, updated(UpdateResult::Updated)),
            (Metric::CustomersDeferred, updated(UpdateResult::Deferred)),
            (Metric::Unauthorized, is(ProblemType::UNAUTHORIZED)),
            (Metric::InactiveKeys, once(is_inactive_key)),
            (Metric::KeyDaysLeft, self.key_days_left().map(Value::Count)),
            (
                Metric::KeyTableUnavailable,
                once(self.context.key_table_is_unavailable),
            ),
            (
                Metric::StorageUnavailable,
                is(ProblemType::STORAGE_UNAVAILABLE),
            ),
            (Metric::InternalErrors, is(ProblemType::INTERNAL_ERROR)),
            (
                Metric::Replays,
                once(counts.is_some_and(|counts| counts.replayed)),
            ),
            (
                Metric::DynamoDbLatency,
                self.calls.latency().map(Value::Milliseconds),
            ),
            (Metric::ColdStarts, once(self.is_cold_start)),
        ]
    }

    fn unauthorized_reason(&self) -> Option<UnauthorizedReason> {
        if let Err(Problem::Unauthorized(reason)) = self.result {
            Some(*reason)
        } else {
            None
        }
    }

    /// The whole days that a valid key has left, if they are few and the key was not made for few.
    fn key_days_left(&self) -> Option<usize> {
        let key = self
            .context
            .key
            .as_ref()
            .filter(|key| !key.is_short_lived())?;
        let left = key.ends_soon(self.context.received_at)?;
        usize::try_from(left.as_secs() / (24 * 60 * 60)).ok()
    }

    fn counts(&self) -> Option<BatchCounts> {
        match self.result {
            Ok(Success::Batch(BatchResponse { counts, .. })) => Some(*counts),
            Err(Problem::BatchRejected { response, .. }) => Some(response.counts),
            _ => None,
        }
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
    part.saturating_mul(100)
        .checked_div(whole)
        .unwrap_or_default()
}
