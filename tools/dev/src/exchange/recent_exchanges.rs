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

/// How many bytes all kept exchanges take together: enough for as many batches of 500 signals.
const MAX_BYTES: usize = 128 * 1024 * 1024;

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
    /// Whether the signals of its batch were acknowledged before.
    was_acknowledged: bool,
    bytes: usize,
}

/// The exchanges that are kept, and what was counted of all.
#[derive(Default)]
pub(crate) struct ExchangeLog {
    kept: VecDeque<Arc<KeptExchange>>,
    bytes: usize,
    /// The number of the newest exchange of all.
    last: u64,
    /// How often exchanges were deleted on demand.
    clears: u64,
    /// What is known of each account whose key was sent, and of requests without such a key.
    accounts: HashMap<Option<String>, AccountLog>,
    /// The batches that have acknowledged signals.
    acknowledged: HashSet<BatchId>,
}

/// What is known of an account since its exchanges were last deleted.
#[derive(Default)]
struct AccountLog {
    counts: ExchangeCounts,
    /// The number of its newest exchange that was dropped for newer ones, or 0.
    dropped: u64,
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
    /// The number of the newest exchange that was dropped for newer ones, or 0.
    pub(crate) dropped: u64,
    /// How often exchanges were deleted on demand.
    pub(crate) clears: u64,
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
        let kept = self.with(|log| log.add(exchange, bytes));
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

    /// The kept exchanges after number `n`.
    pub(crate) fn after(&self, n: u64) -> NewExchanges {
        self.with(|log| log.after(n, |_| true))
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
                clears: log.clears + 1,
                ..ExchangeLog::default()
            }
        });
    }

    /// Forgets the exchanges and counts of an account. Numbers go on.
    pub(crate) fn clear_account(&self, account: &str) {
        self.with(|log| log.clear_account(account));
    }

    fn with<T>(&self, work: impl FnOnce(&mut ExchangeLog) -> T) -> T {
        work(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ExchangeLog {
    /// Counts an exchange and keeps it. Forgets the oldest ones if there are too many or they take
    /// too much memory.
    fn add(&mut self, exchange: Exchange, bytes: usize) -> Arc<KeptExchange> {
        let was_acknowledged = self.acknowledge(&exchange);
        let account = self.accounts.entry(exchange.key.account.clone());
        account.or_default().counts.add(&exchange, was_acknowledged);
        self.last += 1;
        let kept = Arc::new(KeptExchange {
            n: self.last,
            exchange,
            was_acknowledged,
            bytes,
        });
        self.bytes += bytes;
        self.kept.push_back(Arc::clone(&kept));
        while self.kept.len() > MAX_EXCHANGES || (self.bytes > MAX_BYTES && self.kept.len() > 1) {
            self.drop_oldest();
        }
        kept
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.kept.pop_front() else {
            return;
        };
        self.bytes -= oldest.bytes;
        let account = self.accounts.entry(oldest.exchange.key.account.clone());
        account.or_default().dropped = oldest.n;
    }

    fn clear_account(&mut self, account: &str) {
        let is_other = |found: &Option<String>| found.as_deref() != Some(account);
        self.kept
            .retain(|kept| is_other(&kept.exchange.key.account));
        self.bytes = self.kept.iter().map(|kept| kept.bytes).sum();
        self.accounts.retain(|found, _| is_other(found));
        self.acknowledged.retain(|batch| is_other(&batch.account));
        self.clears += 1;
    }

    /// What was counted of an account, or of all requests.
    pub(crate) fn counts(&self, account: Option<&str>) -> ExchangeCounts {
        let mut counts = ExchangeCounts::default();
        for log in self.logs_of(account) {
            counts.merge(&log.counts);
        }
        counts
    }

    /// The counts of those signals of the kept exchanges that `select` returns.
    pub(crate) fn counts_of_kept<'a, S: Iterator<Item = &'a ShownSignal>>(
        &'a self,
        select: impl Fn(&'a Exchange) -> S,
    ) -> ExchangeCounts {
        let mut counts = ExchangeCounts::default();
        for kept in &self.kept {
            counts.add_signals(select(&kept.exchange), kept.was_acknowledged);
        }
        counts
    }

    /// The number of the newest exchange of an account, or of all, that was dropped for newer ones,
    /// or 0.
    pub(crate) fn dropped(&self, account: Option<&str>) -> u64 {
        let dropped = self.logs_of(account).map(|log| log.dropped);
        dropped.max().unwrap_or_default()
    }

    fn logs_of(&self, account: Option<&str>) -> impl Iterator<Item = &AccountLog> {
        let is_wanted =
            move |found: &Option<String>| account.is_none() || found.as_deref() == account;
        let logs = self.accounts.iter();
        logs.filter(move |(found, _)| is_wanted(found))
            .map(|(_, log)| log)
    }

    /// The number of the oldest exchange that is kept, or of the next one.
    pub(crate) fn oldest(&self) -> u64 {
        self.kept.front().map_or(self.last + 1, |kept| kept.n)
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
            oldest: self.oldest(),
            last: self.last,
            dropped: self.dropped(None),
            clears: self.clears,
        }
    }
}

#[cfg(test)]
mod tests;
