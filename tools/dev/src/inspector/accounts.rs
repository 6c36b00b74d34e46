//! The inspector's response about accounts, and the error for an unknown account. Must not know what
//! an account has stored.

use std::collections::BTreeSet;

use axum::extract::State;
use serde::Serialize;

use super::query::{NoParameters, Parameters};
use super::response::{ApiError, ApiResult, json_response};
use super::stored_data::StoredData;
use super::{Inspector, Shared};

#[derive(Serialize)]
struct AccountList {
    accounts: BTreeSet<String>,
}

/// The accounts that have a key.
pub(super) async fn list(
    State(inspector): Shared,
    Parameters(NoParameters {}): Parameters<NoParameters>,
) -> ApiResult {
    let accounts = inspector.with_stored(StoredData::accounts).await?;
    json_response(&AccountList { accounts })
}

/// Checks that the account has a key. Otherwise an assertion about a misspelt account would pass.
pub(super) async fn ensure_known_account(
    inspector: &Inspector,
    wanted: Option<&str>,
) -> Result<(), ApiError> {
    let Some(wanted) = wanted else {
        return Ok(());
    };
    let accounts = inspector.with_stored(StoredData::accounts).await?;
    if accounts.contains(wanted) {
        return Ok(());
    }
    let known = Vec::from_iter(accounts).join(", ");
    Err(ApiError::bad_request(format!(
        "account: no key belongs to this account; there are {known}"
    )))
}
