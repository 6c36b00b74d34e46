//! The answers that API Gateway gives without a function. Must not know when which one is given.

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode};

use crate::exchange::answer::Answer;

/// API Gateway's own answer with this status, message and reason.
pub(super) fn own_answer(status: StatusCode, message: &str, reason: Option<String>) -> Answer {
    Answer {
        response: own_response(status, message),
        reason,
        batch: None,
    }
}

/// The answer to a request that is not HTTP.
pub(super) fn bad_request(reason: String) -> Answer {
    own_answer(StatusCode::BAD_REQUEST, "Bad Request", Some(reason))
}

/// The answer of API Gateway to a request that it, or Lambda, does not take.
pub(super) fn too_large(reason: String) -> Answer {
    let status = StatusCode::PAYLOAD_TOO_LARGE;
    own_answer(status, "Request Entity Too Large", Some(reason))
}

/// The answer of API Gateway when a function failed.
pub(super) fn internal_server_error() -> Answer {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    own_answer(status, "Internal Server Error", None)
}

/// The answer of API Gateway when it has no answer of a function in time.
pub(super) fn service_unavailable(reason: Option<String>) -> Answer {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    own_answer(status, "Service Unavailable", reason)
}

/// A response in the shape that API Gateway's own responses have.
fn own_response(status: StatusCode, message: &str) -> Response<Bytes> {
    let mut response = Response::new(format!("{{\"message\":\"{message}\"}}").into());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
