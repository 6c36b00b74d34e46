//! The clean start of a test of a client. Must not know how exchanges and items are kept.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;

use super::Shared;
use super::accounts::ensure_known_account;
use super::query::{OptionalAccountQuery, Parameters};
use super::response::ApiResult;

/// Deletes everything but the keys: the messages of the queue, the items, the exchanges and the
/// planned responses. With an account, only what belongs to it.
pub(super) async fn reset(
    State(inspector): Shared,
    Parameters(wanted): Parameters<OptionalAccountQuery>,
) -> ApiResult {
    let account = wanted.account.clone();
    ensure_known_account(&inspector, wanted.account_name()).await?;
    // While this guard is held, no drain stores anything.
    let _guard = inspector.queue.empty(account.as_ref()).await;
    let clearing = inspector.with_stored(move |stored| stored.clear(account.as_ref()));
    clearing.await?;
    let gateway = &inspector.gateway;
    match &wanted.account {
        Some(account) => gateway.exchanges.clear_account(account.as_str()),
        None => gateway.exchanges.clear(),
    }
    gateway.injected_responses.clear(wanted.account_name());
    Ok(StatusCode::NO_CONTENT.into_response())
}
