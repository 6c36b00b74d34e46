//! The HTTP response to a request, from its success or its problem.

use lambda_http::http::header::{ALLOW, CONTENT_TYPE};
use lambda_http::http::{HeaderName, HeaderValue, StatusCode};
use lambda_http::{Body, Response};
use serde::Serialize;

use crate::problem::Problem;
use crate::problem_document::{self, ProblemDocument};
use crate::success::Success;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The response to the request of this invocation.
pub fn respond(result: &Result<Success, Problem>, request_id: &str) -> Response<Body> {
    let mut response = match result {
        Ok(success) => of_success(success),
        Err(problem) => {
            let mut response = json(
                "application/problem+json",
                &ProblemDocument::new(problem, request_id),
            );
            *response.status_mut() = StatusCode::from_u16(problem.problem_type().status)
                .expect("problem types have valid statuses");
            response
                .headers_mut()
                .extend(problem_document::headers(problem));
            response
        }
    };
    if let Ok(id) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

fn of_success(success: &Success) -> Response<Body> {
    match success {
        Success::Pong => json("application/json", &serde_json::json!({"response": "pong"})),
        Success::Customer(customer) => json("application/json", customer),
        Success::Batch(batch) => json("application/json", batch),
        Success::Options(route) => {
            let mut response = Response::new(Body::Empty);
            *response.status_mut() = StatusCode::NO_CONTENT;
            let allow =
                HeaderValue::try_from(route.allow()).expect("the names of methods are ASCII");
            response.headers_mut().insert(ALLOW, allow);
            response
        }
    }
}

fn json(media_type: &'static str, body: &impl Serialize) -> Response<Body> {
    let body = serde_json::to_string(body).expect("structures of strings and numbers serialize");
    let mut response = Response::new(Body::Text(body));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
