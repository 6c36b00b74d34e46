//! The responses of the inspector's API. Must not know what is asked for.

use anyhow::Error;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use model::validation::FieldError;
use serde::Serialize;

use crate::exchange::api_key::without_keys;
use crate::exchange::recent_exchanges::NewExchanges;

/// The response to a request, or why there is none.
pub(super) type ApiResult = Result<Response<Body>, ApiError>;

/// Why a request has no other response: a sentence, which is JSON in the response.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApiError {
    #[serde(skip)]
    status: StatusCode,
    message: String,
    /// What is wrong with the signal in the body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    field_errors: Vec<FieldError>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            field_errors: Vec::new(),
        }
    }

    pub(super) fn with_field_errors(mut self, errors: &[FieldError]) -> Self {
        self.field_errors = errors.to_vec();
        self
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}"))
    }
}

impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        Error::from(error).into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response<Body> {
        let json = serde_json::to_string(&self).expect("texts can be written as JSON");
        (self.status, json_text_response(json)).into_response()
    }
}

/// What a list says of the exchanges that are kept.
#[derive(Serialize)]
pub(super) struct ListState<'a> {
    oldest: u64,
    last: u64,
    stack: &'a str,
    dropped: u64,
    clears: u64,
}

impl<'a> ListState<'a> {
    pub(super) fn new(found: &NewExchanges, stack_id: &'a str) -> Self {
        Self {
            oldest: found.oldest,
            last: found.last,
            stack: stack_id,
            dropped: found.dropped,
            clears: found.clears,
        }
    }
}

/// A response with this text, which is JSON already, so that no digit of a number changes.
pub(super) fn json_text_response(json: String) -> Response<Body> {
    ([(CONTENT_TYPE, "application/json")], json).into_response()
}

/// A response with this value in JSON, without the API keys that a client has put anywhere in its
/// request.
pub(super) fn json_response(value: &impl Serialize) -> ApiResult {
    let json = serde_json::to_string(value)?;
    Ok(json_text_response(without_keys(&json)))
}
