//! The inspector's responses about requests, which it can also send again. Must not know how requests
//! are kept.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use emulator::development_key::API_KEY;
use serde::Serialize;

use super::accounts::ensure_known_account;
use super::query::{NoParameters, Parameters, PathPart, RequestsQuery};
use super::response::{ApiError, ApiResult, ListState, json_response, json_text_response};
use super::{Inspector, Shared, read_body};
use crate::exchange::api_key::without_other_keys;
use crate::exchange::recent_exchanges::{KeptExchange, WaitResult};
use crate::exchange::summary::ExchangeSummary;
use crate::gateway::lambda_event;

#[derive(Serialize)]
struct RequestList<'a> {
    requests: Vec<ExchangeSummary<'a>>,
    #[serde(flatten)]
    state: ListState<'a>,
}

/// The requests that a test has not seen yet.
pub(super) async fn list(
    State(inspector): Shared,
    Parameters(wanted): Parameters<RequestsQuery>,
) -> ApiResult {
    ensure_known_account(&inspector, wanted.account.as_deref()).await?;
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
    let requests = requests.map(|kept| kept.exchange.summary(kept.n)).collect();
    json_response(&RequestList {
        requests,
        state: ListState::new(&found, &inspector.stack_id),
    })
}

/// One request with its headers and bodies.
pub(super) async fn one(
    State(inspector): Shared,
    PathPart(n): PathPart,
    Parameters(NoParameters {}): Parameters<NoParameters>,
) -> ApiResult {
    let kept = find(&inspector, &n)?;
    json_response(&kept.exchange.detail(kept.n))
}

/// The Lambda event that API Gateway would make of a request, for `cargo lambda invoke`. The only
/// key in it is the development key, which is public.
pub(super) async fn lambda_event(
    State(inspector): Shared,
    PathPart(n): PathPart,
    Parameters(NoParameters {}): Parameters<NoParameters>,
) -> ApiResult {
    let kept = find(&inspector, &n)?;
    let exchange = &kept.exchange;
    if let Some(why) = exchange.sent.body.why_missing() {
        return Err(ApiError::new(StatusCode::NOT_FOUND, why));
    }
    let event = lambda_event::lambda_event(&exchange.sent, "inspector", |name, value| match value
        .to_str()
    {
        Ok(text) if text.contains(API_KEY) => text.to_owned(),
        _ => exchange.shown_header(name, value),
    });
    let text = serde_json::to_string_pretty(&event)?;
    Ok(json_text_response(without_other_keys(&text) + "\n"))
}

/// Forgets all requests and counts.
pub(super) async fn clear(
    State(inspector): Shared,
    Parameters(NoParameters {}): Parameters<NoParameters>,
) -> ApiResult {
    inspector.gateway.exchanges.clear();
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Sends a request again: as it was, or with the body of this one.
pub(super) async fn replay(
    State(inspector): Shared,
    PathPart(n): PathPart,
    Parameters(NoParameters {}): Parameters<NoParameters>,
    body: Result<Bytes, BytesRejection>,
) -> ApiResult {
    let body = read_body(body)?;
    let kept = find(&inspector, &n)?;
    let sent = kept.exchange.sent.clone();
    if let Some(why) = sent.body.why_missing()
        && body.is_empty()
    {
        return Err(ApiError::new(StatusCode::NOT_FOUND, why));
    }
    let sent = if body.is_empty() {
        sent
    } else {
        sent.with_body(body)
    };
    match inspector.gateway.respond_and_keep(sent, None).await {
        Some(kept) => json_response(&kept.exchange.summary(kept.n)),
        None => Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The local stack failed. Its terminal says why.",
        )),
    }
}

/// The request with this number in the path.
fn find(inspector: &Inspector, n: &str) -> Result<Arc<KeptExchange>, ApiError> {
    let exchanges = &inspector.gateway.exchanges;
    let found = n.parse().ok().and_then(|n| exchanges.find(n));
    found.ok_or_else(|| {
        let why = "There is no such request, or the list no longer has it.";
        ApiError::new(StatusCode::NOT_FOUND, why)
    })
}
