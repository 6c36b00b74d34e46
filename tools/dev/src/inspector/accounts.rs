//! The inspector's answer about accounts, and the error for an unknown account. Must not know what
//! an account has stored.

use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse as _;

use super::query::NoParameters;
use super::response::{json_response, json_text_response};
use super::{Inspector, Shared};

/// The accounts that have a key.
pub(super) async fn list(
    State(inspector): Shared,
    Query(NoParameters {}): Query<NoParameters>,
) -> Response<Body> {
    match inspector.stored.accounts() {
        Ok(accounts) => json_response(&accounts),
        Err(error) => json_text_response(Err(error)),
    }
}

/// The error for an account that has no key. Without it, an assertion about a misspelt account
/// would pass.
pub(super) fn unknown_account(
    inspector: &Inspector,
    wanted: Option<&str>,
) -> Option<Response<Body>> {
    let wanted = wanted?;
    let accounts = match inspector.stored.accounts() {
        Ok(accounts) => accounts,
        Err(error) => return Some(json_text_response(Err(error))),
    };
    if accounts.contains(wanted) {
        return None;
    }
    let known = Vec::from_iter(accounts).join(", ");
    let why = format!("account: no key belongs to this account; there are {known}");
    Some((StatusCode::BAD_REQUEST, why).into_response())
}
