//! The answer to a request: that of a function, or one that API Gateway gives without a function. Must
//! not know when which answer is given.

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode};

use crate::functions::BatchResult;

/// The answer to a request.
pub(super) struct GatewayAnswer {
    pub(super) response: Response<Bytes>,
    /// Why the response is as it is, where it does not say so itself.
    pub(super) reason: Option<String>,
    pub(super) batch: Option<BatchResult>,
}

impl GatewayAnswer {
    /// An answer that API Gateway gives without a function.
    pub(super) fn own(status: StatusCode, message: &str, reason: Option<String>) -> Self {
        Self {
            response: own_response(status, message),
            reason,
            batch: None,
        }
    }
}

/// A response in the shape that API Gateway's own responses have.
pub(super) fn own_response(status: StatusCode, message: &str) -> Response<Bytes> {
    let mut response = Response::new(format!("{{\"message\":\"{message}\"}}").into());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
