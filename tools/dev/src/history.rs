//! The newest exchanges, in memory. Must not know how they came or where they are shown.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::exchange::{Exchange, MAX_BODY_BYTES};

/// Exchanges that are kept.
const MAX_EXCHANGES: usize = 500;

/// The bytes of all exchanges that are kept.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Types that are counted; a client that makes up types does not fill the memory.
const MAX_TYPES: usize = 1_000;

/// The exchanges.
#[derive(Default)]
pub(crate) struct History {
    state: Mutex<State>,
    added: Notify,
}

/// An exchange that is kept.
pub(crate) struct Kept {
    /// Counts the exchanges of this stack, from 1.
    pub(crate) n: u64,
    pub(crate) exchange: Exchange,
    /// What a list shows.
    pub(crate) summary: Map<String, Value>,
    bytes: usize,
}

#[derive(Default)]
struct State {
    kept: VecDeque<Arc<Kept>>,
    bytes: usize,
    last: u64,
    /// Since the start, or since the list was cleared.
    totals: [u64; 4],
    by_type: BTreeMap<String, u64>,
}

/// What is counted: the requests, and these members of their summaries.
const TOTALS: [&str; 4] = ["requests", "accepted", "rejected", "warnings"];

impl History {
    /// Keeps an exchange, without a body that no function accepts.
    pub(crate) fn add(&self, mut exchange: Exchange) -> Arc<Kept> {
        let mut summary = exchange.summary();
        exchange.sent.body = exchange.sent.body.filter(|body| body.len() <= MAX_BODY_BYTES);
        let bytes = exchange.bytes() + serde_json::to_string(&summary).map_or(0, |text| text.len());
        let kept = self.with(|state| {
            state.last += 1;
            summary.insert("n".to_owned(), json!(state.last));
            state.count(&summary);
            let kept = Arc::new(Kept { n: state.last, exchange, summary, bytes });
            state.bytes += bytes;
            state.kept.push_back(Arc::clone(&kept));
            while state.kept.len() > MAX_EXCHANGES || (state.bytes > MAX_BYTES && state.kept.len() > 1) {
                state.bytes -= state.kept.pop_front().map_or(0, |oldest| oldest.bytes);
            }
            kept
        });
        self.added.notify_waiters();
        kept
    }

    /// The exchanges after number `after` that are `wanted`, oldest first, and the number of the last one of all. When there is none
    /// yet, waits for one until `timeout`.
    pub(crate) async fn after(
        &self,
        after: u64,
        timeout: Duration,
        wanted: impl Fn(&Kept) -> bool,
    ) -> (Vec<Arc<Kept>>, u64) {
        let end = Instant::now() + timeout;
        loop {
            let added = self.added.notified();
            tokio::pin!(added);
            // From here on an addition is noticed.
            added.as_mut().enable();
            let (found, last) = self.with(|state| {
                let newer = state.kept.iter().filter(|kept| kept.n > after && wanted(kept));
                (newer.cloned().collect::<Vec<_>>(), state.last)
            });
            if !found.is_empty() || tokio::time::timeout_at(end, added).await.is_err() {
                return (found, last);
            }
        }
    }

    /// The exchange with this number, if it is kept.
    pub(crate) fn find(&self, n: u64) -> Option<Arc<Kept>> {
        self.with(|state| state.kept.iter().find(|kept| kept.n == n).cloned())
    }

    /// What was counted, in JSON.
    pub(crate) fn counts(&self) -> Value {
        self.with(|state| {
            let mut counts: Map<_, _> =
                TOTALS.map(str::to_owned).into_iter().zip(state.totals.map(Value::from)).collect();
            counts.insert("byType".to_owned(), json!(state.by_type));
            counts.into()
        })
    }

    /// Forgets all exchanges and counts. Numbers go on.
    pub(crate) fn clear(&self) {
        self.with(|state| *state = State { last: state.last, ..State::default() });
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn count(&mut self, summary: &Map<String, Value>) {
        for (total, name) in self.totals.iter_mut().zip(TOTALS) {
            *total +=
                if name == "requests" { 1 } else { summary.get(name).and_then(Value::as_u64).unwrap_or_default() };
        }
        for (name, count) in summary.get("types").and_then(Value::as_object).into_iter().flatten() {
            if self.by_type.len() < MAX_TYPES || self.by_type.contains_key(name) {
                *self.by_type.entry(name.clone()).or_default() += count.as_u64().unwrap_or_default();
            }
        }
    }
}

#[cfg(test)]
mod tests;
