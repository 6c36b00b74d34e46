//! What the page reads for its lists: a short row for each request and signal, and which of them have
//! a text. Both may change with the page; other programs read `/requests` and `/signals`. Must not
//! know how exchanges are kept.

use axum::extract::State;
use memchr::memmem::Finder;
use serde::Serialize;

use super::Shared;
use super::query::{MatchesQuery, Parameters, RowsQuery};
use super::response::{ApiResult, ListState, json_response};
use crate::exchange::recent_exchanges::KeptExchange;
use crate::exchange::summary::ExchangeRow;

/// About how many signals one response has. The page asks for more until it has all.
const MAX_SIGNALS: usize = 10_000;

#[derive(Serialize)]
struct RowList<'a> {
    rows: Vec<ExchangeRow<'a>>,
    #[serde(flatten)]
    state: ListState<'a>,
}

/// The rows of the requests that the page does not have yet, the oldest of them first.
pub(super) async fn list(
    State(inspector): Shared,
    Parameters(wanted): Parameters<RowsQuery>,
) -> ApiResult {
    let exchanges = &inspector.gateway.exchanges;
    let found = exchanges.after(wanted.after);
    let mut rows = Vec::new();
    let mut signals = 0;
    for kept in &found.kept {
        if signals >= MAX_SIGNALS {
            break;
        }
        signals += kept.exchange.signals.len();
        rows.push(kept.exchange.row(kept.n));
    }
    json_response(&RowList {
        rows,
        state: ListState::new(&found, &inspector.stack_id),
    })
}

#[derive(Serialize)]
struct MatchList {
    matches: Vec<RequestMatch>,
    last: u64,
}

/// A request whose body, or that of its response, has the text.
#[derive(Serialize)]
struct RequestMatch {
    n: u64,
    /// The places of its signals that have the text.
    signals: Vec<usize>,
}

impl RequestMatch {
    fn find(kept: &KeptExchange, text: &Finder<'_>) -> Option<Self> {
        if !kept.exchange.has_text(text) {
            return None;
        }
        let signals = kept.exchange.signals.iter().enumerate();
        let matching = signals.filter(|(_, signal)| signal.has_text(text));
        Some(Self {
            n: kept.n,
            signals: matching.map(|(index, _)| index).collect(),
        })
    }
}

/// Which requests and signals have a text.
pub(super) async fn matches(
    State(inspector): Shared,
    Parameters(wanted): Parameters<MatchesQuery>,
) -> ApiResult {
    let found = inspector.gateway.exchanges.after(wanted.after);
    let text = Finder::new(&wanted.text);
    let kept = found.kept.iter();
    json_response(&MatchList {
        matches: kept
            .filter_map(|kept| RequestMatch::find(kept, &text))
            .collect(),
        last: found.last,
    })
}
