//! One invocation of a function: what time it is, and how much of it is left.
//!
//! Clocks are read here, once, when a request arrives. Whatever depends on the time of day is handed the arrival, so
//! that a test can choose it.

use std::time::Duration;

use lambda_http::request::RequestContext;
use lambda_http::{Request, RequestExt};
use model::deadline::Deadline;
use model::timestamp::Timestamp;

/// The longest that a request may take. API Gateway gives up after 30 s and clients after 60 s; nothing that has not
/// worked for ten seconds is likely to work in the next.
pub const MAX_REQUEST_DURATION: Duration = Duration::from_secs(10);

/// What is kept of the invocation's time to write an answer, a 503 included.
pub const RESPONSE_RESERVE: Duration = Duration::from_secs(1);

/// One invocation.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// Lambda's id of it: the `x-request-id` of the answer.
    pub id: String,
    /// API Gateway's id of the request: the `requestId` of its access log.
    pub api_request_id: Option<String>,
    /// When the request arrived.
    pub received_at: Timestamp,
    /// How long DynamoDB may take.
    pub deadline: Deadline,
}

impl Invocation {
    /// The invocation that `request` came by, now.
    #[must_use]
    pub fn from_request(request: &Request) -> Self {
        let (id, deadline) = request
            .lambda_context_ref()
            .map_or((String::new(), 0), |context| (context.request_id.clone(), context.deadline));
        let api_request_id = match request.request_context_ref() {
            Some(RequestContext::ApiGatewayV2(context)) => context.request_id.clone(),
            _ => None,
        };
        let received_at = Timestamp::now();
        let deadline = Deadline::after(time_left(received_at, Timestamp::from_millis(deadline)));
        Self { id, api_request_id, received_at, deadline }
    }
}

/// A deadline that does not lie ahead is no deadline: `cargo lambda watch` sends one in 1970.
fn time_left(now: Timestamp, deadline: Timestamp) -> Duration {
    if deadline > now {
        deadline.duration_since(now).saturating_sub(RESPONSE_RESERVE).min(MAX_REQUEST_DURATION)
    } else {
        MAX_REQUEST_DURATION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_ahead_is_kept_with_a_reserve_and_one_behind_is_none() {
        let now = Timestamp::from_millis(1_000_000);
        let in_seconds = |seconds| now.plus(Duration::from_secs(seconds));
        assert_eq!(time_left(now, in_seconds(5)), Duration::from_secs(4));
        assert_eq!(time_left(now, in_seconds(60)), MAX_REQUEST_DURATION);
        assert_eq!(time_left(now, in_seconds(1)), Duration::ZERO);
        assert_eq!(time_left(now, Timestamp::from_millis(0)), MAX_REQUEST_DURATION);
    }
}
