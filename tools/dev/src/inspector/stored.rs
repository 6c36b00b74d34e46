//! The inspector's answers about what is stored of an account. Must not know how it is stored.

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::Response;

use super::Shared;
use super::accounts::unknown_account;
use super::query::AccountQuery;
use super::response::json_text_response;

/// The profile and the newest signals of a customer, or the signals of an emitter.
pub(super) async fn customer(
    State(inspector): Shared,
    Path(id): Path<String>,
    Query(wanted): Query<AccountQuery>,
) -> Response<Body> {
    if let Some(response) = unknown_account(&inspector, Some(wanted.account.as_str())) {
        return response;
    }
    json_text_response(inspector.stored.customer(&wanted.account, &id))
}

/// The newest rejected signals.
pub(super) async fn rejected(
    State(inspector): Shared,
    Query(wanted): Query<AccountQuery>,
) -> Response<Body> {
    if let Some(response) = unknown_account(&inspector, Some(wanted.account.as_str())) {
        return response;
    }
    json_text_response(inspector.stored.rejected(&wanted.account))
}
