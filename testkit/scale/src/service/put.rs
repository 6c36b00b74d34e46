//! Writes items as `BatchTable` of shared/store does, on the simulated clock and tables.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use model::deadline::Deadline;
use store::signals::{BATCH_ITEMS, CALLS_WHILE_THROTTLED, CONCURRENT_CALLS};
use store::throttling::{Backoff, TableThrottle};

use super::{CALL, Key, Service};

type Keys = Vec<Key>;

/// A size of an item that is one write unit.
const ITEM_BYTES: usize = 1_000;

impl Service {
    /// Puts items with these partition keys, and says of each call how many it stored. Returns those that are not stored.
    pub(super) async fn put(
        &self,
        table: &str,
        throttle: &TableThrottle,
        mut unsent: Keys,
        deadline: Duration,
        count_stored: &impl Fn(usize),
    ) -> Keys {
        // The simulated deadline is given to each wait.
        let mut backoff = throttle.backoff(Deadline::after(Duration::ZERO));
        let mut concurrent_calls = if backoff.is_limited() { CALLS_WHILE_THROTTLED } else { CONCURRENT_CALLS };
        let call = async |keys| self.call(table, keys, deadline, count_stored).await;
        loop {
            unsent = put_once(unsent, &mut concurrent_calls, &mut backoff, &call).await;
            if unsent.is_empty() {
                return unsent;
            }
            match backoff.next_wait(deadline.saturating_sub(self.clock.now())) {
                Some(wait) => self.clock.sleep(wait).await,
                None => return unsent,
            }
        }
    }

    /// One `BatchWriteItem`; returns the items that it leaves unprocessed. Of a call that has no answer at the deadline, the
    /// service does not know what is stored.
    async fn call(&self, table: &str, keys: Keys, deadline: Duration, count_stored: &impl Fn(usize)) -> Keys {
        let remaining = deadline.saturating_sub(self.clock.now());
        self.clock.sleep(CALL.min(remaining)).await;
        if remaining < CALL {
            return keys;
        }
        let now = self.began.checked_add(self.clock.now()).unwrap_or(self.began);
        let sent = keys.len();
        let unprocessed: Keys =
            keys.into_iter().filter(|key| !self.capacity.take(table, key, ITEM_BYTES, now)).collect();
        count_stored(sent.saturating_sub(unprocessed.len()));
        unprocessed
    }
}

/// Sends the items in batches, until DynamoDB leaves a whole batch unprocessed.
async fn put_once(
    items: Keys,
    concurrent_calls: &mut usize,
    backoff: &mut Backoff,
    call: &impl AsyncFn(Keys) -> Keys,
) -> Keys {
    let mut unsent: VecDeque<Keys> = items.chunks(BATCH_ITEMS).map(<[_]>::to_vec).collect();
    let (mut calls, mut unprocessed, mut is_throttled) = (FuturesUnordered::new(), Vec::new(), false);
    loop {
        while calls.len() < *concurrent_calls && !is_throttled {
            let Some(batch) = unsent.pop_front() else { break };
            calls.push(async move { (batch.len(), call(batch).await) });
        }
        let Some((length, left)) = calls.next().await else { break };
        if left.len() < length {
            backoff.answered();
        } else {
            is_throttled = true;
        }
        if !left.is_empty() {
            *concurrent_calls = CALLS_WHILE_THROTTLED;
        }
        unprocessed.extend(left);
    }
    // Items that were not sent go first the next time.
    unsent.into_iter().flatten().chain(unprocessed).collect()
}
