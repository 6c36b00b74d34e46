//! The inspector's answers about signals, which a test of a client asserts. Must not know how
//! exchanges are kept.

use axum::extract::State;
use serde::Serialize;

use super::Shared;
use super::accounts::ensure_known_account;
use super::query::{CountsQuery, Parameters, SignalsQuery};
use super::response::{Answered, json_response};
use crate::exchange::recent_exchanges::WaitResult;
use crate::exchange::signal::ShownSignal;

/// The signals that are asked for.
#[derive(Serialize)]
struct SignalList<'a> {
    signals: Vec<ListedSignal<'a>>,
    oldest: u64,
    last: u64,
    stack: &'a str,
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
    Parameters(wanted): Parameters<SignalsQuery>,
) -> Answered {
    ensure_known_account(&inspector, wanted.account.as_deref())?;
    let exchanges = &inspector.gateway.exchanges;
    let found = exchanges.wait(wanted.wait, |log| {
        let found = log.after(wanted.after, |_| true);
        let exchanges = found.kept.iter().map(|kept| &kept.exchange);
        let signals: u64 = exchanges
            .map(|exchange| wanted.select(exchange).count() as u64)
            .sum();
        WaitResult {
            is_enough: signals >= wanted.count.unwrap_or(1),
            value: found,
        }
    });
    let found = found.await;
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
        stack: &inspector.stack_id,
    })
}

/// The counts of all requests, or of those of one account.
pub(super) async fn counts(
    State(inspector): Shared,
    Parameters(wanted): Parameters<CountsQuery>,
) -> Answered {
    ensure_known_account(&inspector, wanted.account.as_deref())?;
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
    json_response(&counts)
}
