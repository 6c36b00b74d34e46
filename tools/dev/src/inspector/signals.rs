//! The inspector's responses about signals, which a test of a client asserts. Must not know how
//! exchanges are kept.

use axum::extract::State;
use serde::Serialize;

use super::Shared;
use super::accounts::ensure_known_account;
use super::query::{CountsQuery, Parameters, SignalsQuery};
use super::response::{ApiResult, ListState, json_response};
use crate::exchange::counts::ExchangeCounts;
use crate::exchange::recent_exchanges::WaitResult;
use crate::exchange::signal::ShownSignal;

/// The signals that are asked for.
#[derive(Serialize)]
struct SignalList<'a> {
    signals: Vec<ListedSignal<'a>>,
    #[serde(flatten)]
    state: ListState<'a>,
}

/// A signal, with what a list shows of its request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedSignal<'a> {
    request: u64,
    account: Option<&'a str>,
    time: u64,
    request_identifier: Option<&'a str>,
    #[serde(flatten)]
    signal: &'a ShownSignal,
}

/// The signals that a test of a client asks for.
pub(super) async fn list(
    State(inspector): Shared,
    Parameters(wanted): Parameters<SignalsQuery>,
) -> ApiResult {
    ensure_known_account(&inspector, wanted.account.as_deref()).await?;
    let exchanges = &inspector.gateway.exchanges;
    let found = exchanges.wait(wanted.wait, |log| {
        let found = log.after(wanted.after, |_| true);
        let exchanges = found.kept.iter().map(|kept| &kept.exchange);
        let signals: u64 = exchanges
            .map(|exchange| wanted.select(exchange).count() as u64)
            .sum();
        // One that would count may be among the requests that are no longer kept.
        let is_incomplete = log.dropped(wanted.account.as_deref()) > wanted.after;
        WaitResult {
            is_enough: is_incomplete || signals >= wanted.count.unwrap_or(1),
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
            time: kept.exchange.time(),
            request_identifier: kept.exchange.request_identifier(),
            signal,
        }));
    }
    json_response(&SignalList {
        signals,
        state: ListState::new(&found, &inspector.stack_id),
    })
}

/// What was counted, and from which request on its requests are kept.
#[derive(Serialize)]
struct Counted {
    #[serde(flatten)]
    counts: ExchangeCounts,
    oldest: u64,
}

/// The counts of all requests, or of those of one account; or of those signals of the kept requests
/// that have a type and a subject.
pub(super) async fn counts(
    State(inspector): Shared,
    Parameters(wanted): Parameters<CountsQuery>,
) -> ApiResult {
    let account = wanted.account.as_deref();
    ensure_known_account(&inspector, account).await?;
    let selection = wanted.signals();
    let exchanges = &inspector.gateway.exchanges;
    let counted = exchanges.wait(wanted.wait, |log| {
        let counts = match &selection {
            Some(signals) => log.counts_of_kept(|exchange| signals.select(exchange)),
            None => log.counts(account),
        };
        let is_incomplete = selection.is_some() && log.dropped(account) > 0;
        WaitResult {
            is_enough: is_incomplete || counts.signals.sum() >= wanted.count.unwrap_or(1),
            value: Counted {
                counts,
                oldest: log.oldest(),
            },
        }
    });
    json_response(&counted.await)
}
