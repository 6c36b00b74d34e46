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
    /// How the key table behaved when the key was looked up.
    pub key_table: KeyTableHealth,
    /// The bytes of its body after decoding, once it is read.
    pub body_bytes: Option<usize>,
    /// The requestIdentifier that the client sent, once it is read.
    pub request_identifier: Option<RequestIdentifier>,
}

/// How the key table behaved when the key of a request was looked up.
#[derive(Clone, Debug, Default)]
pub enum KeyTableHealth {
    /// It answered, or was not asked, or another source has revoked the key.
    #[default]
    Answered,
    /// It was slow, and another source decided: whether a call to it has failed since, or it was
    /// silent for a second.
    Slow(Arc<AtomicBool>),
    /// It could not be read, and another source decided. Says what is wrong with this service, if that
    /// is why.
    Unavailable(Option<OwnFault>),
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
            key_table: KeyTableHealth::default(),
            body_bytes: None,
            request_identifier: None,
        }
    }

    /// Whether the key was checked without the key table because that could not be read, as far as
    /// is known now.
    pub(crate) fn was_key_table_unavailable(&self) -> bool {
        match &self.key_table {
            KeyTableHealth::Answered => false,
            KeyTableHealth::Slow(has_failed_since) => has_failed_since.load(Ordering::Relaxed),
            KeyTableHealth::Unavailable(_) => true,
        }
    }

    /// What is wrong with this service, if that is why the key table could not be read.
    pub(crate) fn key_table_fault(&self) -> Option<OwnFault> {
        match self.key_table {
            KeyTableHealth::Answered | KeyTableHealth::Slow(_) => None,
            KeyTableHealth::Unavailable(fault) => fault,
        }
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
