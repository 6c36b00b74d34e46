//! The inspector's responses about what is stored of an account. Must not know how it is stored.

use axum::extract::State;

use super::Shared;
use super::accounts::ensure_known_account;
use super::query::{AccountQuery, Parameters, PathPart};
use super::response::{ApiResult, json_text_response};

/// The profile and the newest signals of a customer, or the signals of an emitter.
pub(super) async fn customer(
    State(inspector): Shared,
    PathPart(id): PathPart,
    Parameters(wanted): Parameters<AccountQuery>,
) -> ApiResult {
    ensure_known_account(&inspector, Some(wanted.account.as_str())).await?;
    let customer = inspector.with_stored(move |stored| stored.customer(&wanted.account, &id));
    let customer = customer.await?;
    Ok(json_text_response(customer))
}

/// The newest rejected signals.
pub(super) async fn rejected(
    State(inspector): Shared,
    Parameters(wanted): Parameters<AccountQuery>,
) -> ApiResult {
    ensure_known_account(&inspector, Some(wanted.account.as_str())).await?;
    let rejected = inspector.with_stored(move |stored| stored.rejected(&wanted.account));
    let rejected = rejected.await?;
    Ok(json_text_response(rejected))
}
