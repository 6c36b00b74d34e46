//! The inspector's answers about signals, which a test of a client asserts. Must not know how
//! exchanges are kept.

use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse as _;
use serde::Serialize;

use super::accounts::unknown_account;
use super::query::{CountsQuery, SignalsQuery};
use super::response::json_response;
use super::{Inspector, Shared};
use crate::exchange::recent_exchanges::WaitResult;
use crate::exchange::signal::ShownSignal;

/// The signals that are asked for.
#[derive(Serialize)]
struct SignalList<'a> {
    signals: Vec<ListedSignal<'a>>,
    oldest: u64,
    last: u64,
}

/// A signal, with the number and the account of its request.
#[derive(Serialize)]
struct ListedSignal<'a> {
    request: u64,
    account: Option<&'a str>,
    #[serde(flatten)]
    signal: &'a ShownSignal,
}

/// The signals that a test of a client asks for.
pub(super) async fn list(
    State(inspector): Shared,
    Query(wanted): Query<SignalsQuery>,
) -> Response<Body> {
    if let Some(response) = unknown_account(&inspector, wanted.account.as_deref()) {
        return response;
    }
    let exchanges = &inspector.gateway.exchanges;
    let found = exchanges.wait(wanted.wait, |log| {
        let found = log.after(wanted.after, |_| true);
        let exchanges = found.kept.iter().map(|kept| &kept.exchange);
        let signals: usize = exchanges
            .map(|exchange| wanted.select(exchange).count())
            .sum();
        WaitResult {
            is_enough: signals >= wanted.count.unwrap_or(1),
            value: found,
        }
    });
    let found = found.await;
    if let Some(response) = event_contracts_failed(&inspector) {
        return response;
    }
    let mut signals = Vec::new();
    for kept in &found.kept {
        let account = kept.exchange.key.account.as_deref();
        signals.extend(wanted.select(&kept.exchange).map(|signal| ListedSignal {
            request: kept.n,
            account,
            signal,
        }));
    }
    json_response(&SignalList {
        signals,
        oldest: found.oldest,
        last: found.last,
    })
}

/// The counts of all requests, or of those of one account.
pub(super) async fn counts(
    State(inspector): Shared,
    Query(wanted): Query<CountsQuery>,
) -> Response<Body> {
    if let Some(response) = unknown_account(&inspector, wanted.account.as_deref()) {
        return response;
    }
    let exchanges = &inspector.gateway.exchanges;
    let counts = exchanges.wait(wanted.wait, |log| {
        let counts = match &wanted.account {
            Some(account) => log.counts_by_account.get(account).cloned(),
            None => Some(log.counts.clone()),
        };
        let counts = counts.unwrap_or_default();
        WaitResult {
            is_enough: counts.signals.sum() >= wanted.count.unwrap_or(1),
            value: counts,
        }
    });
    let counts = counts.await;
    event_contracts_failed(&inspector).unwrap_or_else(|| json_response(&counts))
}

/// The error that signals are not judged by their event contracts any more. Without it, a test
/// would take a missing verdict for an event contract that is kept.
fn event_contracts_failed(inspector: &Inspector) -> Option<Response<Body>> {
    let program = inspector.gateway.event_contracts.as_ref()?;
    let why = program.failure()?.to_owned();
    Some((StatusCode::BAD_GATEWAY, why).into_response())
}
