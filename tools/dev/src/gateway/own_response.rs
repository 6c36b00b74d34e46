//! The responses that are given without a function: those of API Gateway, and one that stands for a
//! function's. Must not know when which one is given.

use aws::call_error::CallError;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode};
use model::identifier::RequestIdentifier;
use service::outcome::Failure;
use service::problem::Problem;
use service::response::respond;
use signals::BatchOutcome;
use store::error::StoreError;

use crate::exchange::given_response::GivenResponse;
use crate::exchange::sent_request::SentRequest;
use crate::exchange::signal::ListedMembers;

/// API Gateway's own response with this status, message and reason.
pub(super) fn own_response(
    status: StatusCode,
    message: &str,
    reason: Option<String>,
) -> GivenResponse {
    GivenResponse {
        response: message_response(status, message),
        reason,
        batch: None,
    }
}

/// The response to a request that is not HTTP.
pub(super) fn bad_request(reason: String) -> GivenResponse {
    own_response(StatusCode::BAD_REQUEST, "Bad Request", Some(reason))
}

/// The response of API Gateway to a request that it, or Lambda, does not take.
pub(super) fn too_large(reason: String) -> GivenResponse {
    let status = StatusCode::PAYLOAD_TOO_LARGE;
    own_response(status, "Request Entity Too Large", Some(reason))
}

/// The response of API Gateway when a function failed.
pub(super) fn internal_server_error() -> GivenResponse {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    own_response(status, "Internal Server Error", None)
}

/// The response of API Gateway when it has no response of a function in time.
pub(super) fn service_unavailable(reason: Option<String>) -> GivenResponse {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    own_response(status, "Service Unavailable", reason)
}

/// The response of a function when DynamoDB is unavailable, and the overflow queue, too. A batch gets
/// the requestIdentifier to retry with.
pub(super) fn storage_unavailable(sent: &SentRequest, reason: Option<String>) -> GivenResponse {
    let retry_identifier = sent.is_batch().then(|| {
        let body = sent.decoded().unwrap_or_default();
        let identifier = ListedMembers::of_body(&body).request_identifier();
        let identifier = identifier.and_then(RequestIdentifier::parse);
        identifier.unwrap_or_else(RequestIdentifier::random)
    });
    let problem = Problem::StorageUnavailable {
        reason: StoreError::Unavailable(CallError::DeadlineExceeded).into(),
        retry_identifier,
    };
    let request_id = format!("{:016x}", fastrand::u64(..));
    let response = respond::<BatchOutcome>(&Err(Failure::Problem(problem)), &request_id);
    GivenResponse {
        response: response.map(|body| Bytes::copy_from_slice(body.as_ref())),
        reason,
        batch: None,
    }
}

/// A response in the shape that API Gateway's own responses have.
fn message_response(status: StatusCode, message: &str) -> Response<Bytes> {
    let mut response = Response::new(format!("{{\"message\":\"{message}\"}}").into());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
