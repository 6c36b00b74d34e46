//! The redrive of a rejected signal, as `cargo intake rejected redrive` does it. Must not know how a
//! signal is stored.

use anyhow::Context as _;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use operator::rejected::redrive::{Candidate, Redrive, RedriveOutcome, read_edited};

use super::accounts::ensure_known_account;
use super::query::{AccountQuery, Parameters};
use super::response::{ApiError, ApiResult, json_response};
use super::{Shared, read_body};

/// Processes a rejected signal again. The body is an entry of the list of rejected signals, maybe
/// with another payload.
pub(super) async fn redrive(
    State(inspector): Shared,
    Parameters(wanted): Parameters<AccountQuery>,
    body: Result<Bytes, BytesRejection>,
) -> ApiResult {
    let body = read_body(body)?;
    let account = &wanted.account;
    ensure_known_account(&inspector, Some(account.as_str())).await?;
    let candidate = read_candidate(&body)?;
    let mut redriven = None;
    Redrive::new(&inspector.tables, account, false)
        .run(&[candidate], |one| redriven = Some(one))
        .await?;
    let redriven = redriven.context("Nothing is known of the signal.")?;
    let refusal = match &redriven.outcome {
        RedriveOutcome::Accepted => return json_response(&redriven),
        RedriveOutcome::Rejected(errors) => {
            let why = "The signal is not stored: it is still rejected.";
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, why).with_field_errors(errors)
        }
        RedriveOutcome::Expired => {
            let why = "The signal is not stored: it arrived longer ago than signals are kept.";
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, why)
        }
        RedriveOutcome::Missing => {
            let why = "No rejected signal has this id: it was redriven or erased, or has expired.";
            ApiError::new(StatusCode::NOT_FOUND, why)
        }
    };
    Err(refusal)
}

fn read_candidate(body: &[u8]) -> Result<Candidate, ApiError> {
    let text = std::str::from_utf8(body);
    let text = text.map_err(|_| ApiError::bad_request("The body is not UTF-8."))?;
    // A signal is read from each line, and no string of JSON has a line break.
    let line = text.replace(['\n', '\r'], " ");
    let candidates = read_edited(&line, "the body");
    let candidates = candidates.map_err(|error| ApiError::bad_request(format!("{error:#}.")))?;
    let candidate = candidates.into_iter().next();
    candidate.ok_or_else(|| {
        ApiError::bad_request("The body must be a rejected signal, as GET /rejected lists it.")
    })
}
