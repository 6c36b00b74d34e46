//! One request: when it was received, until when it must be answered, and what the log says of it.
//!
//! The time of day is read once per request, before its context is made: everything that depends on
//! it uses `received_at`, so that a test can choose it. Deadlines and durations use the monotonic clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws::deadline::Deadline;
use lambda_http::{Context, Request, RequestExt};
use model::identifier::RequestIdentifier;
use model::key_entry::KeyEntry;
use model::timestamp::Timestamp;
use store::error::OwnFault;
use store::retry::MAX_REQUEST_DURATION;

use crate::telemetry::log::Log;

/// The part of the invocation's time that is reserved for the response.
pub const RESPONSE_RESERVE: Duration = Duration::from_secs(1);

/// One request and its invocation.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// Lambda's id of the invocation, which it calls the request's: the `x-request-id` of the
    /// response and `requestId` in the log.
    pub request_id: String,
    /// When the request was received.
    pub received_at: Timestamp,
    /// When the last call to DynamoDB, SQS or S3 must have ended.
    pub deadline: Deadline,
    /// Where the log lines go.
    pub log: Log,
    /// How long the process took to start, if this is its first request.
    pub init_duration: Option<Duration>,
    /// The path of its route, once that is found.
    pub path: Option<&'static str>,
    /// The entry of its API key, for the log: also of one that is no longer valid.
    pub key: Option<Arc<KeyEntry>>,
    /// Whether that entry is one of the key snapshot or a stale one of the cache, because the key
    /// table could not be read.
    pub key_table_is_unavailable: bool,
    /// What is wrong with this service, if that is why the key table could not be read.
    pub key_table_fault: Option<OwnFault>,
    /// Where that entry is one of the key snapshot because the key table was slow: whether a call to
    /// the table has failed since, or it was silent for a second.
    pub slow_key_table: Option<Arc<AtomicBool>>,
    /// The bytes of its body after decoding, once it is read.
    pub body_bytes: Option<usize>,
    /// The requestIdentifier that the client sent, once it is read.
    pub request_identifier: Option<RequestIdentifier>,
}

impl RequestContext {
    /// The context of `request`, received at `received_at`, which is now. Its lines go to `log`.
    pub fn from_request(request: &Request, received_at: Timestamp, log: Log) -> Self {
        let lambda = request
            .lambda_context_ref()
            .expect("the runtime gives each request its invocation's context");
        Self {
            request_id: lambda.request_id.clone(),
            received_at,
            deadline: invocation_deadline(lambda, received_at, MAX_REQUEST_DURATION),
            log,
            init_duration: None,
            path: None,
            key: None,
            key_table_is_unavailable: false,
            key_table_fault: None,
            slow_key_table: None,
            body_bytes: None,
            request_identifier: None,
        }
    }

    /// Whether the key was checked without the key table because that could not be read, as far as
    /// is known now.
    pub(crate) fn was_key_table_unavailable(&self) -> bool {
        let slow = self.slow_key_table.as_ref();
        let has_failed_since = slow.is_some_and(|failed| failed.load(Ordering::Relaxed));
        self.key_table_is_unavailable || has_failed_since
    }
}

/// When the last call of an invocation that began at `now` must have ended: `longest` after that, or
/// earlier if Lambda ends the invocation before.
pub fn invocation_deadline(lambda: &Context, now: Timestamp, longest: Duration) -> Deadline {
    Deadline::after(time_left(lambda.deadline, now, longest))
}

/// The time that the calls of an invocation have at `now`, at most `longest`. Lambda ends it at
/// `invocation_ends`, in milliseconds since 1970. An end in the past is ignored, because `cargo
/// lambda watch` sends one in 1970.
fn time_left(invocation_ends: u64, now: Timestamp, longest: Duration) -> Duration {
    let left = Timestamp::from_millis(invocation_ends).duration_since(now);
    if left.is_zero() {
        longest
    } else {
        left.saturating_sub(RESPONSE_RESERVE).min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_keeps_a_reserve_and_ignores_one_in_the_past() {
        let now = Timestamp::from_millis(1_000_000);
        let in_seconds = |seconds| now.plus(Duration::from_secs(seconds));
        let left = |invocation_ends: Timestamp| {
            time_left(invocation_ends.millis(), now, MAX_REQUEST_DURATION)
        };
        assert_eq!(left(in_seconds(5)), Duration::from_secs(4));
        assert_eq!(left(in_seconds(60)), MAX_REQUEST_DURATION);
        assert_eq!(left(in_seconds(1)), Duration::ZERO);
        assert_eq!(left(Timestamp::from_millis(0)), MAX_REQUEST_DURATION);
    }
}
