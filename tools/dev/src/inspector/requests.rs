//! The inspector's answers about requests, which it can also send again. Must not know how requests
//! are kept.

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse as _;
use emulator::development_key::API_KEY;
use serde_json::json;

use super::Shared;
use super::accounts::unknown_account;
use super::query::{NoParameters, RequestsQuery};
use super::response::{json_response, json_text_response};
use crate::exchange::recent_exchanges::WaitResult;
use crate::gateway::lambda_event;

/// The requests that the page, or a test, has not seen yet.
pub(super) async fn list(
    State(inspector): Shared,
    Query(wanted): Query<RequestsQuery>,
) -> Response<Body> {
    if let Some(response) = unknown_account(&inspector, wanted.account.as_deref()) {
        return response;
    }
    let exchanges = &inspector.gateway.exchanges;
    let found = exchanges.wait(wanted.wait, |log| {
        let found = log.after(wanted.after, |exchange| wanted.include(exchange));
        WaitResult {
            is_enough: !found.kept.is_empty(),
            value: found,
        }
    });
    let found = found.await;
    let requests = found.kept.iter();
    let requests: Vec<_> = requests.map(|kept| kept.exchange.summary(kept.n)).collect();
    json_response(&json!({"requests": requests, "oldest": found.oldest, "last": found.last}))
}

/// One request with its headers and bodies.
pub(super) async fn one(
    State(inspector): Shared,
    Path(n): Path<u64>,
    Query(NoParameters {}): Query<NoParameters>,
) -> Response<Body> {
    let Some(kept) = inspector.gateway.exchanges.find(n) else {
        return not_kept();
    };
    json_response(&kept.exchange.detail(n))
}

/// The Lambda event that API Gateway would make of a request, for `cargo lambda invoke`. The only
/// key in it is the development key, which is public.
pub(super) async fn lambda_event(
    State(inspector): Shared,
    Path(n): Path<u64>,
    Query(NoParameters {}): Query<NoParameters>,
) -> Response<Body> {
    let Some(kept) = inspector.gateway.exchanges.find(n) else {
        return not_kept();
    };
    let exchange = &kept.exchange;
    let event = lambda_event::lambda_event(&exchange.sent, "inspector", |name, value| match value
        .to_str()
    {
        Ok(text) if text.contains(API_KEY) => text.to_owned(),
        _ => exchange.shown_header(name, value),
    });
    let text = serde_json::to_string_pretty(&event).unwrap_or_default();
    json_text_response(Ok(format!("{text}\n")))
}

/// Forgets all requests and counts.
pub(super) async fn clear(
    State(inspector): Shared,
    Query(NoParameters {}): Query<NoParameters>,
) -> Response<Body> {
    inspector.gateway.exchanges.clear();
    StatusCode::NO_CONTENT.into_response()
}

/// Sends a request again: as it was, or with the body of this one.
pub(super) async fn replay(
    State(inspector): Shared,
    Path(n): Path<u64>,
    Query(NoParameters {}): Query<NoParameters>,
    body: Bytes,
) -> Response<Body> {
    let Some(kept) = inspector.gateway.exchanges.find(n) else {
        return not_kept();
    };
    let sent = kept.exchange.sent.clone();
    if sent.body.is_none() && body.is_empty() {
        let why = "The body was too large to be kept.";
        return (StatusCode::NOT_FOUND, why).into_response();
    }
    let sent = if body.is_empty() {
        sent
    } else {
        sent.with_body(body)
    };
    match inspector.gateway.answer_and_keep(sent, None).await {
        Some(kept) => json_response(&kept.exchange.summary(kept.n)),
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn not_kept() -> Response<Body> {
    (
        StatusCode::NOT_FOUND,
        "There is no such request, or it is no longer kept.",
    )
        .into_response()
}
