//! The answers that a test has the gateway give to the next requests. Must not know how they are
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
use super::response::{Answered, ApiError, json_response};
use super::{Shared, read_body};
use crate::gateway::injected_answer::{AnswerPlan, NextAnswer};

/// The body of `POST /answers`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedAnswers {
    account: Option<String>,
    path: Option<String>,
    answers: Vec<String>,
}

/// Plans answers for the next requests of an account on a path, in their order.
pub(super) async fn plan(
    State(inspector): Shared,
    Parameters(NoParameters {}): Parameters<NoParameters>,
    body: Result<Bytes, BytesRejection>,
) -> Answered {
    let body = read_body(body)?;
    let wanted: WantedAnswers = serde_json::from_slice(&body).map_err(|error| {
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
    let answers = wanted.answers.iter().map(|text| NextAnswer::parse(text));
    let answers = answers.collect::<Result<_, _>>();
    let answers = answers.map_err(|why| ApiError::bad_request(format!("answers: {why}")))?;
    gateway.injected_answers.plan(AnswerPlan {
        account: wanted.account,
        path: wanted.path,
        answers,
    });
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The answers that are still to be given.
pub(super) async fn list(
    State(inspector): Shared,
    Parameters(NoParameters {}): Parameters<NoParameters>,
) -> Answered {
    let plans = inspector.gateway.injected_answers.planned();
    json_response(&json!({"plans": plans}))
}

/// Forgets the answers that are planned for an account, or all.
pub(super) async fn clear(
    State(inspector): Shared,
    Parameters(wanted): Parameters<OptionalAccountQuery>,
) -> Answered {
    let account = wanted.account_name();
    ensure_known_account(&inspector, account).await?;
    inspector.gateway.injected_answers.clear(account);
    Ok(StatusCode::NO_CONTENT.into_response())
}
