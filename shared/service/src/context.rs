//! One request: when it was received, until when it must be answered, and what the log says of it.
//!
//! The clock is read here, once per request. Everything that depends on the time of day uses `received_at`, so that a test
//! can choose it.

use std::sync::Arc;
use std::time::Duration;

use lambda_http::http::header::DATE;
use lambda_http::{Request, RequestExt};
use lambda_runtime::LambdaInvocation;
use lambda_runtime::tower::util::MapRequestLayer;
use model::deadline::Deadline;
use model::identifier::RequestIdentifier;
use model::timestamp::Timestamp;
use store::api_keys::KeyRecord;
use store::deadline::MAX_REQUEST_DURATION;
use store::s3::http_date;

/// The part of the invocation's time that is reserved for the response.
pub const RESPONSE_RESERVE: Duration = Duration::from_secs(1);

/// How far this environment's clock may be ahead of a `Date`, which has whole seconds, before it counts as wrong.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(2);

/// One request and its invocation.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// Lambda's id of the invocation, which it calls the request's: the `x-request-id` of the response and `requestId` in the log.
    pub request_id: String,
    /// When the request was received.
    pub received_at: Timestamp,
    /// When the last call to DynamoDB must have ended.
    pub deadline: Deadline,
    /// The path of its route, once that is found.
    pub path: Option<&'static str>,
    /// The record of its API key, for the log: also of one that is no longer valid.
    pub key: Option<Arc<KeyRecord>>,
    /// Whether that record is one of the key snapshot or one read before, because the key table could not be read.
    pub key_table_is_unavailable: bool,
    /// The bytes of its body after decoding, once it is read.
    pub body_bytes: Option<usize>,
    /// The requestIdentifier that the client sent, once it is read.
    pub request_identifier: Option<RequestIdentifier>,
}

impl RequestContext {
    /// The context of `request`, received now.
    pub fn from_request(request: &Request) -> Self {
        let lambda = request.lambda_context_ref();
        let received_at = Timestamp::now();
        let invocation_ends = lambda.map_or(0, |lambda| lambda.deadline);
        Self {
            request_id: lambda.map(|lambda| lambda.request_id.clone()).unwrap_or_default(),
            received_at,
            deadline: deadline_of(invocation_ends, received_at, MAX_REQUEST_DURATION),
            path: None,
            key: None,
            key_table_is_unavailable: false,
            body_bytes: None,
            request_identifier: None,
        }
    }
}

/// A layer of the runtime that makes the end of each invocation one of this environment's clock: with a clock 13 s ahead, no time
/// would be left.
///
/// The end is a time of the clock of Lambda's runtime API, which the `Date` of the same response tells: not of DynamoDB's, whose
/// time is also known only after a first call.
pub fn own_clock() -> MapRequestLayer<fn(LambdaInvocation) -> LambdaInvocation> {
    MapRequestLayer::new(|mut invocation: LambdaInvocation| {
        let date = invocation.parts.headers.get(DATE).and_then(|date| http_date(date.to_str().ok()?));
        if let Some(date) = date {
            invocation.context.deadline = by_own_clock(invocation.context.deadline, date, Timestamp::now());
        }
        invocation
    })
}

/// A time of another clock, in milliseconds since 1970, by the own clock, when they show `date` and `now`.
fn by_own_clock(time: u64, date: Timestamp, now: Timestamp) -> u64 {
    let there = now.clamp(date, date.plus(CLOCK_TOLERANCE));
    time.saturating_add(now.millis()).saturating_sub(there.millis())
}

/// When the last call to DynamoDB of an invocation must have ended that began at `now` and that Lambda ends at
/// `invocation_ends`, in milliseconds since 1970: at most `longest` from now.
pub fn deadline_of(invocation_ends: u64, now: Timestamp, longest: Duration) -> Deadline {
    Deadline::after(time_left(now, Timestamp::from_millis(invocation_ends), longest))
}

/// The time until an invocation ends. An end in the past is ignored: `cargo lambda watch` sends one in 1970.
fn time_left(now: Timestamp, invocation_ends: Timestamp, longest: Duration) -> Duration {
    if invocation_ends > now {
        invocation_ends.duration_since(now).saturating_sub(RESPONSE_RESERVE).min(longest)
    } else {
        longest
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use lambda_runtime::service_fn;
    use lambda_runtime::tower::{Layer as _, Service as _};

    use super::*;

    #[test]
    fn deadline_keeps_a_reserve_and_ignores_one_in_the_past() {
        let now = Timestamp::from_millis(1_000_000);
        let in_seconds = |seconds| now.plus(Duration::from_secs(seconds));
        let left = |invocation_ends| time_left(now, invocation_ends, MAX_REQUEST_DURATION);
        assert_eq!(left(in_seconds(5)), Duration::from_secs(4));
        assert_eq!(left(in_seconds(60)), MAX_REQUEST_DURATION);
        assert_eq!(left(in_seconds(1)), Duration::ZERO);
        assert_eq!(left(Timestamp::from_millis(0)), MAX_REQUEST_DURATION);
    }

    #[tokio::test]
    async fn invocation_of_a_process_with_a_wrong_clock_has_its_time() {
        let (mut parts, ()) = lambda_http::http::Response::new(()).into_parts();
        parts.headers.insert(DATE, "Fri, 20 Nov 2026 22:16:40 GMT".parse().unwrap());
        let ends: Timestamp = "2026-11-20T22:16:55.000Z".parse().unwrap();
        let mut context = lambda_http::Context::default();
        context.deadline = ends.millis();
        let service = service_fn(async |invocation: LambdaInvocation| Ok::<_, Infallible>(invocation.context.deadline));
        let invocation = LambdaInvocation { parts, body: "".into(), context };
        let ends = own_clock().layer(service).call(invocation).await.unwrap();
        let left = Timestamp::from_millis(ends).duration_since(Timestamp::now());
        assert!((Duration::from_secs(12)..=Duration::from_secs(15)).contains(&left), "{left:?}");
    }

    #[test]
    fn end_of_an_invocation_is_corrected_by_a_clock_that_is_wrong() {
        let date = Timestamp::from_millis(1_795_214_024_000);
        let ends = date.plus(Duration::from_secs(15)).millis();
        for (millis_ahead, correction) in [(0, 0), (1_999, 0), (13_000, 11_000), (-13_000, -13_000)] {
            let now = Timestamp::from_millis(date.millis().saturating_add_signed(millis_ahead));
            assert_eq!(
                by_own_clock(ends, date, now),
                ends.saturating_add_signed(correction),
                "{millis_ahead} ms ahead"
            );
        }
        assert_eq!(by_own_clock(0, date, date), 0, "cargo lambda watch");
    }
}
