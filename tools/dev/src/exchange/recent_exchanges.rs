//! The newest exchanges and the counts of all exchanges, in memory. Must not know how requests
//! arrive or where they are shown.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::limits::MAX_BODY_BYTES;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::exchange::Exchange;
use crate::exchange::counts::ExchangeCounts;
use crate::exchange::sent_request::SentBody;
use crate::exchange::signal::ShownSignal;

/// How many exchanges are kept.
const MAX_EXCHANGES: usize = 500;

/// How many bytes all kept exchanges take together.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// How many batches are remembered. When a client sends more, all earlier ones are forgotten.
const MAX_BATCHES: usize = 100_000;

/// The newest exchanges. A reader can wait for further exchanges.
#[derive(Default)]
pub(crate) struct RecentExchanges {
    log: Mutex<ExchangeLog>,
    added: Notify,
}

/// An exchange that is kept.
pub(crate) struct KeptExchange {
    /// The number of the exchange in this stack, from 1.
    pub(crate) n: u64,
    pub(crate) exchange: Exchange,
    bytes: usize,
}

/// The exchanges that are kept, and what was counted of all.
#[derive(Default)]
pub(crate) struct ExchangeLog {
    kept: VecDeque<Arc<KeptExchange>>,
    bytes: usize,
    /// The number of the newest exchange of all.
    last: u64,
    pub(crate) counts: ExchangeCounts,
    /// The counts of each account whose key was sent.
    pub(crate) counts_by_account: HashMap<String, ExchangeCounts>,
    /// The batches that have acknowledged signals.
    acknowledged: HashSet<BatchId>,
}

/// What a reader that waits for exchanges has found so far.
pub(crate) struct WaitResult<T> {
    pub(crate) value: T,
    /// Whether the reader waits no longer.
    pub(crate) is_enough: bool,
}

/// The exchanges that a reader has not seen yet.
pub(crate) struct NewExchanges {
    /// Oldest first.
    pub(crate) kept: Vec<Arc<KeptExchange>>,
    /// The number of the oldest exchange that is kept, or of the next one.
    pub(crate) oldest: u64,
    /// The number of the newest exchange of all.
    pub(crate) last: u64,
}

/// A batch, however often it was sent.
#[derive(Eq, Hash, PartialEq)]
struct BatchId {
    account: Option<String>,
    request_identifier: String,
}

impl RecentExchanges {
    /// Adds an exchange. A body that is too large for the functions is not kept.
    pub(crate) fn add(&self, mut exchange: Exchange) -> Arc<KeptExchange> {
        let body = exchange.sent.body.bytes();
        if body.is_some_and(|body| body.len() > MAX_BODY_BYTES) {
            exchange.sent.body = SentBody::NotKept;
        }
        let bytes = exchange.bytes();
        let kept = self.with(|log| {
            log.count(&exchange);
            log.keep(exchange, bytes)
        });
        self.added.notify_waiters();
        kept
    }

    /// Waits until `read` says that it has found enough, at most for `timeout`, and returns what it
    /// has found.
    pub(crate) async fn wait<T>(
        &self,
        timeout: Duration,
        read: impl Fn(&ExchangeLog) -> WaitResult<T>,
    ) -> T {
        let end = Instant::now() + timeout;
        loop {
            let added = self.added.notified();
            tokio::pin!(added);
            // An exchange that is added after this line ends the wait.
            added.as_mut().enable();
            let found = self.with(|log| read(log));
            if found.is_enough {
                return found.value;
            }
            let is_late = tokio::time::timeout_at(end, added).await.is_err();
            if is_late {
                return found.value;
            }
        }
    }

    /// The exchange with this number, if it is kept.
    pub(crate) fn find(&self, n: u64) -> Option<Arc<KeptExchange>> {
        self.with(|log| log.kept.iter().find(|kept| kept.n == n).cloned())
    }

    /// Forgets all exchanges and counts. Numbers go on.
    pub(crate) fn clear(&self) {
        self.with(|log| {
            *log = ExchangeLog {
                last: log.last,
                ..ExchangeLog::default()
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut ExchangeLog) -> T) -> T {
        work(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ExchangeLog {
    /// Adds an exchange to the counts.
    fn count(&mut self, exchange: &Exchange) {
        let was_acknowledged = self.acknowledge(exchange);
        self.counts.add(exchange, was_acknowledged);
        if let Some(account) = &exchange.key.account {
            let counts = self.counts_by_account.entry(account.clone());
            counts.or_default().add(exchange, was_acknowledged);
        }
    }

    /// Keeps an exchange, and forgets the oldest ones if there are too many or they take too much
    /// memory.
    fn keep(&mut self, exchange: Exchange, bytes: usize) -> Arc<KeptExchange> {
        self.last += 1;
        let kept = Arc::new(KeptExchange {
            n: self.last,
            exchange,
            bytes,
        });
        self.bytes += bytes;
        self.kept.push_back(Arc::clone(&kept));
        while self.kept.len() > MAX_EXCHANGES || (self.bytes > MAX_BYTES && self.kept.len() > 1) {
            let oldest = self.kept.pop_front();
            self.bytes -= oldest.map_or(0, |oldest| oldest.bytes);
        }
        kept
    }

    /// Remembers the batch of an exchange, if signals of it are acknowledged. Returns whether the
    /// batch was remembered before.
    fn acknowledge(&mut self, exchange: &Exchange) -> bool {
        let Some(batch) = &exchange.batch else {
            return false;
        };
        if !exchange.signals.iter().any(ShownSignal::is_acknowledged) {
            return false;
        }
        if self.acknowledged.len() >= MAX_BATCHES {
            self.acknowledged.clear();
        }
        let is_new = self.acknowledged.insert(BatchId {
            account: exchange.key.account.clone(),
            request_identifier: batch.request_identifier.to_ascii_lowercase(),
        });
        !is_new
    }

    /// The kept exchanges after number `n` that are wanted.
    pub(crate) fn after(&self, n: u64, is_wanted: impl Fn(&Exchange) -> bool) -> NewExchanges {
        let kept = self.kept.iter();
        let wanted = kept.filter(|kept| kept.n > n && is_wanted(&kept.exchange));
        NewExchanges {
            kept: wanted.cloned().collect(),
            oldest: self.kept.front().map_or(self.last + 1, |kept| kept.n),
            last: self.last,
        }
    }
}

#[cfg(test)]
mod tests;
