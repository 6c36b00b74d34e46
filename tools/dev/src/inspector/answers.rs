//! The responses that a test has the gateway give to the next requests. Must not know how they are
//! given.

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde::Deserialize;
use serde_json::json;

use super::accounts::ensure_known_account;
use super::query::{NoParameters, OptionalAccountQuery, Parameters};
use super::response::{ApiError, ApiResult, json_response};
use super::{Shared, read_body};
use crate::gateway::injected_response::{NextResponse, ResponsePlan};

/// The body of `POST /answers`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedResponses {
    account: Option<String>,
    path: Option<String>,
    answers: Vec<String>,
}

/// Plans responses for the next requests of an account on a path, in their order.
pub(super) async fn plan(
    State(inspector): Shared,
    Parameters(NoParameters {}): Parameters<NoParameters>,
    body: Result<Bytes, BytesRejection>,
) -> ApiResult {
    let body = read_body(body)?;
    let wanted: WantedResponses = serde_json::from_slice(&body).map_err(|error| {
        ApiError::bad_request(format!(
            "The body must be an object with answers, such as {{\"answers\":[\"503\",\"200\"]}}: {error}."
        ))
    })?;
    ensure_known_account(&inspector, wanted.account.as_deref()).await?;
    let gateway = &inspector.gateway;
    if let Some(path) = &wanted.path
        && !gateway.routes.have_path(path)
    {
        let paths = gateway.routes.paths().join(", ");
        return Err(ApiError::bad_request(format!("path: there are {paths}")));
    }
    let responses = wanted.answers.iter().map(|text| NextResponse::parse(text));
    let responses = responses.collect::<Result<_, _>>();
    let responses = responses.map_err(|why| ApiError::bad_request(format!("answers: {why}")))?;
    gateway.injected_responses.plan(ResponsePlan {
        account: wanted.account,
        path: wanted.path,
        responses,
    });
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The responses that are still to be given.
pub(super) async fn list(
    State(inspector): Shared,
    Parameters(NoParameters {}): Parameters<NoParameters>,
) -> ApiResult {
    let plans = inspector.gateway.injected_responses.planned();
    json_response(&json!({"plans": plans}))
}

/// Forgets the responses that are planned for an account, or all.
pub(super) async fn clear(
    State(inspector): Shared,
    Parameters(wanted): Parameters<OptionalAccountQuery>,
) -> ApiResult {
    let account = wanted.account_name();
    ensure_known_account(&inspector, account).await?;
    inspector.gateway.injected_responses.clear(account);
    Ok(StatusCode::NO_CONTENT.into_response())
}
