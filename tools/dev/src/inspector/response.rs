//! The responses of the inspector's API. Must not know what is asked for.

use anyhow::Result;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse as _;
use serde::Serialize;

/// A response with this text, which is JSON already, so that no digit of a number changes.
pub(super) fn json_text_response(result: Result<String>) -> Response<Body> {
    match result {
        Ok(json) => ([(CONTENT_TYPE, "application/json")], json).into_response(),
        Err(error) => (StatusCode::BAD_GATEWAY, format!("{error:#}")).into_response(),
    }
}

/// A response with this value in JSON.
pub(super) fn json_response(value: &impl Serialize) -> Response<Body> {
    json_text_response(serde_json::to_string(value).map_err(Into::into))
}
