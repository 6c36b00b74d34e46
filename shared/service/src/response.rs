//! From what came of a request to its response, and to the line that is logged of it.
//!
//! An invocation never ends in an error: a panic is a 500 in the same shape as every other problem, and the process
//! goes on. It knows nothing of the endpoints.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures_util::FutureExt as _;
use lambda_http::http::header::{ALLOW, CONTENT_TYPE};
use lambda_http::http::{HeaderName, HeaderValue, StatusCode};
use lambda_http::{Body, Response};
use serde::Serialize;

use crate::invocation::Invocation;
use crate::problem::Problem;
use crate::request::Route;
use crate::telemetry::request_log::RequestLog;
use store::call_stats::CallStats;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A success.
#[derive(Debug)]
pub enum Answer {
    /// 200 with this body, as JSON text.
    Json(String),
    /// 204 without a body: the methods of this path.
    Options(&'static Route),
}

impl Answer {
    /// A 200 with this body.
    #[must_use]
    pub fn json(body: &impl Serialize) -> Self {
        // The bodies of this service are structures of strings and numbers, which always serialize.
        Self::Json(serde_json::to_string(body).unwrap_or_default())
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Json(_) => StatusCode::OK,
            Self::Options(_) => StatusCode::NO_CONTENT,
        }
    }
}

/// What came of a request.
pub(crate) type Outcome = Result<Answer, Problem>;

/// Does `work`, whatever comes of it, and answers.
pub async fn conclude(invocation: &Invocation, work: impl AsyncFnOnce(&mut RequestLog) -> Outcome) -> Response<Body> {
    let began = Instant::now();
    let mut record = RequestLog::default();
    // On the heap: the SDK's futures are many kilobytes, and each layer around one would copy it.
    let guarded = AssertUnwindSafe(Box::pin(work(&mut record))).catch_unwind();
    let (outcome, call_stats) = CallStats::of(guarded).await;
    let outcome = outcome.unwrap_or(Err(Problem::InternalError));
    record.errors(outcome.as_ref().err().into_iter().flat_map(Problem::errors));
    record.write(invocation, &outcome, &call_stats, began.elapsed());
    respond(outcome, invocation)
}

fn respond(outcome: Result<Answer, Problem>, invocation: &Invocation) -> Response<Body> {
    let mut response = match outcome {
        Ok(answer) => success(answer),
        Err(problem) => {
            let mut response = with_type("application/problem+json", problem.body(&invocation.id));
            *response.status_mut() = StatusCode::from_u16(problem.problem_type().status).unwrap_or_default();
            response.headers_mut().extend(problem.headers());
            response
        }
    };
    if let Ok(id) = HeaderValue::from_str(&invocation.id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

fn success(answer: Answer) -> Response<Body> {
    let status = answer.status();
    let mut response = match answer {
        Answer::Json(body) => with_type("application/json", body),
        Answer::Options(route) => {
            let allow = HeaderValue::try_from(route.allow()).ok().map(|value| (ALLOW, value));
            let mut response = Response::new(Body::Empty);
            response.headers_mut().extend(allow);
            response
        }
    };
    *response.status_mut() = status;
    response
}

fn with_type(media_type: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(Body::Text(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use model::deadline::Deadline;
    use model::timestamp::Timestamp;

    #[tokio::test]
    async fn a_panic_is_a_500_in_problem_shape_and_the_next_request_is_served() {
        let deadline = Deadline::after(Duration::from_secs(1));
        let invocation =
            Invocation { id: "i1".into(), api_request_id: None, received_at: Timestamp::from_millis(0), deadline };
        let broken = conclude(&invocation, async |_| panic!("a value that nobody may see")).await;
        assert_eq!(broken.status(), 500);
        assert_eq!(broken.headers()[CONTENT_TYPE], "application/problem+json");
        let Body::Text(text) = broken.into_body() else { panic!("no text") };
        assert!(text.contains("\"code\":\"internal-error\"") && !text.contains("nobody may see"), "{text}");
        let next = conclude(&invocation, async |_| Ok(Answer::json(&"ok"))).await;
        assert_eq!((next.status().as_u16(), next.headers()[REQUEST_ID].to_str().unwrap()), (200, "i1"));
    }
}
